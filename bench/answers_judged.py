"""How a judge reads the messages of tests/answers, and those that speak to it: part of `python -m bench.answers`.

Only what rules do not refuse for certain is read. Nothing is written but the replies, so that the same command asks
nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from bench.answers import ANEW, HELD_OUT, INJECTIONS, REWORDED, SEEN, Answer, Corpus, read_answers
from toolscale.canonical import content_hash
from toolscale.environment.world import World
from toolscale.errors import BudgetError, ModelUnavailableError
from toolscale.models.judging import JudgeSettings
from toolscale.records import Reading, ToolCall
from toolscale.rollout.message_judge import open_judge
from toolscale.sandbox.base import to_row_changes
from toolscale.verify.readings import MessageCase, message_hash


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


def measure(settings: JudgeSettings | None, most: int | None, say: Callable[[str], None]) -> None:
    """Say what rules decide for certain and how much is left; with a judge, how often it and the reader disagree."""
    corpus = Corpus()
    drawn = sorted(read_answers(), key=lambda answer: content_hash([answer.task, answer.answer]))
    answers = [*drawn[:most], *read_answers("injections.jsonl")]
    certain = {id(answer) for answer in answers if corpus.grade(answer).is_certain}
    left = [answer for answer in answers if id(answer) not in certain]
    found = [Read(answer, "refused") for answer in answers if id(answer) in certain]
    if settings is None:
        say(table([*found, *(Read(answer, "") for answer in left)]))
        say(f"rules decide {len(found)} of {len(answers)} messages for certain; {len(left)} are left to a judge")
        return
    found += asyncio.run(_read(corpus, left, settings, say))
    say(table(found))
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
    last = f"; the last: {judge.last}" if judge.lost else ""
    say(
        f"{judge.name} read {len(left)} messages that rules do not refuse for certain: ${spent.paid_usd:.4f} paid, "
        f"${spent.worth_usd:.4f} in all; on {judge.lost} it gave no verdict{last}"
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
        request=brief.request,
        today=corpus.environment.spec.world.today,
        facts=brief.facts,
        calls=tuple(made),
        changes=to_row_changes(corpus.environment.schema, world.net_changes()),
        message=answer.answer,
    )


def table(found: Sequence[Read]) -> str:
    """Return the figures as a table in Markdown, with Wilson intervals of 95 % for what was decided."""
    lines = [
        "| part | label | messages | refused for certain | nobody decided | misjudged | share | 95 % interval |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    for half in (SEEN, REWORDED, ANEW, HELD_OUT, INJECTIONS):
        for label, word in (("right", "refused"), ("wrong", "accepted")):
            part = [one for one in found if (one.answer.half, one.answer.label) == (half, label)]
            decided = [one for one in part if one.verdict]
            if not part:
                continue
            bad, certain = sum(one.misjudged for one in decided), sum(one.verdict == "refused" for one in part)
            share = "– | –"
            if decided:
                low, high = binomtest(bad, len(decided)).proportion_ci(method="wilson")
                share = f"{bad / len(decided):.1%} | {low:.1%} to {high:.1%}"
            lines.append(
                f"| {half} | {label} | {len(part)} | {certain} | {len(part) - len(decided)} | {bad} {word} | {share} |"
            )
    return "\n".join(lines)
