"""How well a judge reads what strangers wrote: `python -m research.answers --judge-endpoint … --judge-model …`.

`tests/answers` holds final messages to finance tasks by writers who saw only the policy, the tools and the request,
each labelled `right` or `wrong` by a reader who saw the golden side, and messages that speak to the judge. Each task is
in one of two halves: `seen`, by which a judge may be improved, or `held out`, of which only figures are looked at. The
hash of its id decides which, so the halves were fixed before anybody looked.

Rules refuse what is wrong for certain; the judge reads the rest. Nothing is written but the replies, so that the same
command asks nothing twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow.parquet as pq

from research.tables import share_of, table
from toolscale.canonical import content_hash
from toolscale.cli.judging import takes_judge
from toolscale.config import POPULATION_SEED
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import BudgetError, ModelUnavailableError
from toolscale.language.heard import Heard
from toolscale.models.judging import JudgeSettings
from toolscale.records import Fact, GoldenCall, Reading, ToolCall
from toolscale.rollout.message_judge import open_judge
from toolscale.sandbox.base import to_row_changes
from toolscale.tasks.form import Form
from toolscale.verify.brief import Brief
from toolscale.verify.readings import MessageCase, message_hash

CORPUS = Path(__file__).parents[1] / "tests" / "answers"
SEEN, HELD_OUT, REWORDED, ANEW = "seen", "held out", "seen, reworded", "seen, altered anew"
INJECTIONS = "injections"
"""Wrong messages that speak to the judge: `injections.jsonl`."""
COUNTS = (">messages", ">refused for certain", ">nobody decided", ">misjudged")
HEADS = ("part", "label", *COUNTS, "share", "95 % interval")


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
class Read:
    """A message with what became of it: `refused` by rules, `right` or `wrong` by the judge; empty where nobody
    decided."""

    answer: Answer
    verdict: str
    why: str = ""

    @property
    def misjudged(self) -> bool:
        """Whether it was decided otherwise than by the reader who labelled it."""
        return bool(self.verdict) and (self.verdict == "right") != (self.answer.label == "right")


def read_answers(name: str = "answers.jsonl") -> list[Answer]:
    """Return all messages of the corpus, or those of another file beside it."""
    return [Answer(**json.loads(line)) for line in (CORPUS / name).read_text().splitlines()]


class Corpus:
    """The tasks of the corpus, each with what its messages are graded by."""

    def __init__(self) -> None:
        self.environment = load_environment("finance")
        self.rows = populate(self.environment, seed=POPULATION_SEED)
        self.tasks = {row["id"]: row for row in pq.read_table(CORPUS / "tasks.parquet").to_pylist()}
        self._briefs: dict[str, Brief] = {}

    def refused(self, answer: Answer) -> str | None:
        """Return why a message is wrong for certain, or None. Its writer left the right rows, so only the words
        count."""
        return self.brief(answer.task).message_finding(answer.answer)

    def brief(self, task: str) -> Brief:
        """Return what a task asks of its final message."""
        if task not in self._briefs:
            row = self.tasks[task]
            self._briefs[task] = Brief(
                self.environment,
                Heard(row["request"], self.environment.spec.world.today),
                tuple(Fact.model_validate(fact) for fact in json.loads(row["facts"])),
                [GoldenCall.model_validate(call) for call in json.loads(row["golden"])],
                Form(()),  # a message has none
                "all",
            )
        return self._briefs[task]

    def made(self, task: str) -> list[GoldenCall]:
        """Return the calls that the writer of the messages made."""
        return [GoldenCall.model_validate(call) for call in json.loads(self.tasks[task]["calls"])]


def measure(settings: JudgeSettings | None, most: int | None, say: Callable[[str], None]) -> None:
    """Say what rules decide for certain and how much is left; with a judge, how often it and the reader disagree."""
    corpus = Corpus()
    drawn = sorted(read_answers(), key=lambda answer: content_hash([answer.task, answer.answer]))
    answers = [*drawn[:most], *read_answers("injections.jsonl")]
    certain = {id(answer) for answer in answers if corpus.refused(answer)}
    left = [answer for answer in answers if id(answer) not in certain]
    found = [Read(answer, "refused") for answer in answers if id(answer) in certain]
    if settings is None:
        say(figures([*found, *(Read(answer, "") for answer in left)]))
        say(f"rules decide {len(found)} of {len(answers)} messages for certain; {len(left)} are left to a judge")
        return
    found += asyncio.run(_read(corpus, left, settings, say))
    say(figures(found))
    for one in found:
        if one.answer.half == INJECTIONS and one.misjudged:
            say(f"--- accepted: {one.answer.manner} ({one.why})\n{one.answer.answer}\n")


async def _read(
    corpus: Corpus, left: Sequence[Answer], settings: JudgeSettings, say: Callable[[str], None]
) -> list[Read]:
    world = World(corpus.environment, corpus.rows)
    cases = [_case(corpus, world, answer) for answer in left]
    world.close()
    async with open_judge(settings) as judge:
        assert judge is not None, "it is named"
        verdicts = await asyncio.gather(*map(judge.read, cases), return_exceptions=True)
        spent = judge.client.ledger.total()
    paid, worth = ("no price" if each is None else f"${each:.4f}" for each in (spent.paid_usd, spent.worth_usd))
    last = f"; the last: {judge.last}" if judge.lost else ""
    say(
        f"{judge.name} read {len(left)} messages that rules do not refuse for certain: {paid} paid, "
        f"{worth} in all; on {judge.lost} it gave no verdict{last}"
    )
    return [Read(answer, *_told(verdict)) for answer, verdict in zip(left, verdicts, strict=True)]


def _told(verdict: Reading | str | BaseException) -> tuple[str, str]:
    if isinstance(verdict, Reading):
        return verdict.verdict, verdict.why
    if isinstance(verdict, BaseException) and not isinstance(verdict, BudgetError | ModelUnavailableError):
        raise verdict
    return "", str(verdict)


def _case(corpus: Corpus, world: World, answer: Answer) -> MessageCase:
    """Return what a judge is shown of a message. Its calls are made again, for the rows that they change."""
    made, brief = corpus.made(answer.task), corpus.brief(answer.task)
    world.reset()
    for call in made:
        world.call(call.name, call.arguments, returns=False)
    return MessageCase(
        candidate=content_hash(["tests/answers", answer.task]),
        key=message_hash([ToolCall(name=call.name, arguments=call.arguments) for call in made], answer.answer),
        request=brief.heard.text,
        today=corpus.environment.spec.world.today,
        facts=brief.facts,
        calls=tuple(made),
        changes=to_row_changes(corpus.environment.schema, world.net_changes()),
        message=answer.answer,
    )


def figures(found: Sequence[Read]) -> str:
    """Return the figures as a table in Markdown, with Wilson intervals of 95 % for what was decided."""
    rows = []
    for half in (SEEN, REWORDED, ANEW, HELD_OUT, INJECTIONS):
        for label, word in (("right", "refused"), ("wrong", "accepted")):
            part = [one for one in found if (one.answer.half, one.answer.label) == (half, label)]
            decided = [one for one in part if one.verdict]
            bad, certain = sum(one.misjudged for one in decided), sum(one.verdict == "refused" for one in part)
            counts = (len(part), certain, len(part) - len(decided))
            rows.append((half, label, *counts, f"{bad} {word}", *share_of(bad, len(decided))))
    return table(HEADS, [row for row in rows if row[2]])


@click.command(help=__doc__)
@takes_judge
@click.option(
    "--most",
    type=click.IntRange(1),
    metavar="N",
    help="Measure the judge on so many messages of the corpus, drawn by hash.  [default: all]",
)
def main(judge: JudgeSettings | None, most: int | None) -> None:
    measure(judge, most, click.echo)


if __name__ == "__main__":
    main()
