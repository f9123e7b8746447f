"""Means of scores whose tasks belong together: tasks of one intent share a plan, and are right or wrong together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from toolscale.errors import UsageError
from toolscale.proportions import wilson

RESAMPLES = 10_000
SEED = 20_260_901
"""Of the bootstrap: the same draws every time."""

Method = Literal["wilson", "t", "none"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval. `method` says which; `none`: one cluster alone, of which nothing can be said."""

    value: float
    low: float
    high: float
    error: float
    """Standard error, clustered."""
    tasks: int
    clusters: int
    method: Method


def clustered_error(values: Sequence[float], clusters: Sequence[str]) -> float:
    """Return the standard error of a mean, clustered: (1/n) sqrt(C/(C-1) sum over clusters of (sum of (s - mean))^2),
    [M] with the factor for few clusters (Cochran, Sampling Techniques, 1977, chapter 6). 0 for one cluster alone.

    Where every task is a cluster of its own it is the plain one.
    """
    scores, groups = _checked(values, clusters)
    sums = np.bincount(groups, weights=scores - scores.mean())
    if len(sums) < 2:
        return 0.0
    return float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(scores))


def mean_interval(values: Sequence[float], clusters: Sequence[str], *, share: bool = False) -> Estimate:
    """Return the mean of the scores of tasks, with an interval.

    `values`: one for each task, the mean of its samples. Every task its own cluster, and all 0 or 1: Wilson. Else t
    with C - 1 degrees of freedom and the clustered error: in trials with 3 to 19 clusters and normal values it held the
    truth in 94 to 96 %, percentiles of a bootstrap in 75 to 93 %. `share`: values are from 0 to 1; ends are cut there,
    and where all are 0 or all are 1 the interval is Wilson's over clusters, since every other one would have no width.
    """
    scores, groups = _checked(values, clusters)
    mean, count = float(scores.mean()), int(groups.max()) + 1
    alone = count == len(scores)
    error = clustered_error(values, clusters)

    def told(low: float, high: float, method: Method) -> Estimate:
        if share:
            low, high = max(0.0, low), min(1.0, high)
        return Estimate(mean, low, high, error, len(scores), count, method)

    binary = bool(np.isin(scores, (0, 1)).all())
    if share and binary and (alone or mean in (0.0, 1.0)):
        return told(*wilson(round(mean * count), count), "wilson")
    if count == 1:
        return told(mean, mean, "none")
    half = float(stats.t.ppf(0.975, count - 1)) * error
    return told(mean - half, mean + half, "t")


def ratio_interval(above: Sequence[float], below: Sequence[float], clusters: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of sum(above) / sum(below): percentiles of a bootstrap that draws whole clusters and
    keeps both parts of each together (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13).

    Infinity where a draw has nothing below the line. With fewer than five clusters it is still too narrow.
    """
    sums = [cluster_sums(values, clusters) for values in (above, below)]
    return percentiles(resampled_ratio(sums[0], sums[1]), len(sums[0]))


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> np.ndarray:
    """Return the sum over each cluster, clusters in the order of their names."""
    scores, groups = _checked(values, clusters)
    return np.bincount(groups, weights=scores)


def resampled_ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return RESAMPLES ratios of sums over clusters that are drawn with replacement. Whoever calls it twice for the
    same clusters draws the same ones: differences are paired."""

    def ratio(upper: np.ndarray, lower: np.ndarray, axis: int = -1) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(upper.sum(axis=axis) / lower.sum(axis=axis))

    if len(above) < 2:  # scipy resamples two at least, and of one there is nothing to draw
        return np.full(RESAMPLES, ratio(above, below))
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # all clusters alike: an interval without width
        found = stats.bootstrap(
            (above, below), ratio, paired=True, vectorized=True, n_resamples=RESAMPLES, batch=500,
            method="percentile", rng=np.random.default_rng(SEED),
        )  # fmt: skip
    return np.asarray(found.bootstrap_distribution)


def percentiles(found: np.ndarray, drawn: int) -> tuple[float, float]:
    """Return the 95 % interval of a bootstrap that drew so many things, draws that are no number left out.

    Its tails are Phi(-sqrt(n / (n - 1)) t(n - 1)) instead of 2.5 %, as a bootstrap of few things varies too little:
    the expanded percentile interval of Hesterberg, The American Statistician 69 (2015), section 5.3.
    """
    known = np.sort(found[~np.isnan(found)])
    if not len(known):
        return float("nan"), float("nan")
    wide = np.sqrt(drawn / (drawn - 1)) * stats.t.ppf(0.975, drawn - 1) if drawn > 1 else np.inf
    tail = float(stats.norm.cdf(-wide))
    # By rank, not between two ranks: halfway to infinity is no number.
    low, high = (known[min(len(known) - 1, int(share * len(known)))] for share in (tail, 1 - tail))
    return float(low), float(high)


def _checked(values: Sequence[float], clusters: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the number of the cluster of each."""
    if len(values) != len(clusters) or not len(values):
        raise UsageError(f"{len(values)} values and {len(clusters)} clusters; give one cluster for each of some values")
    _, groups = np.unique(np.asarray(clusters), return_inverse=True)
    return np.asarray(values, dtype=float), groups
