"""What a reward looks at: whether a rollout was right, what it cost, how long it took, what it used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from toolscale.errors import UsageError
from toolscale.records import Rollout


@dataclass(frozen=True, slots=True)
class Figures:
    """One rollout in figures: dollars and seconds of all its charges, and alias or tool -> number of calls without an error."""

    right: bool
    cost_usd: float
    latency_s: float
    uses: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class References:
    """One unit of cost (dollars) and of latency (seconds) for the experts that a task is offered. UsageError unless both are above 0."""

    cost_usd: float
    latency_s: float

    def __post_init__(self) -> None:
        for name, value in (("cost_usd", self.cost_usd), ("latency_s", self.latency_s)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"the reference {name} is {value!r}; give a number above 0")


NO_EXPERTS = References(cost_usd=0.01, latency_s=60.0)
"""Holds where no expert is offered, or where none of them costs or takes anything."""


def figures_of(rollout: Rollout) -> Figures:
    """Return a rollout in figures. The terminal call is in all of them: its cost, its seconds, its use."""
    return Figures(right=rollout.right, cost_usd=rollout.cost_usd, latency_s=rollout.latency_s, uses=rollout.uses())


def references_of(costs: Iterable[float], latencies: Iterable[float]) -> References:
    """Return the references of a pool, given what one answer of each expert is expected to cost (dollars) and to take (seconds): the largest."""
    cost, latency = max(costs, default=0.0), max(latencies, default=0.0)
    return References(cost if cost > 0 else NO_EXPERTS.cost_usd, latency if latency > 0 else NO_EXPERTS.latency_s)
