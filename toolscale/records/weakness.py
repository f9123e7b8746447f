"""What a policy fails, counted by what tasks are made of: the file that `evaluate --weak` writes and `synthesize
--toward` reads."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from toolscale.proportions import wilson
from toolscale.records.base import Record
from toolscale.records.dataset import DomainName

FEW = 10
"""Fewer tasks than these are named as few."""
DIGITS = 4
"""Of the ends of intervals."""
MOST_VALUES = 2_000

Count = Annotated[int, Field(ge=0, le=10**9)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,99}$")]


class Failed(Record):
    """How many of some tasks were failed. What is said beside the two counts has to follow from them."""

    tasks: Annotated[Count, Field(ge=1)]
    failed: Count
    low: float
    """Wilson's 95 % interval of the share that was failed."""
    high: float
    few: bool
    """Whether the tasks are fewer than FEW: a share of them says little."""

    @classmethod
    def of(cls, failed: int, tasks: int) -> Failed:
        """Return what two counts say."""
        low, high = (round(end, DIGITS) for end in wilson(failed, tasks))
        return cls(tasks=tasks, failed=failed, low=low, high=high, few=tasks < FEW)

    @model_validator(mode="after")
    def _follows(self) -> Failed:
        if self.failed > self.tasks:
            raise ValueError(f"{self.failed} of {self.tasks} tasks cannot have failed")
        right = wilson(self.failed, self.tasks)
        if max(abs(self.low - right[0]), abs(self.high - right[1])) > 10**-DIGITS or self.few != (self.tasks < FEW):
            low, high = (round(end, DIGITS) for end in right)
            few = "true" if self.tasks < FEW else "false"
            raise ValueError(f"{self.failed} of {self.tasks} give low {low}, high {high}, few {few}")
        return self


Counted = Annotated[dict[Name, Failed], Field(max_length=MOST_VALUES)]


class DomainWeakness(Record):
    """What was failed of one domain. A task counts under each of the values that it has."""

    intents: Counted = Field(default_factory=dict)
    """Intent, composed ones too."""
    evolutions: Counted = Field(default_factory=dict)
    """Operator of evolution; `none` of tasks as they are written."""
    tools: Counted = Field(default_factory=dict)
    """Tool of a golden call."""
    rules: Counted = Field(default_factory=dict)
    """Rule by which something is refused."""
    lengths: Counted = Field(default_factory=dict)
    """Golden calls: `1`, `2`, `3`, `4 to 6`, `7 or more`."""


class Weakness(Record):
    """What one policy failed on one benchmark."""

    policy: Annotated[str, Field(max_length=200)]
    benchmark: Annotated[str, Field(max_length=200)]
    grading: int
    """The version of grading."""
    left_out: Count
    """Tasks that have no grade: an error of a server, or a message that nobody could judge."""
    domains: Annotated[dict[DomainName, DomainWeakness], Field(min_length=1, max_length=MOST_VALUES)]

    def told(self) -> dict[str, Any]:
        """Return it as the file holds it: values in order of what is failed most surely."""
        content = self.model_dump(mode="json")
        for domain in content["domains"].values():
            for name, counted in domain.items():
                domain[name] = dict(sorted(counted.items(), key=lambda item: (-item[1]["low"], item[0])))
        return content
