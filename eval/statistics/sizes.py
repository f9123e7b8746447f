"""How many tasks it takes to see a difference."""

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
    if min(samples_a, samples_b) < 1 or min(between, within_a, within_b) < 0:
        raise UsageError("variances are 0 or more, and there is one sample of each task at least")
    spread = between + within_a / samples_a + within_b / samples_b
    factor = float(norm.ppf(1 - alpha / 2) + norm.ppf(power))
    # What is a whole number up to the last bits of floating point is that number.
    return math.ceil(round(factor**2 * spread / delta**2, 6))


def tasks_needed(delta: float, error: float, tasks: int, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return how many tasks of this kind, in clusters as large as these, show a difference `delta`, given the standard
    error of the paired difference on `tasks` of them.

    The error falls with the root of the number of tasks, so n SE^2 is the variance of one task, clusters and samples in
    it: `sample_size` with that variance.
    """
    return sample_size(delta, tasks * error**2, power=power, alpha=alpha)
