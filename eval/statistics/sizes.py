"""How many tasks it takes to see a difference."""

from __future__ import annotations

import math

from scipy.stats import norm

CONFIDENCE, POWER = 0.95, 0.8


def tasks_needed(delta: float, error: float, tasks: int) -> int:
    """Return how many tasks of this kind, in clusters as large as these, show a difference `delta`, which is not 0,
    given the standard error of the paired difference on `tasks` of them: (z_alpha/2 + z_beta)^2 v / delta^2, rounded
    up, [M].

    v is the variance of one task, clusters and samples in it: the error falls with the root of the number of tasks, so
    it is n SE^2.
    """
    factor = float(norm.ppf((1 + CONFIDENCE) / 2) + norm.ppf(POWER))
    # What is a whole number up to the last bits of floating point is that number.
    return math.ceil(round(factor**2 * tasks * error**2 / delta**2, 6))
