"""Grading by rules, and what went wrong where the score is 0."""

from __future__ import annotations

import re
from collections import Counter

from eval.benchmark import Case, Graded
from eval.records import Failure
from toolscale.records import UNDECIDED, Rollout
from toolscale.rollout.bench import Bench
from toolscale.rollout.grading import regrade
from toolscale.rollout.scripted import NOT_KNOWN

RULES, NOBODY = "rules", "none"

_GIVEN_UP = re.compile(
    r"\b(?:i (?:do not|don't) know|(?:could|can)(?:no|n')t (?:find|answer|help|determine|complete)|could not find|"
    r"unable to|no idea)\b",
    re.IGNORECASE,
)


async def grade_by_rules(bench: Bench, case: Case, rollout: Rollout) -> Graded:
    """Grade a rollout with nothing but its calls and its answer, by the rules of questions and environments; where
    those cannot tell, as the judge of the bench has read its final message. One in which the person of a dialogue erred
    has no score, and one that nobody can grade has none either. One on which the judge gave no verdict is as good as
    not played: it is tried again."""
    if rollout.stop == "void":
        return Graded("unscored", None, rollout.finding, NOBODY)
    right, finding = regrade(rollout, case.task, bench.domain_of(case.task))
    if not finding.startswith(UNDECIDED):
        return Graded("scored", float(right), finding, RULES)
    if rollout.judge:
        return Graded("scored", float(rollout.right), rollout.finding, rollout.judge)
    return Graded("unscored", None, finding, NOBODY) if bench.judge is None else lost(rollout.finding)


def lost(reason: str) -> Graded:
    """Return the grade of a rollout that had no answer, or no verdict, through no fault of the policy: none."""
    return Graded("error", None, reason, NOBODY)


def failure_of(case: Case, rollout: Rollout, bench: Bench, finding: str) -> Failure:
    """Return what went wrong in a rollout that scored 0: the first of these that holds.

    A limit; turns that could not be read and no answer; words that rules cannot grade; an agent that did or said
    nothing; for environment tasks other calls than the golden ones, the same calls with other arguments, or the right
    end state and a message without its facts.
    """
    if rollout.stop in ("turns", "tokens", "dollars", "context", "left", "failed"):
        return "malformed" if rollout.malformed and rollout.stop != "dollars" else "limit"
    if rollout.undecided:
        return "undecided"
    domain, answer = bench.domain_of(case.task), rollout.answer or ""
    if domain is None or case.task.task is None:
        return "gave up" if answer == NOT_KNOWN or _GIVEN_UP.search(answer) else "wrong answer"
    tools = domain.environment.tools
    made = [call.name for call in rollout.calls if call.name in tools and tools[call.name].mutates_state]
    golden = [call.name for call in case.task.task.golden_calls if tools[call.name].mutates_state]
    if "another end state" not in finding:
        return "gave up" if not rollout.calls and _GIVEN_UP.search(answer) else "missed fact"
    if not made and golden:
        return "gave up" if _GIVEN_UP.search(answer) or not rollout.calls else "wrong call"
    return "wrong argument" if Counter(made) == Counter(golden) else "wrong call"
