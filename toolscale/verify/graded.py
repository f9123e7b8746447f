"""The grade of a rollout, from a task that was recorded before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolscale.records import UNDECIDED, Grade, Reading, ToolCall
from toolscale.verify.detours import something_else
from toolscale.verify.readings import NO_READINGS, message_hash, with_reading
from toolscale.verify.subject import Subject

UNREAD = "nothing certain speaks against the message, and no judge has read it"


def grade_subject(
    subject: Subject, calls: Sequence[ToolCall], answer: str, readings: Mapping[str, Reading] = NO_READINGS
) -> Grade:
    """Grade a rollout of a candidate that was recorded before: whoever grades many rollouts of one task records it
    once. `readings`: how a judge read messages of this task, by their hash; where rules cannot tell, that counts."""
    grade = _by_rules(subject, calls, answer)
    reading = readings.get(message_hash(calls, answer)) if readings and grade.undecided else None
    return grade if reading is None else with_reading(grade, reading)


def _by_rules(subject: Subject, calls: Sequence[ToolCall], answer: str) -> Grade:
    state = subject.states.of(subject.states.writes(calls))
    correct = state.changes in subject.accepted
    complete = correct or subject.golden.touched <= state.touched
    besides = something_else(subject, calls, state)
    finding, undecided = _finding(subject, answer)
    if finding is None and not complete and subject.brief.done != "none":
        finding = "claims what was not done"
    undecided = undecided and correct and besides is None
    notes = [
        note
        for note in (
            None if correct else "another end state",
            finding,
            None if complete else "rows left unwritten",
            besides if correct else None,
        )
        if note
    ]
    return Grade(
        score=int(correct and finding is None and besides is None),
        undecided=undecided,
        execution_correct=correct,
        faithful=finding is None,
        operations_complete=complete,
        nothing_else=besides is None,
        finding=(UNDECIDED if undecided else "") + ("; ".join(notes) or "right"),
    )


def _finding(subject: Subject, answer: str) -> tuple[str | None, bool]:
    """Return what is wrong with an answer, and whether that is undecided: the words of a message are for a judge."""
    if subject.candidate.answer == "form":
        return subject.brief.finding(answer), False
    if answer == subject.answer:
        return None, False
    certain = subject.brief.message_finding(answer)
    return (certain, False) if certain else (UNREAD, True)
