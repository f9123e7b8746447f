"""What judging a candidate gives."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from toolscale.records.base import Record
from toolscale.records.task import Candidate, RowChange, Task

GATES = (
    "schema",
    "integrity",
    "replay",
    "case_agrees",
    "deterministic",
    "engines_agree",
    "grounded",
    "unambiguous",
    "idle_fails",
    "necessary",
    "mutants_killed",
    "equivalents_accepted",
    "lawful",
    "not_leaked",
    "novel",
    "solvable",
)
"""All gates, in the order in which they are listed."""

Status = Literal["pass", "fail", "not_run", "attested"]


class GateResult(Record):
    """One gate: its status and what it found, in words."""

    gate: str
    status: Status
    finding: str


class Verdict(Record):
    """All gates, all findings."""

    gates: tuple[GateResult, ...]
    mutants_killed: int = 0
    equivalents_accepted: int = 0

    @property
    def failed(self) -> tuple[GateResult, ...]:
        """The gates that failed, in order."""
        return tuple(gate for gate in self.gates if gate.status == "fail")

    @property
    def accepted(self) -> bool:
        """Whether no gate failed."""
        return not self.failed


class Judged(Record):
    """A candidate with its verdict; `task` is there as soon as recording succeeded, accepted or not."""

    candidate: Candidate
    verdict: Verdict
    task: Task | None = None
    actual_row_changes: tuple[RowChange, ...] | None = None
    """The row changes of the trajectory that decided against the candidate (a surviving mutant, a rejected equivalent,
    another reading)."""
    details: dict[str, Any] = Field(default_factory=dict)
    """The surviving mutant, the rejected equivalent, or what another reading of the request does: `operator`, `calls`,
    `answer`."""


UNDECIDED = "undecided: "
"""The finding of an undecided grade begins so: a rollout keeps only the finding of its grade."""


class Grade(Record):
    """How a rollout was graded. `score` is 1 only if it did what was asked for, told it, and did nothing else."""

    score: int
    undecided: bool = False
    """Nothing certain speaks against the final message, and no judge has read it. `score` is 0."""
    judge: str = ""
    """The model that read the final message, because rules could not tell; empty if rules decided."""
    execution_correct: bool
    """Its net row changes are in the accepted set."""
    faithful: bool
    """Its final message states the facts."""
    operations_complete: bool
    """It wrote every row that the golden trajectory wrote."""
    nothing_else: bool
    """It wrote no other row, took no change back, broke no rule on the way, looked up nobody who is only asked about,
    and handed over last."""
    finding: str


def wrong(finding: str) -> Grade:
    """Return the grade of what is no answer to a task."""
    return Grade(
        score=0,
        execution_correct=False,
        faithful=False,
        operations_complete=False,
        nothing_else=True,
        finding=finding,
    )
