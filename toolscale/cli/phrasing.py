"""The verb in which writers give a domain whole messages: phrase."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from toolscale.cli.output import as_json, echo_json, say
from toolscale.errors import UsageError


@click.command()
@click.argument("domain")
@click.option(
    "--shape", "shapes", multiple=True, help="Only this shape; may be given again.  [default: all that lack frames]"
)
@click.option(
    "--from",
    "given",
    type=click.Path(path_type=Path),
    help="Add the frames in a file: JSON lines with shape and say, or nobody.",
)
@click.option("--writer", default="hand", show_default=True, help="With --from: under which name they are kept.")
@click.option("--model", default="hand", show_default=True, help="With --from: which model, or who, wrote them.")
@click.option(
    "--people", type=click.Path(path_type=Path), help="Examples of voice for the writer: JSON lines with text."
)
@as_json
def phrase(
    domain: str,
    shapes: tuple[str, ...],
    given: Path | None,
    writer: str,
    model: str,
    people: Path | None,
    json_: bool,
) -> None:
    """Give DOMAIN whole first messages, as people write them, for the shapes of its requests that have too few.

    Without --from: print what a writer is told. With it: try each message on six cases through every gate, and put
    those that hold into `frames.yaml`. Exits 1 if any is refused.
    """
    from toolscale.environment.environment import load_environment
    from toolscale.environment.population import populate
    from toolscale.words.frames import shape_told, told
    from toolscale.words.phrasing import add_frames, read_given
    from toolscale.words.shapes import Workshop

    environment = load_environment(domain)
    workshop = Workshop(environment, populate(environment))
    try:
        if given is None:
            wanted = [workshop.shape(name) for name in shapes] or [
                each for each in workshop.shapes.values() if each.have < each.wanted
            ]
            say(told(environment, _people(people)))
            for shape in wanted:
                if workshop.has_cases(shape):
                    say(f"\n{shape_told(shape, workshop.brief(shape))}")
            return
        added = add_frames(workshop, read_given(given), writer, model)
    finally:
        workshop.close()
    if json_:
        echo_json({"added": added.kept, "refused": [list(each) for each in added.refused], "file": str(added.path)})
    else:
        for line, finding in added.refused:
            say(f"{given}: line {line}: {finding}", err=True)
        say(f"{added.path}: {added.kept} frames added, {len(added.refused)} refused")
    if added.refused:
        click.get_current_context().exit(1)


def _people(path: Path | None, most: int = 12) -> list[str]:
    if path is None:
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [_text(line, path) for line in lines][:: max(1, len(lines) // most)][:most]


def _text(line: Any, path: Path) -> str:
    if not isinstance(line, dict) or not isinstance(line.get("text"), str):
        raise UsageError(f"{path}: {str(line)[:80]!r} is no message; write JSON lines with `text`")
    return str(line["text"])
