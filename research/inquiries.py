"""How well the embedded person of a dialogue understands what is asked: `python -m research.inquiries`.

`tests/inquiries` holds messages that four writers wrote as service desks would, to 240 openings of dialogues of ten
domains: they saw the opening, the policy and the tools. A reader who saw what the person can tell said of each message
whether it wants an answer (`asks`), what the answer has to tell (`tells`) and what it may tell besides (`may`). The
hash of a task's id puts its messages into one of two halves: `seen`, with which the rules were made, or `held out`,
which nobody reads. `--cases` prints what is misunderstood in the seen half.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from research.tables import replace_section, share_of, table
from toolscale.language.inquiries import Inquiry, read_inquiry
from toolscale.records import Reply

CORPUS = Path(__file__).parents[1] / "tests" / "inquiries"
GUIDE = Path(__file__).parents[1] / "docs" / "measurements" / "dialogues.md"
SEEN, HELD_OUT = "seen", "held out"
SECTION = "questions"
"""Of the page, which `--write` replaces."""


@dataclass(frozen=True)
class Understood:
    """A message of the corpus, and how it was understood."""

    half: str
    kind: str
    """`all` that is missing is asked for first, or `some` of it; a `later` message that asks; the `last` one."""
    message: str
    asks: bool
    tells: frozenset[str]
    may: frozenset[str]
    inquiry: Inquiry

    @property
    def fault(self) -> str | None:
        """What went wrong: the conversation `ended` or `went on` wrongly, something was `untold`, or told `unasked`."""
        if self.inquiry.asks != self.asks:
            return "ended" if self.asks else "went on"
        told = frozenset(self.inquiry.about)
        if not self.tells <= told:
            return "untold"
        return None if told <= self.tells | self.may else "unasked"


FAULTS = ("ended", "went on", "untold", "unasked")
HEADS = (
    "half",
    "message",
    ">messages",
    ">misunderstood",
    ">share",
    "95 % interval",
    *(f">{fault}" for fault in FAULTS),
)


def understand_corpus() -> Iterator[Understood]:
    """Yield each message of the corpus with what the rules make of it."""
    people = {
        line["task"]: [Reply.model_validate(reply) for reply in line["replies"]] for line in _lines("people.jsonl")
    }
    for line in _lines("messages.jsonl"):
        inquiry = read_inquiry(line["message"], people[line["task"]])
        tells, may = frozenset(line["tells"]), frozenset(line["may"])
        yield Understood(_half(line["task"]), line["kind"], line["message"], line["asks"], tells, may, inquiry)


def figures(understood: list[Understood]) -> str:
    """Return the figures as a table in Markdown, with Wilson intervals of 95 %."""
    rows = []
    for half in (SEEN, HELD_OUT):
        for kind in ("all", "some", "later", "last"):
            part = [one for one in understood if (one.half, one.kind) == (half, kind)]
            bad = sum(one.fault is not None for one in part)
            counts = [sum(one.fault == fault for one in part) for fault in FAULTS]
            rows.append((half, kind, len(part), bad, *share_of(bad, len(part)), *counts))
    return table(HEADS, rows)


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (CORPUS / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _half(task: str) -> str:
    return HELD_OUT if int(hashlib.sha256(f"inquiries{task}".encode()).hexdigest(), 16) % 2 == 0 else SEEN


@click.command()
@click.option("--cases", is_flag=True, help="Print what is misunderstood in the seen half.")
@click.option("--write", is_flag=True, help="Write the figures into docs/measurements/dialogues.md.")
def main(cases: bool, write: bool) -> None:
    """Read the corpus and print how often the rules and the reader disagree."""
    understood = list(understand_corpus())
    for one in understood if cases else ():
        if one.fault and one.half == SEEN:
            click.echo(
                f"--- {one.fault}: {', '.join(sorted(one.tells))} | {', '.join(one.inquiry.about)}\n{one.message}\n"
            )
    made = figures(understood)
    click.echo(made)
    if write:
        GUIDE.write_text(replace_section(GUIDE.read_text(encoding="utf-8"), SECTION, made), encoding="utf-8")


if __name__ == "__main__":
    main()
