"""Training seeds are a level of their own: another seed is another model, and tasks say nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from eval.statistics.clusters import RESAMPLES, SEED, percentiles
from toolscale.errors import UsageError


def seed_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return (mean, low, high) over seeds: mean +- t(n-1) s / sqrt(n), Student's. With three seeds t is 4.30."""
    if len(values) < 2:
        raise UsageError(f"{len(values)} seeds have no spread; run two at least")
    mean = float(np.mean(values))
    half = float(stats.t.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / float(np.sqrt(len(values)))
    return mean, mean - half, mean + half


def seeds_and_tasks(scores: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return (mean, low, high) of scores by seed and task: a bootstrap that draws seeds, then tasks, the same tasks for
    all seeds that were drawn (Davison and Hinkley, Bootstrap Methods, 1997, section 3.8)."""
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or not table.size:
        raise UsageError("give one row of scores for each seed, all over the same tasks")
    rng = np.random.default_rng(SEED)
    seeds, tasks = table.shape
    drawn = np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        picked = table[rng.integers(seeds, size=seeds)]
        drawn[number] = picked[:, rng.integers(tasks, size=tasks)].mean()
    low, high = percentiles(drawn, seeds)
    return float(table.mean()), low, high
