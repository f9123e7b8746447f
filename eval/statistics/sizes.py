"""How many tasks it takes to see a difference, and which difference so many tasks show."""

from __future__ import annotations

import math

from scipy.stats import norm

from toolscale.errors import UsageError


def sample_size(
    delta: float, between: float, within_a: float = 0.0, within_b: float = 0.0, samples_a: int = 1, samples_b: int = 1,
    *, power: float = 0.8, alpha: float = 0.05,
) -> int:  # fmt: skip
    """Return how many tasks show a difference `delta` between two policies: (z_alpha/2 + z_beta)^2 (omega^2 +
    sigma_a^2/K_a + sigma_b^2/K_b) / delta^2, rounded up, [M].

    `between`: omega^2, the variance of the true differences over tasks. `within_*`: sigma^2, the mean variance of the
    samples of one task. UsageError for a difference of 0.
    """
    if delta == 0:
        raise UsageError("no number of tasks shows a difference of 0; give another delta")
    spread = _spread(between, within_a, within_b, samples_a, samples_b)
    # What is a whole number up to the last bits of floating point is that number.
    return math.ceil(round(_factor(power, alpha) ** 2 * spread / delta**2, 6))


def detectable_difference(
    tasks: int, between: float, within_a: float = 0.0, within_b: float = 0.0, samples_a: int = 1, samples_b: int = 1,
    *, power: float = 0.8, alpha: float = 0.05,
) -> float:  # fmt: skip
    """Return the least difference that so many tasks show: `sample_size`, solved for delta."""
    if tasks < 1:
        raise UsageError(f"{tasks} tasks show nothing; take one at least")
    spread = _spread(between, within_a, within_b, samples_a, samples_b)
    return _factor(power, alpha) * math.sqrt(spread / tasks)


def tasks_needed(delta: float, error: float, tasks: int, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return how many tasks of this kind, in clusters as large as these, show a difference `delta`, given the standard
    error of the paired difference on `tasks` of them.

    The error falls with the root of the number of tasks, so n SE^2 is the variance of one task, clusters and samples in
    it: `sample_size` with that variance.
    """
    return sample_size(delta, tasks * error**2, power=power, alpha=alpha)


def _spread(between: float, within_a: float, within_b: float, samples_a: int, samples_b: int) -> float:
    if min(samples_a, samples_b) < 1 or min(between, within_a, within_b) < 0:
        raise UsageError("variances are 0 or more, and there is one sample of each task at least")
    return between + within_a / samples_a + within_b / samples_b


def _factor(power: float, alpha: float) -> float:
    return float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
