"""What a reward looks at: whether a rollout was right, what it cost, how long it took, what it used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolscale.errors import UsageError
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
    """Return a rollout in figures. The terminal call is in all of them: its cost, its seconds, its use. UsageError
    where its dollars are not known."""
    dollars = rollout.cost_usd
    if dollars is None:
        raise UsageError(
            f"{rollout.id}: the price of {rollout.policy!r} is not known, and no reward without it; set it"
        )
    return Figures(right=rollout.right, cost_usd=dollars, latency_s=rollout.latency_s, uses=rollout.uses())
