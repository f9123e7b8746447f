"""Solutions whose score is known before anybody grades them: what proves a grader wherever a dataset goes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.task import ToolCall

FixtureKind = Literal[
    "golden", "reseeded", "equivalent", "idle", "recital", "transfer", "sprayed", "without_tools", "forged_verdict",
    "edited_judge", "malformed", "mutant",
]  # fmt: skip
"""What each is: `toolscale.dataset.fixtures.KINDS`."""


class Fixture(Record):
    """One solution of a task and what it must get. It is played from a fresh world."""

    task: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    kind: FixtureKind
    operator: Annotated[str, Field(max_length=40)] = ""
    """How it was made of the golden one: which mutant, equivalent or fault it is."""
    calls: tuple[ToolCall, ...] = ()
    answer: str
    """A filled form of the task as JSON, or a final message."""
    score: Literal[0, 1]
    """By its meaning, not by grading it."""
    finding: Annotated[str, Field(max_length=2_000)]
    """What the grade says."""
    note: Annotated[str, Field(max_length=200)] = ""
    """Why it may win nevertheless, where one of its kind mostly does not."""
