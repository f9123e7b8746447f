"""The interval of a proportion."""

from __future__ import annotations

from scipy.stats import binomtest

from toolscale.errors import UsageError


def wilson(right: int, tasks: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the ends of Wilson's interval for `right` of `tasks`.

    centre = (p + z^2/2n) / (1 + z^2/n), half = z/(1 + z^2/n) * sqrt(p(1-p)/n + z^2/4n^2). Wilson, Probable inference,
    JASA 22 (1927); recommended for small samples by [B]. scipy computes it. UsageError unless 0 <= right <= tasks and
    there is a task.
    """
    if not 0 <= right <= tasks or tasks == 0:
        raise UsageError(f"{right} of {tasks} is no proportion; count at least one task")
    found = binomtest(right, tasks).proportion_ci(confidence, method="wilson")
    return float(found.low), float(found.high)
