"""Gate `solvable`: models tried the task, and at least one of them solved it.

An attempt is graded as any rollout is, so whoever has the attempts needs no model to see the verdict again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolscale.records import Attempt, Decision, Grade, Reading, Solved, Status
from toolscale.records.verdict import wrong
from toolscale.verify.graded import grade_subject
from toolscale.verify.states import Changes
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory

QUARANTINED = "quarantined: "
"""The finding begins so where solvers agree on another end state: a person decides what is right."""

LEAST_AGREEING = 2
"""So many attempts at least, and more than half of all, must end in the same other state to be heard."""


@dataclass(frozen=True)
class Tried:
    """What models and people made of a task."""

    attempts: Sequence[Attempt] = ()
    """What models did with it."""
    decision: Decision | None = None
    """What a person decided about it."""
    readings: Sequence[Reading] = ()
    """How a judge read the final messages of the attempts."""


UNTRIED = Tried()


@dataclass(frozen=True)
class Trial:
    """What the attempts at a task say of it."""

    status: Status
    finding: str
    solved: Solved | None = None
    agreed: Trajectory | None = None
    """The first attempt of those that agree on another end state."""


def try_out(subject: Subject, tried: Tried) -> Trial:
    """Return what the attempts say of a task, and what a person decided about it. A message that rules cannot grade
    and that no judge has read stays undecided."""
    attempts, decision = tried.attempts, tried.decision
    if not attempts:
        rejected = decision is not None and decision.take == "reject"
        return Trial("fail", _decided(decision)) if rejected else Trial("not_run", "no model has tried")
    by_message = {reading.message: reading for reading in tried.readings}
    grades = [_grade(subject, attempt, by_message) for attempt in attempts]
    solved = Solved(
        tries=len(attempts),
        right=sum(grade.score for grade in grades),
        undecided=sum(grade.undecided for grade in grades),
        models=tuple(sorted({attempt.model for attempt in attempts})),
    )
    told = _told(solved)
    if decision is not None:
        status: Status = "fail" if decision.take == "reject" else "pass"
        return Trial(status, f"{_decided(decision)}; {told}", solved)
    if agreeing := _agreeing(subject, attempts):
        finding = f"{QUARANTINED}{len(agreeing)} of {len(attempts)} attempts agree on another end state; {told}"
        return Trial("fail", finding, solved, _trajectory(subject, agreeing[0]))
    if solved.right:
        return Trial("pass", told, solved)
    if solved.undecided:
        return Trial("not_run", f"{told}: rules cannot tell whether it can be solved", solved)
    return Trial("fail", f"{told}: {grades[0].finding}", solved)


def _grade(subject: Subject, attempt: Attempt, readings: Mapping[str, Reading]) -> Grade:
    if attempt.answer is None:
        return wrong("there is no answer")
    return grade_subject(subject, attempt.calls, attempt.answer, readings)


def _told(solved: Solved) -> str:
    undecided = f", {solved.undecided} undecided" if solved.undecided else ""
    return f"{solved.right} of {solved.tries} attempts are right{undecided} ({', '.join(solved.models)})"


def _decided(decision: Decision | None) -> str:
    assert decision is not None, "only what was decided is told"
    taken = {"accept": "kept as it is", "reject": "rejected", "add": "another end state added"}[decision.take]
    return f"{taken}{f' by {decision.by}' if decision.by else ''}: {decision.reason}"


def _agreeing(subject: Subject, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts that reach one end state that is not accepted, if they are more than half of all.

    Those that change nothing agree on nothing: that is what giving up looks like.
    """
    ends: dict[Changes, list[Attempt]] = {}
    for attempt in attempts:
        changes = subject.states.of(subject.states.writes(attempt.calls)).changes
        if attempt.answer is not None and changes:
            ends.setdefault(changes, []).append(attempt)
    agreed = max(ends, key=lambda each: len(ends[each]), default=None)
    if agreed is None or agreed in subject.accepted:
        return []
    agreeing = ends[agreed]
    return agreeing if len(agreeing) >= LEAST_AGREEING and 2 * len(agreeing) > len(attempts) else []


def _trajectory(subject: Subject, attempt: Attempt) -> Trajectory:
    return Trajectory("agreed", "open", subject.states.writes(attempt.calls), attempt.answer)
