"""How the judge grades what strangers wrote: `python -m bench.answers`.

`tests/answers` holds final messages to finance tasks by writers who saw only the policy, the tools and the request,
each labelled `right` or `wrong` by a reader who saw the golden side. Each task is in one of two halves: `seen`, by
which the grader may be improved, or `held out`, which nobody reads. The hash of its id decides which, so the halves
were fixed before anybody looked. `--cases` prints what is misgraded in the seen half; of the other half only figures
are printed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow.parquet as pq
from scipy.stats import binomtest

from toolscale.cli.judging import takes_judge
from toolscale.config import POPULATION_SEED
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.models.judging import JudgeSettings
from toolscale.records import Fact, GoldenCall
from toolscale.verify.brief import Brief
from toolscale.verify.shown import lexicon_of

CORPUS = Path(__file__).parents[1] / "tests" / "answers"
GUIDE = Path(__file__).parents[1] / "docs" / "grading.md"
SEEN, HELD_OUT, REWORDED, ANEW = "seen", "held out", "seen, reworded", "seen, altered anew"
INJECTIONS = "injections"
"""Wrong messages that speak to the judge: `injections.jsonl`."""


@dataclass(frozen=True)
class Answer:
    """A final message of the corpus."""

    task: str
    kind: str
    """`written` by a solver, `reworded` from a right one, or what was altered in a right one."""
    manner: str
    label: str
    why: str
    answer: str

    @property
    def half(self) -> str:
        """To which part of the corpus it belongs."""
        if self.kind == "injection":
            return INJECTIONS
        if int(hashlib.sha256(self.task.encode()).hexdigest(), 16) % 2:
            return HELD_OUT
        return REWORDED if self.kind == "reworded" else ANEW if self.manner == ANEW.partition(", ")[2] else SEEN


@dataclass(frozen=True)
class Graded:
    """A message with what the judge found wrong with it, None if nothing."""

    answer: Answer
    finding: str | None
    undecided: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether rules refuse it for certain: what a message leaves out, or may not say."""
        return self.finding is not None and not self.undecided

    @property
    def misgraded(self) -> bool:
        """Whether the judge and the reader disagree."""
        return (self.finding is None) != (self.answer.label == "right")


def read_answers(name: str = "answers.jsonl") -> list[Answer]:
    """Return all messages of the corpus, or those of another file beside it."""
    return [Answer(**json.loads(line)) for line in (CORPUS / name).read_text().splitlines()]


class Corpus:
    """The tasks of the corpus, each with what its messages are graded by."""

    def __init__(self) -> None:
        environment = load_environment("finance")
        self.rows = populate(environment, seed=POPULATION_SEED)
        self.environment, self.lexicon = environment, lexicon_of(environment, self.rows)
        self.tasks = {row["id"]: row for row in pq.read_table(CORPUS / "tasks.parquet").to_pylist()}
        self._briefs: dict[str, Brief] = {}
        self._made: dict[str, list[GoldenCall]] = {}

    def grade(self, answer: Answer) -> Graded:
        """Grade a message after the calls that its writer made. All of them left the right rows, so only the words
        count."""
        brief = self.brief(answer.task)
        finding = brief.finding_after(answer.answer, self.made(answer.task))
        return Graded(answer, finding, brief.is_undecided(answer.answer, finding))

    def brief(self, task: str) -> Brief:
        """Return what a task asks of its final message."""
        if task not in self._briefs:
            row = self.tasks[task]
            self._briefs[task] = Brief(
                self.environment,
                self.lexicon,
                row["request"],
                tuple(Fact.model_validate(fact) for fact in json.loads(row["facts"])),
                [GoldenCall.model_validate(call) for call in json.loads(row["golden"])],
                frozenset(row["declined"]),
                frozenset((kind, value) for kind, value in json.loads(row["asked"])),
            )
        return self._briefs[task]

    def made(self, task: str) -> list[GoldenCall]:
        """Return the calls that the writer of the messages made."""
        if task not in self._made:
            self._made[task] = [GoldenCall.model_validate(call) for call in json.loads(self.tasks[task]["calls"])]
        return self._made[task]


def grade_corpus() -> Iterator[Graded]:
    """Grade every message."""
    corpus = Corpus()
    for answer in read_answers():
        yield corpus.grade(answer)


def table(graded: list[Graded]) -> str:
    """Return the figures as a table in Markdown, with Wilson intervals of 95 %."""
    lines = ["| part | label | answers | misgraded | share | 95 % interval |", "|---|---|---:|---:|---:|---|"]
    for half in (SEEN, REWORDED, ANEW, HELD_OUT):
        for label, word in (("right", "refused"), ("wrong", "accepted")):
            part = [one for one in graded if (one.answer.half, one.answer.label) == (half, label)]
            if part:
                bad = sum(one.misgraded for one in part)
                low, high = binomtest(bad, len(part)).proportion_ci(method="wilson")
                lines.append(
                    f"| {half} | {label} | {len(part)} | {bad} {word} | "
                    f"{bad / len(part):.1%} | {low:.1%} to {high:.1%} |"
                )
    return "\n".join(lines)


@click.command()
@click.option("--cases", is_flag=True, help="Print what is misgraded in the seen half.")
@click.option("--write", is_flag=True, help="Write the figures into docs/grading.md.")
@takes_judge
@click.option(
    "--most",
    type=click.IntRange(1),
    metavar="N",
    help="Measure the judge on so many messages of the corpus, drawn by hash.  [default: all]",
)
def main(
    cases: bool,
    write: bool,
    judge: JudgeSettings | None,
    most: int | None,
) -> None:
    """Grade the corpus and print how often the rules and the reader disagree; then what rules decide for certain, how
    much is left, and with a judge how often it and the reader disagree."""
    from bench.answers_judged import measure  # it needs this module

    graded = list(grade_corpus())
    for one in graded if cases else ():
        if one.misgraded and one.answer.half != HELD_OUT:
            click.echo(
                f"--- {one.answer.task[:8]} {one.answer.label} {one.answer.kind} ({one.answer.why}): {one.finding}\n"
                f"{one.answer.answer}\n"
            )
    click.echo(table(graded))
    if write:
        text = GUIDE.read_text()
        begin, end = (text.index(mark) for mark in ("<!-- strangers' answers: begin", "<!-- strangers' answers: end"))
        GUIDE.write_text(f"{text[: text.index(chr(10), begin) + 1]}{table(graded)}\n{text[end:]}")
    for half in (SEEN, ANEW, HELD_OUT):
        wrong = [one for one in graded if (one.answer.half, one.answer.label) == (half, "wrong")]
        kinds = Counter(one.answer.kind for one in wrong)
        let = Counter(one.answer.kind for one in wrong if one.misgraded)
        click.echo(
            f"{half}, wrong and accepted: " + ", ".join(f"{kind} {let[kind]}/{kinds[kind]}" for kind in sorted(kinds))
        )
    measure(judge, most, click.echo)


if __name__ == "__main__":
    main()
