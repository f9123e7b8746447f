"""The Verifier: grades a rollout of a task by what it left behind, what it said, and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.records import UNDECIDED, Candidate, Grade, ToolCall
from toolscale.verify.judge import Judge
from toolscale.verify.subject import Subject


class Verifier:
    """Grades rollouts against the accepted end states of a candidate."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def grade(self, candidate: Candidate, calls: Sequence[ToolCall], answer: str) -> Grade:
        """Grade the calls of a rollout, in order, and its final message. A failed call changes nothing and does not end
        the rollout."""
        return grade_subject(self._judge.subject(candidate), calls, answer)

    def golden(self, candidate: Candidate) -> tuple[tuple[ToolCall, ...], str]:
        """Return the golden calls and the golden answer of a candidate."""
        subject = self._judge.subject(candidate)
        calls = tuple(ToolCall(name=r.call.name, arguments=r.call.arguments) for r in subject.recording.calls)
        return calls, subject.answer


def grade_subject(subject: Subject, calls: Sequence[ToolCall], answer: str) -> Grade:
    """Grade a rollout of a candidate that was recorded before: whoever grades many rollouts of one task records it
    once."""
    state = subject.states.of(subject.states.writes(calls))
    correct = state.changes in subject.accepted
    finding = subject.brief.finding_after(answer, subject.states.made(calls))
    complete = correct or subject.golden.touched <= state.touched
    undecided = correct and complete and subject.brief.is_undecided(answer, finding)
    notes = [
        note
        for note in (None if correct else "another end state", finding, None if complete else "rows left unwritten")
        if note
    ]
    return Grade(
        score=int(correct and finding is None),
        undecided=undecided,
        execution_correct=correct,
        faithful=finding is None,
        operations_complete=complete,
        finding=(UNDECIDED if undecided else "") + ("; ".join(notes) or "right"),
    )
