"""What a reward looks at: whether a rollout was right, what it cost, how long it took, what it used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolscale.records import Rollout


@dataclass(frozen=True, slots=True)
class Figures:
    """One rollout in figures: dollars and seconds of all its charges, and alias or tool -> number of calls without an
    error."""

    right: bool
    cost_usd: float
    latency_s: float
    uses: Mapping[str, int] = field(default_factory=dict)


def figures_of(rollout: Rollout) -> Figures:
    """Return a rollout in figures. The terminal call is in all of them: its cost, its seconds, its use."""
    return Figures(right=rollout.right, cost_usd=rollout.cost_usd, latency_s=rollout.latency_s, uses=rollout.uses())
