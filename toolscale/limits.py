"""How much a run may take: candidates, dollars, seconds. One record for all verbs and for the scheduler."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolscale.errors import DeadlineError, UsageError

NAMES = {"max_candidates": "--max-candidates", "max_cost": "--max-cost", "deadline_s": "--deadline"}


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What is None has no limit. UsageError, with the name of the option, if one is not a number above 0."""

    max_candidates: int | None = None
    """Candidates that are drawn at most for one dataset."""
    max_cost: float | None = None
    """Dollars that models may cost; what one request can cost at most is reserved before it is sent."""
    deadline_s: float | None = None
    """Seconds, from `began` on, after which nothing new is begun."""
    began: float = field(default_factory=time.monotonic, compare=False)
    """By `time.monotonic`."""

    def __post_init__(self) -> None:
        for name, option in NAMES.items():
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{option} is {value!r}; give a number above 0, or leave it out")

    @classmethod
    def of(cls, told: Mapping[str, Any], elapsed_s: float = 0.0) -> RunLimits:
        """Return the limits that a mapping names, as the params of a run do: `max_candidates`, `budget` (dollars),
        `deadline`. `elapsed_s`: how long ago the run began."""
        wanted = (told.get("max_candidates"), told.get("budget"), told.get("deadline"))
        return cls(*wanted, began=time.monotonic() - elapsed_s)

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline, 0 after it; None without one."""
        return None if self.deadline_s is None else max(0.0, self.began + self.deadline_s - time.monotonic())

    def check_time(self, rest: str) -> None:
        """Raise DeadlineError after the deadline. `rest`: what is left, and how to go on, for the message."""
        if self.left_s == 0:
            raise DeadlineError(f"stopped at the deadline of {self.deadline_s:g} s: {rest}")


UNLIMITED = RunLimits()
