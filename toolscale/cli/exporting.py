"""The verb that writes datasets for other programs: export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from toolscale.cli.output import as_json, echo_json, say
from toolscale.errors import UsageError


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path), required=False)
@click.option("--to", metavar="FORMAT", help="Which format; --list names all.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder that is made.  [default: var/exports/FORMAT]")
@click.option("--option", "-o", "given", multiple=True, metavar="NAME=VALUE", help="An option of the format.")
@click.option("--list", "list_", is_flag=True, help="List the formats, with the options of each.")
@as_json
def export(
    dataset: Path | None, to: str | None, out: Path | None, given: Sequence[str], list_: bool, json_: bool
) -> None:
    """Write DATASET in the format of another program: rows, and where it plays the tasks an adapter with the dataset
    itself. README.md in the folder says how it is used there, and what that program has no word for."""
    from toolscale.exports.writing import export as write

    if list_:
        return _list(json_)
    if dataset is None or to is None:
        raise UsageError("say which dataset, and --to which format; toolscale export --list names the formats")
    options = dict(_option(each) for each in given)
    done = write(dataset, to, out or Path("var/exports") / to, options)
    if json_:
        return echo_json({"out": str(done.out), "tasks": done.tasks, "left_out": done.left_out})
    told = f"; {done.left_out} dialogues are left out, nobody answers there" if done.left_out else ""
    return say(f"{done.out}: {done.tasks} tasks for {to}{told}; read its README.md")


def _list(json_: bool) -> None:
    from toolscale.exports.formats import FORMATS

    if json_:
        told = {
            each.name: {"host": each.host, "about": each.about, "options": each.options} for each in FORMATS.values()
        }
        return echo_json(told)
    for each in FORMATS.values():
        say(f"{each.name:<12} {each.about} ({each.host})")
        for option, told_of in each.options.items():
            say(f"{'':<12}   -o {option}={told_of}")


def _option(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign:
        raise UsageError(f"--option {given!r}: say NAME=VALUE")
    return name, value
