"""The Verifier: grades a rollout of a task by what it left behind, what it said, and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.records import Candidate, Grade, ToolCall
from toolscale.verify.graded import grade_subject
from toolscale.verify.judge import Judge


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
