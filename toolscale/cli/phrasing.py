"""The verb in which writers give a domain whole messages: phrase."""

from __future__ import annotations

from pathlib import Path

import click

from toolscale.cli.output import as_json, echo_json, say


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
    from toolscale.json_lines import read_json_lines

    remedy = "is no message; write JSON lines with `text`"
    texts = [line["text"] for _, line in read_json_lines(path, lambda line: isinstance(line.get("text"), str), remedy)]
    return texts[:: max(1, len(texts) // most)][:most]
