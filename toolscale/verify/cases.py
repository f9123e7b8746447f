"""The verifier cases of an environment (`cases.yaml`): rollouts whose grade is known, run through the Verifier."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecIssue
from toolscale.records import Candidate, ToolCall, VerifierCase
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier

TRIES = 40
"""Candidates of an intent that are judged until one is accepted."""

KINDS = ("full_reward", "zero_reward", "malformed", "determinism", "another_path")


def accepted_candidate(judge: Judge, source: CandidateSource, intent_id: str) -> Candidate | None:
    """Return the first candidate of an intent under seed 0 that the judge accepts, with its question."""
    for turn in range(TRIES):
        candidate = source.draw_evolved(0, source.number(intent_id, turn), ())
        if candidate is not None and judge.judge(candidate).verdict.accepted:
            return candidate
    return None


def check_cases(environment: Environment, rows: Rows | None = None) -> list[SpecIssue]:
    """Run every verifier case on the rows of seed 0 (made here unless they are given); return those that are not graded
    as they say, and the kinds that are missing."""
    rows = populate(environment) if rows is None else rows
    judge = Judge(environment, rows, audit_share=0, replica=False)
    try:
        source = CandidateSource(environment, World(environment, rows))
        cases = environment.spec.cases.verifier
        found = [(f"verifier[{case.title}]", finding) for case in cases if (finding := run_case(case, judge, source))]
    finally:
        judge.close()
    missing = [kind for kind in KINDS if kind not in {case.kind for case in cases}]
    issues = [
        SpecIssue("cases.yaml", place, finding, "correct the case, or the environment") for place, finding in found
    ]
    return issues + [SpecIssue("cases.yaml", "verifier", f"no case of kind {kind}", "add one") for kind in missing]


def run_case(case: VerifierCase, judge: Judge, source: CandidateSource) -> str | None:
    """Grade the rollout of a case; return what is wrong with its grade, or None."""
    candidate = accepted_candidate(judge, source, case.intent)
    if candidate is None:
        return f"no candidate of {case.intent} is accepted"
    verifier = Verifier(judge)
    golden, answer = verifier.golden(candidate)
    calls = _calls(case, golden, judge)
    said = case.answer.replace("{golden}", answer)
    grade = verifier.grade(candidate, calls, said)
    if case.kind == "determinism" and verifier.grade(candidate, calls, said) != grade:
        return "the same rollout was graded differently the second time"
    expected = 0 if case.kind in ("zero_reward", "malformed") else 1
    return None if grade.score == expected else f"scored {grade.score}, expected {expected}: {grade.finding}"


def _calls(case: VerifierCase, golden: Sequence[ToolCall], judge: Judge) -> list[ToolCall]:
    if case.calls == "golden":
        return list(golden)
    if case.calls == "writes":
        return [call for call in golden if judge.environment.tools[call.name].mutates_state]
    if case.calls == "none":
        return []
    added = [ToolCall(name=tool, arguments=arguments) for call in case.calls for tool, arguments in call.items()]
    return [*golden, *added]
