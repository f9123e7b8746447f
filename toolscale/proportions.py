"""The interval of a proportion."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from toolscale.errors import UsageError


def wilson(right: int, tasks: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the ends of Wilson's interval for `right` of `tasks`.

    centre = (p + z^2/2n) / (1 + z^2/n), half = z/(1 + z^2/n) * sqrt(p(1-p)/n + z^2/4n^2). Wilson, Probable inference,
    JASA 22 (1927); recommended for small samples by [B] of eval/statistics. UsageError unless 0 <= right <= tasks and
    there is a task.
    """
    if not 0 <= right <= tasks or tasks == 0:
        raise UsageError(f"{right} of {tasks} is no proportion; count at least one task")
    share, z = right / tasks, NormalDist().inv_cdf(0.5 + confidence / 2)
    centre, below = share + z * z / (2 * tasks), 1 + z * z / tasks
    half = z * sqrt(share * (1 - share) / tasks + z * z / (4 * tasks**2))
    return (0.0 if right == 0 else (centre - half) / below, 1.0 if right == tasks else (centre + half) / below)
