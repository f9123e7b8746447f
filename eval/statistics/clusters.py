"""Means of scores whose tasks belong together: tasks of one intent share a plan, and are right or wrong together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from eval.statistics.proportions import wilson
from toolscale.errors import UsageError

FEW_CLUSTERS = 20
"""With fewer clusters than this the normal theory of clustered errors is too sure of itself: bootstrap."""
RESAMPLES = 10_000
SEED = 20_260_901
"""Of the bootstrap: the same draws every time."""

Method = Literal["wilson", "t", "bootstrap", "none"]


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
    """Return the standard error of a mean, clustered: (1/n) sqrt(sum over clusters of (sum of (s - mean))^2), [M].

    Where every task is a cluster of its own it is the plain one with n in place of n - 1.
    """
    scores, groups = _checked(values, clusters)
    sums = np.bincount(groups, weights=scores - scores.mean())
    return float(np.sqrt((sums**2).sum()) / len(scores))


def plain_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean: sqrt((1/(n-1)) sum (s - mean)^2 / n), [M]. 0 for one value alone."""
    return float(stats.sem(values)) if len(values) > 1 else 0.0


def mean_interval(values: Sequence[float], clusters: Sequence[str], *, share: bool = False) -> Estimate:
    """Return the mean of the scores of tasks, with an interval.

    `values`: one for each task, the mean of its samples. Every task its own cluster, and all 0 or 1: Wilson. From
    FEW_CLUSTERS clusters: t with C - 1 degrees of freedom and the clustered error. Fewer: percentiles of a bootstrap
    over clusters. `share`: values are from 0 to 1; ends are cut there, and where all are 0 or all are 1 the interval is
    Wilson's over clusters, since every other one would have no width.
    """
    scores, groups = _checked(values, clusters)
    mean, count = float(scores.mean()), int(groups.max()) + 1
    alone = count == len(scores)
    error = plain_error(scores.tolist()) if alone else clustered_error(values, clusters)

    def told(low: float, high: float, method: Method) -> Estimate:
        if share:
            low, high = max(0.0, low), min(1.0, high)
        return Estimate(mean, low, high, error, len(scores), count, method)

    binary = bool(np.isin(scores, (0, 1)).all())
    if share and binary and (alone or mean in (0.0, 1.0)):
        return told(*wilson(round(mean * count), count), "wilson")
    if count == 1:
        return told(mean, mean, "none")
    if count >= FEW_CLUSTERS:
        half = float(stats.t.ppf(0.975, count - 1)) * error
        return told(mean - half, mean + half, "t")
    return told(*ratio_interval(values, [1.0] * len(scores), clusters), "bootstrap")


def ratio_interval(above: Sequence[float], below: Sequence[float], clusters: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of sum(above) / sum(below): percentiles of a bootstrap that draws whole clusters and
    keeps both parts of each together (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 8 and 13).

    Infinity where a draw has nothing below the line.
    """
    found = resampled_ratio(cluster_sums(above, clusters), cluster_sums(below, clusters))
    return percentiles(found)


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


def percentiles(found: np.ndarray) -> tuple[float, float]:
    """Return the ends of the middle 95 % of a bootstrap, draws that are no number left out."""
    known = np.sort(found[~np.isnan(found)])
    if not len(known):
        return float("nan"), float("nan")
    # By rank, not between two ranks: halfway to infinity is no number.
    low, high = (known[min(len(known) - 1, int(share * len(known)))] for share in (0.025, 0.975))
    return float(low), float(high)


def _checked(values: Sequence[float], clusters: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the number of the cluster of each."""
    if len(values) != len(clusters) or not len(values):
        raise UsageError(f"{len(values)} values and {len(clusters)} clusters; give one cluster for each of some values")
    _, groups = np.unique(np.asarray(clusters), return_inverse=True)
    return np.asarray(values, dtype=float), groups
