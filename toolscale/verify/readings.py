"""What a judge is shown of a final message, and what its verdict makes of a grade.

A verdict is an input, as an attempt is: who has it grades again without asking anybody. It names its message by a hash
that holds the calls too, since what was done decides what may be said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from toolscale.canonical import content_hash
from toolscale.records import Attempt, Fact, GoldenCall, Grade, Reading, RowChange, ToolCall
from toolscale.sandbox.base import to_row_changes
from toolscale.strict_json import encodable
from toolscale.tasks.candidate_keys import key_of
from toolscale.verify.subject import Subject

NO_READINGS: Mapping[str, Reading] = MappingProxyType({})


@dataclass(frozen=True)
class MessageCase:
    """A final message with all that it is read against."""

    candidate: str
    """The key of the candidate."""
    key: str
    """The hash of the message, with the calls before it."""
    request: str
    today: str
    """The date of the environment's clock."""
    facts: tuple[Fact, ...]
    """What must be told, and what must not."""
    calls: tuple[GoldenCall, ...]
    """What the writer of the message did, as far as it succeeded, with the results."""
    changes: tuple[RowChange, ...]
    """What that changed."""
    message: str


def message_hash(calls: Sequence[ToolCall], answer: str) -> str:
    """Return what names a message that was written after these calls."""
    return content_hash([[[call.name, call.arguments] for call in calls], encodable(answer)])


def hash_of_attempt(attempt: Attempt) -> str | None:
    """Return what names the message of an attempt; None if it has none."""
    return None if attempt.answer is None else message_hash(attempt.calls, attempt.answer)


def case_of(subject: Subject, calls: Sequence[ToolCall], answer: str) -> MessageCase:
    """Return what a judge is shown of a message that was written after these calls. They are made again."""
    made = subject.states.made(calls)
    environment = subject.environment
    return MessageCase(
        candidate=key_of(subject.candidate, environment.hash),
        key=message_hash(calls, answer),
        request=subject.heard.text,
        today=subject.today,
        facts=subject.facts,
        calls=tuple(made),
        changes=to_row_changes(environment.schema, subject.states.world.net_changes()),
        message=encodable(answer),
    )


def with_reading(grade: Grade, reading: Reading) -> Grade:
    """Return an undecided grade as a judge decides it."""
    right = reading.verdict == "right"
    return grade.model_copy(
        update={
            "score": int(right),
            "faithful": right,
            "undecided": False,
            "judge": reading.model,
            "finding": f"by the judge {reading.model}: {reading.why or reading.verdict}",
        }
    )
