"""Two policies on the same tasks: a difference task by task says far more than two intervals beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest

from eval.statistics.clusters import (
    Estimate,
    cluster_sums,
    clustered_error,
    mean_interval,
    percentiles,
    ratio_interval,
    resampled_ratio,
)
from toolscale.errors import UsageError
from toolscale.proportions import wilson

ALIKE = 1e-12
"""Differences that differ by less are the same but for rounding."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A less B, over the tasks that both did."""

    estimate: Estimate
    error_a: float
    error_b: float
    """Standard errors of both means alone, clustered as the difference is."""
    correlation: float
    """Of the scores over tasks; 0 where one of them does not vary. The higher, the more pairing gains."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """The tasks on which two policies differ."""

    only_a: int
    only_b: int
    p: float


def paired_difference(a: Sequence[float], b: Sequence[float], clusters: Sequence[str]) -> Difference:
    """Return the mean of d = a - b over tasks with its interval, as `mean_interval` has it for d, [M].

    SE = sqrt(SE_a^2 + SE_b^2 - 2 SE_a SE_b corr) for tasks that are clusters of their own. UsageError unless both have
    the same tasks.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} scores against {len(b)}; give those of the same tasks, in the same order")
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    varies = len(first) > 1 and np.ptp(first) > 0 and np.ptp(second) > 0
    return Difference(
        estimate=mean_interval((first - second).tolist(), clusters),
        error_a=clustered_error(a, clusters),
        error_b=clustered_error(b, clusters),
        correlation=float(np.corrcoef(first, second)[0, 1]) if varies else 0.0,
    )


def share_difference(a: Sequence[float], b: Sequence[float], clusters: Sequence[str]) -> Estimate:
    """Return the mean of d = a - b of shares from 0 to 1, as `paired_difference` has it, with ends cut to -1 and 1.

    Where all tasks differ by the same v, the error is 0 and says nothing. Of C clusters none differs by something else:
    at most the share w does, Wilson's upper end for 0 of C. Each of those differs by -1 at least and by 1 at most, so
    the mean lies from v - w(1 + v) to v + w(1 - v).
    """
    found = paired_difference(a, b, clusters).estimate
    if np.ptp(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) < ALIKE:
        value, most = found.value, wilson(0, found.clusters)[1]
        return replace(found, low=value - most * (1 + value), high=value + most * (1 - value), method="wilson")
    return replace(found, low=max(-1.0, found.low), high=min(1.0, found.high))


def share_moved(a: Sequence[float], b: Sequence[float], clusters: Sequence[str]) -> tuple[float, float, float] | None:
    """Return (value, low, high) of (A - B) / (1 - B), A and B being the means of shares: of what had room to rise, how
    much rose. Abbott, Journal of Economic Entomology 18 (1925): an effect without what happens in the control anyway.

    A paired bootstrap over clusters. None where B is 1: there is no room.
    """
    rose, room = [one - other for one, other in zip(a, b, strict=True)], [1 - other for other in b]
    if sum(room) <= 0:
        return None
    return sum(rose) / sum(room), *ratio_interval(rose, room, clusters)


def mcnemar(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Return how many tasks only A and only B has right, and the exact p that they differ by chance: 2 P(Bin(b + c,
    1/2) <= min(b, c)), at most 1. McNemar, Psychometrika 12 (1947); tasks count as independent, whatever their
    cluster."""
    only_a = sum(one and not other for one, other in zip(a, b, strict=True))
    only_b = sum(other and not one for one, other in zip(a, b, strict=True))
    p = float(binomtest(only_a, only_a + only_b, 0.5).pvalue) if only_a + only_b else 1.0
    return McNemar(only_a, only_b, p)


def ratio_difference(
    above: tuple[Sequence[float], Sequence[float]],
    below: tuple[Sequence[float], Sequence[float]],
    clusters: Sequence[str],
) -> tuple[float, float, float]:
    """Return (difference, low, high) of two ratios of sums, such as dollars per right answer of A and of B.

    A paired bootstrap over clusters: each draw takes the same clusters for both, numerators and denominators together.
    Not a number where one of them has nothing below the line in all of the data.
    """
    sums = [[cluster_sums(values, clusters) for values in pair] for pair in (above, below)]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(sums[0][0].sum() / sums[1][0].sum() - sums[0][1].sum() / sums[1][1].sum())
        drawn = resampled_ratio(sums[0][0], sums[1][0]) - resampled_ratio(sums[0][1], sums[1][1])
    low, high = percentiles(drawn, len(sums[0][0]))
    return value, low, high
