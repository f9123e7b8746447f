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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import click
import pyarrow.parquet as pq
from scipy.stats import binomtest

from toolscale.cli.asking import by_model, model_at
from toolscale.config import POPULATION_SEED
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.models.expert import Expert
from toolscale.records import Fact, GoldenCall
from toolscale.session import SecondReader, Truth
from toolscale.session.second_reader import Scope
from toolscale.verify.brief import Brief
from toolscale.verify.shown import lexicon_of

CORPUS = Path(__file__).parents[1] / "tests" / "answers"
GUIDE = Path(__file__).parents[1] / "docs" / "grading.md"
AT_ONCE = 8
"""Requests to a model."""
SEEN, HELD_OUT, REWORDED, ANEW = "seen", "held out", "seen, reworded", "seen, altered anew"


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
        if int(hashlib.sha256(self.task.encode()).hexdigest(), 16) % 2:
            return HELD_OUT
        return REWORDED if self.kind == "reworded" else ANEW if self.manner == ANEW.partition(", ")[2] else SEEN


@dataclass(frozen=True)
class Graded:
    """A message with what the judge found wrong with it, None if nothing."""

    answer: Answer
    finding: str | None

    truth: Truth
    undecided: bool = False

    @property
    def misgraded(self) -> bool:
        """Whether the judge and the reader disagree."""
        return (self.finding is None) != (self.answer.label == "right")


def read_answers() -> list[Answer]:
    """Return all messages of the corpus."""
    return [Answer(**json.loads(line)) for line in (CORPUS / "answers.jsonl").read_text().splitlines()]


def grade_corpus() -> Iterator[Graded]:
    """Grade every message after the calls that its writer made. All of them left the right rows, so only the words
    count."""
    environment = load_environment("finance")
    lexicon = lexicon_of(environment, populate(environment, seed=POPULATION_SEED))
    rows = {row["id"]: row for row in pq.read_table(CORPUS / "tasks.parquet").to_pylist()}
    briefs: dict[str, tuple[Brief, list[GoldenCall]]] = {}
    for answer in read_answers():
        if answer.task not in briefs:
            row = rows[answer.task]
            golden, made = (
                [GoldenCall.model_validate(call) for call in json.loads(row[name])] for name in ("golden", "calls")
            )
            facts = tuple(Fact.model_validate(fact) for fact in json.loads(row["facts"]))
            asked = frozenset((kind, value) for kind, value in json.loads(row["asked"]))
            briefs[answer.task] = (
                Brief(environment, lexicon, row["request"], facts, golden, frozenset(row["declined"]), asked),
                made,
            )
        brief, made = briefs[answer.task]
        finding = brief.finding_after(answer.answer, made)
        truth = Truth(brief.request, brief.facts, made)
        yield Graded(answer, finding, truth, brief.is_undecided(answer.answer, finding))


def read_again(graded: list[Graded], model: Expert, most: int, scope: Scope) -> list[Graded]:
    """Let a model decide messages of the held-out half: those that are undecided, and with the scope `all` also those
    that the rules accept. At most `most` are asked, the first by the hash of task and message."""
    reader = SecondReader(model)
    left = [one for one in graded if one.undecided or (scope == "all" and one.finding is None)]
    open_ = [one for one in left if one.answer.half == HELD_OUT]
    open_.sort(key=lambda one: hashlib.sha256(f"{one.answer.task} {one.answer.answer}".encode()).hexdigest())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = pool.map(lambda one: reader.read(one.truth, one.answer.answer), open_[:most])
    return [replace(one, finding=None if right else why) for one, (right, why) in zip(open_, verdicts, strict=False)]


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
@by_model("that reads what is undecided", required=False)
@click.option(
    "--read",
    "scope",
    default="undecided",
    show_default=True,
    type=click.Choice(["undecided", "all"]),
    help="all: also what is accepted.",
)
@click.option("--most", default=100, show_default=True, help="Messages that the model reads.")
def main(
    cases: bool,
    write: bool,
    endpoint: str | None,
    model: str | None,
    key_env: str | None,
    deadline: float,
    scope: Scope,
    most: int,
) -> None:
    """Grade the corpus and print how often the judge and the reader disagree."""
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
    for half in (SEEN, REWORDED, ANEW, HELD_OUT):
        for label in ("right", "wrong"):
            part = [one for one in graded if (one.answer.half, one.answer.label) == (half, label)]
            click.echo(f"{half}, {label}: {sum(one.undecided for one in part)} of {len(part)} undecided")
    if endpoint and model:
        again = read_again(graded, model_at(endpoint, model, key_env, deadline, "reader"), most, scope)
        for label in ("right", "wrong"):
            part = [one for one in again if one.answer.label == label]
            click.echo(
                f"held out, {label}, {scope}, read by {model}: "
                f"it agrees on {sum(not one.misgraded for one in part)} of {len(part)}"
            )
    for half in (SEEN, ANEW, HELD_OUT):
        wrong = [one for one in graded if (one.answer.half, one.answer.label) == (half, "wrong")]
        kinds = Counter(one.answer.kind for one in wrong)
        let = Counter(one.answer.kind for one in wrong if one.misgraded)
        click.echo(
            f"{half}, wrong and accepted: " + ", ".join(f"{kind} {let[kind]}/{kinds[kind]}" for kind in sorted(kinds))
        )


if __name__ == "__main__":
    main()
