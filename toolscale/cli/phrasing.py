"""The verb in which writers give a domain whole messages: phrase."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.asking import asks_model
from toolscale.cli.output import as_json, echo_json, say

if TYPE_CHECKING:
    from toolscale.limits import RunLimits
    from toolscale.words.asking import Asked, AskSettings
    from toolscale.words.phrasing import Added
    from toolscale.words.shapes import Workshop


MOST_NAMED = 8
"""Shapes without a message on the terminal; --json names all."""


@click.command()
@click.argument("domain")
@click.option(
    "--shape", "shapes", multiple=True, help="Only this shape; may be given again.  [default: all that lack frames]"
)
@click.option("--brief", is_flag=True, help="Print what a writer is told, and ask no model.")
@click.option(
    "--from",
    "given",
    type=click.Path(path_type=Path),
    help="Add what is in a file, and ask no model: JSON lines with shape and say, or nobody.",
)
@click.option("--writer", default="hand", show_default=True, help="With --from: under which name they are kept.")
@click.option("--model", default="hand", show_default=True, help="With --from: which model, or who, wrote them.")
@click.option(
    "--people",
    type=click.Path(path_type=Path),
    help="With --brief: examples of voice for the writer: JSON lines with text.",
)
@asks_model
@as_json
def phrase(
    domain: str,
    shapes: tuple[str, ...],
    brief: bool,
    given: Path | None,
    writer: str,
    model: str,
    people: Path | None,
    limits: RunLimits,
    replies: Path,
    record: Path | None,
    json_: bool,
) -> None:
    """Give DOMAIN whole first messages, as people write them, for the shapes of its requests that have too few.

    A model writes them: TOOLSCALE_MODEL is its name, OPENAI_BASE_URL and OPENAI_API_KEY say where,
    TOOLSCALE_MODEL_PRICE what a million tokens cost (0.25/2). Each message is tried on six cases through every gate,
    and read once more by the model; what fails is shown to it twice, and what holds is put into `frames.yaml`. A shape
    of which two writers say that hardly anybody would come with it is drawn no more. Exits 1 if any message of --from
    is refused, or if a limit stopped it.
    """
    from toolscale.environment.environment import load_environment
    from toolscale.environment.population import populate
    from toolscale.words.asking import AskSettings
    from toolscale.words.phrasing import add_frames, read_given
    from toolscale.words.shapes import Workshop

    environment = load_environment(domain)
    workshop = Workshop(environment, populate(environment))
    try:
        if brief:
            return _print_brief(workshop, shapes, people)
        if given is None:
            done = _ask(workshop, AskSettings(shapes, limits, replies, record), json_=json_)
            click.get_current_context().exit(1 if done.stopped else 0)
        added = add_frames(workshop, read_given(given), writer, model)
    finally:
        workshop.close()
    if json_:
        echo_json(_facts(added))
    else:
        for line, finding in added.refused:
            say(f"{given}: line {line}: {finding}", err=True)
        _print_added(added)
    if added.refused:
        click.get_current_context().exit(1)


def _print_brief(workshop: Workshop, shapes: tuple[str, ...], people: Path | None) -> None:
    from toolscale.words.frames import shape_told, told

    say(told(workshop.environment, _people(people)))
    for shape in workshop.lacking(shapes):
        say(f"\n{shape_told(shape, workshop.brief(shape))}")


def _ask(workshop: Workshop, settings: AskSettings, *, json_: bool) -> Asked:
    from toolscale.cli.tallies import costs_told, print_costs, telling_costs
    from toolscale.models.chat import Ledger, model_from
    from toolscale.words.asking import ask_for_frames

    model, ledger = model_from(os.environ), Ledger()
    with telling_costs(ledger, json_=json_):
        asked = ask_for_frames(workshop, model, settings, ledger)
    if json_:
        told = {"shapes": asked.shapes, "short": asked.short, "unusable": asked.unusable, "stopped": asked.stopped}
        echo_json({**_facts(asked.added), **told, "costs": costs_told(ledger)})
        return asked
    print_costs(ledger)
    for finding in asked.unusable:
        say(finding, err=True)
    _print_added(asked.added)
    if asked.short:
        named = ", ".join(asked.short[:MOST_NAMED]) + (", …" if len(asked.short) > MOST_NAMED else "")
        say(f"{len(asked.short)} of {asked.shapes} shapes have no message that holds: {named}", err=True)
    if asked.stopped:
        say(f"stopped early: {asked.stopped}", err=True)
    return asked


def _facts(added: Added) -> dict[str, object]:
    refused = [list(each) for each in added.refused]
    return {"added": added.kept, "refused": refused, "nobody": added.nobody, "file": str(added.path)}


def _print_added(added: Added) -> None:
    for shape, why in added.nobody.items():
        say(f"{shape}: hardly anybody would come with it: {why}")
    say(f"{added.path}: {added.kept} frames added, {len(added.refused)} refused")


def _people(path: Path | None, most: int = 12) -> list[str]:
    if path is None:
        return []
    from toolscale.json_lines import read_json_lines

    remedy = "is no message; write JSON lines with `text`"
    texts = [line["text"] for _, line in read_json_lines(path, lambda line: isinstance(line.get("text"), str), remedy)]
    return texts[:: max(1, len(texts) // most)][:most]
