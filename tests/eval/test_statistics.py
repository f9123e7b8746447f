"""Every formula against figures worked out by hand, against another way to compute it, and against a library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eval.calibration import calibration_error
from eval.statistics import (
    Estimate,
    McNemar,
    clustered_error,
    mcnemar,
    mean_interval,
    paired_difference,
    pass_hat_k,
    ratio_difference,
    ratio_interval,
    tasks_needed,
    wilson,
)
from eval.statistics.clusters import percentiles
from toolscale.errors import UsageError


@pytest.mark.parametrize(
    ("right", "tasks", "low", "high"),
    [(200, 200, 0.981, 1.0), (0, 50, 0.0, 0.071), (0, 200, 0.0, 0.019), (8, 10, 0.490, 0.943)],
)
def test_wilson_is_the_formula(right: int, tasks: int, low: float, high: float) -> None:
    p, z = right / tasks, 1.959964
    centre = (p + z * z / (2 * tasks)) / (1 + z * z / tasks)
    half = z / (1 + z * z / tasks) * math.sqrt(p * (1 - p) / tasks + z * z / (4 * tasks**2))
    assert wilson(right, tasks) == pytest.approx((centre - half, centre + half), abs=1e-6)
    assert wilson(right, tasks) == pytest.approx((low, high), abs=5e-4)


def test_wilson_refuses_what_is_no_proportion() -> None:
    with pytest.raises(UsageError, match="3 of 2 is no proportion"):
        wilson(3, 2)


def test_the_clustered_error_by_hand() -> None:
    # mean 0.5; sums of deviations 1.0 and -1.0; two clusters; sqrt(2/1 (1 + 1)) / 4
    assert clustered_error([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(2 / 4)
    # every task alone: the plain error
    assert clustered_error([1, 1, 0, 0], ["a", "b", "c", "d"]) == pytest.approx(stats.sem([1, 1, 0, 0]))
    assert clustered_error([1, 0], ["a", "a"]) == 0


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1)), min_size=2, max_size=30))
def test_the_clustered_error_is_millers_double_sum(drawn: list[tuple[str, float]]) -> None:
    clusters, values = [cluster for cluster, _ in drawn], [value for _, value in drawn]
    mean, n = sum(values) / len(values), len(values)
    total = sum(
        (one - mean) * (other - mean)
        for place, one in enumerate(values)
        for number, other in enumerate(values)
        if clusters[place] == clusters[number]
    )
    count = len(set(clusters))
    factor = count / (count - 1) if count > 1 else 0
    assert (n * clustered_error(values, clusters)) ** 2 == pytest.approx(factor * total, abs=1e-9)


def test_clusters_have_a_t_interval() -> None:
    clusters = [str(number // 2) for number in range(50)]
    values = [float(number % 3 == 0) for number in range(50)]
    half = stats.t.ppf(0.975, 24) * clustered_error(values, clusters)
    assert mean_interval(values, clusters) == Estimate(
        0.34, 0.34 - half, 0.34 + half, clustered_error(values, clusters), 50, 25, "t"
    )


@pytest.mark.parametrize("clusters", [3, 8, 19])
def test_the_interval_of_few_clusters_holds_the_truth(clusters: int) -> None:
    rng = np.random.default_rng(11)
    names = [str(number // 2) for number in range(2 * clusters)]
    held = 0
    for _ in range(1_000):
        values = np.repeat(rng.normal(size=clusters), 2) + rng.normal(size=2 * clusters)
        found = mean_interval(values.tolist(), names)
        held += found.low <= 0 <= found.high
    assert held >= 0.925 * 1_000  # percentiles of a bootstrap: 0.75, 0.89 and 0.93 of them


def test_the_tails_of_a_bootstrap_are_wider_for_few() -> None:
    drawn = np.arange(10_000.0)
    assert percentiles(drawn, 10_000) == (249, 9750)
    assert percentiles(drawn, 10) == (85, 9914)
    assert percentiles(drawn, 2) == (0, 9999)


def test_a_share_without_failures_has_a_width_by_its_clusters() -> None:
    clusters = [str(number // 10) for number in range(300)]
    found = mean_interval([1.0] * 300, clusters, share=True)
    assert (found.low, found.high, found.method) == (*wilson(30, 30), "wilson")


def test_tasks_on_their_own_have_wilsons_interval() -> None:
    found = mean_interval([1.0, 0.0, 1.0, 1.0], list("abcd"), share=True)
    assert (found.value, found.low, found.high) == (0.75, *wilson(3, 4))


def test_one_cluster_says_nothing() -> None:
    assert mean_interval([0.0, 1.0], ["a", "a"]).method == "none"


def test_the_error_of_a_difference_is_that_of_its_parts_less_what_they_share() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 400).astype(float)
    b = np.where(rng.random(400) < 0.8, a, 1 - a)
    found = paired_difference(a.tolist(), b.tolist(), [str(number) for number in range(400)])
    parts = found.error_a**2 + found.error_b**2 - 2 * found.error_a * found.error_b * found.correlation
    assert found.estimate.error == pytest.approx(math.sqrt(parts))
    assert found.estimate.value == pytest.approx(a.mean() - b.mean())
    assert found.estimate.error == pytest.approx(stats.sem(a - b))
    low, high = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((low, high))


def test_pairs_must_be_of_the_same_tasks() -> None:
    with pytest.raises(UsageError, match="2 scores against 1"):
        paired_difference([1, 0], [1], ["a", "b"])


def test_mcnemar_is_twice_the_tail_of_a_coin() -> None:
    a = [True] * 9 + [False] * 2 + [True] * 20
    b = [False] * 9 + [True] * 2 + [True] * 20
    assert mcnemar(a, b) == McNemar(9, 2, pytest.approx(2 * stats.binom.cdf(2, 11, 0.5)))
    assert mcnemar([True], [True]) == McNemar(0, 0, 1.0)
    assert mcnemar([True, False], [False, True]).p == 1.0


def test_a_ratio_keeps_both_of_its_parts_together() -> None:
    # Two dollars for each right answer in every cluster: no draw gives anything else.
    assert ratio_interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], ["a", "b", "c"]) == (2.0, 2.0)
    # One cluster of three has nothing right: a draw of it alone has no dollars for a right answer.
    low, high = ratio_interval([1.0, 1.0, 1.0], [1.0, 1.0, 0.0], ["a", "b", "c"])
    assert (low, high) == (1.0, math.inf)


def test_a_difference_of_ratios_is_paired() -> None:
    right, clusters = [1.0, 2.0, 1.0, 3.0], ["a", "b", "c", "d"]
    costs = [1.0, 5.0, 2.0, 4.0]
    value, low, high = ratio_difference(
        ([cost + 2 * count for cost, count in zip(costs, right, strict=True)], costs), (right, right), clusters
    )
    assert (value, low, high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(("samples", "right", "k"), [(5, 2, 1), (5, 2, 3), (8, 8, 4), (6, 0, 2), (4, 1, 4)])
def test_pass_hat_k_counts_all_subsets(samples: int, right: int, k: int) -> None:
    from itertools import combinations

    subsets = list(combinations([True] * right + [False] * (samples - right), k))
    assert pass_hat_k(samples, right, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


def test_one_sample_has_no_pass_4() -> None:
    with pytest.raises(UsageError, match="4 of 1 samples cannot be drawn; take 4 samples of each task at least"):
        pass_hat_k(1, 1, 4)


@pytest.mark.parametrize(("delta", "samples", "tasks"), [(0.03, 1, 3876), (0.05, 1, 1396), (0.03, 10, 1260)])
def test_the_sizes_of_millers_example(delta: float, samples: int, tasks: int) -> None:
    # The true differences of tasks vary by 1/9, the samples of each by 1/6 for either policy.
    error = math.sqrt((1 / 9 + 2 / 6 / samples) / 100)
    assert abs(tasks_needed(delta, error, 100) - tasks) <= 1


def test_tasks_needed_take_the_error_as_it_was_measured() -> None:
    assert tasks_needed(0.1, 0.05, 100) == 197  # with an error of 5 points the variance of a task is 0.25


def test_calibration_over_all_bins_and_as_hle_has_it() -> None:
    # Two bins of 100: confidence 0.2 with 40 right, then 0.9 with 50 right.
    confidences, right = [0.2] * 100 + [0.9] * 100, [True] * 40 + [False] * 60 + [True] * 50 + [False] * 50
    assert calibration_error(confidences, right) == pytest.approx(math.sqrt(0.5 * 0.2**2 + 0.5 * 0.4**2))
    assert calibration_error(confidences, right, without_last=True) == pytest.approx(math.sqrt(0.5 * 0.2**2))
