"""Two policies on the same tasks: what differs, how surely, and what it would take to see half of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from eval.records import Header, Line
from eval.statistics import (
    Difference,
    Estimate,
    McNemar,
    mcnemar,
    paired_difference,
    ratio_difference,
    share_difference,
    tasks_needed,
)
from eval.storage import read_results
from eval.summary import TaskScore, known_costs, task_scores
from toolscale.errors import UsageError

Verdict = Literal["better", "worse", "no difference shown"]


@dataclass(frozen=True)
class Change:
    """A task that one has right and the other has not."""

    task: str
    cluster: str
    a: float
    b: float


@dataclass(frozen=True)
class Comparison:
    """A less B, over the tasks that both have a score for."""

    a: str
    b: str
    benchmark: str
    tasks: int
    only_a: int
    """Scored tasks that only A did; they are not compared."""
    only_b: int
    accuracy: Difference
    mean_a: float
    mean_b: float
    mcnemar: McNemar
    cost: Estimate | None
    """Dollars of a task, A less B."""
    latency: Estimate
    utility: Estimate | None
    """None where the users' weights are not known."""
    per_right: tuple[float, float, float] | None
    """Dollars for each right answer, A less B, with its interval; None where one of them has nothing right."""
    needed: int | None
    """Tasks of this kind that show half of the difference with power 0.8; None where there is none."""
    changed: tuple[Change, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether A is better or worse with 95 % confidence."""
        found = self.accuracy.estimate
        if found.method == "none":
            return "no difference shown"
        return "better" if found.low > 0 else "worse" if found.high < 0 else "no difference shown"


def compare_folders(a: Path, b: Path) -> Comparison:
    """Compare the results in two folders. UsageError if one holds none, or if they have no task in common."""
    (header_a, lines_a), (header_b, lines_b) = read_results(a), read_results(b)
    return compare(header_a, lines_a, header_b, lines_b)


def compare(header_a: Header, lines_a: Sequence[Line], header_b: Header, lines_b: Sequence[Line]) -> Comparison:
    """Compare two policies; tasks are the same where all of them is, prices and wishes too."""
    all_a, all_b = ({each.task_hash: each for each in task_scores(lines)} for lines in (lines_a, lines_b))
    common = [key for key in all_a if key in all_b]
    if not common:
        raise UsageError(
            f"{header_a.policy} on {header_a.benchmark} ({len(all_a)} tasks) and {header_b.policy} on "
            f"{header_b.benchmark} ({len(all_b)}) have no task in common; run both with the same settings"
        )
    one, other = [all_a[key] for key in common], [all_b[key] for key in common]
    clusters = [each.cluster for each in one]

    def difference(of: Callable[[TaskScore], float]) -> Difference:
        return paired_difference([of(each) for each in one], [of(each) for each in other], clusters)

    costs = known_costs(one), known_costs(other)
    estimate = share_difference([each.score for each in one], [each.score for each in other], clusters)
    accuracy = replace(difference(lambda each: each.score), estimate=estimate)
    right = [[each.score > 0.5 for each in scores] for scores in (one, other)]
    delta, error = estimate.value / 2, estimate.error
    return Comparison(
        a=header_a.policy,
        b=header_b.policy,
        benchmark=header_a.benchmark,
        tasks=len(common),
        only_a=len(all_a) - len(common),
        only_b=len(all_b) - len(common),
        accuracy=accuracy,
        mean_a=sum(each.score for each in one) / len(one),
        mean_b=sum(each.score for each in other) / len(other),
        mcnemar=mcnemar(*right),
        cost=paired_difference(*costs, clusters).estimate if all(costs) else None,
        latency=difference(lambda each: each.latency_s).estimate,
        utility=difference(lambda each: each.utility or 0.0).estimate
        if all(each.utility is not None for each in (*one, *other))
        else None,
        per_right=_per_right(one, other, costs, clusters),
        needed=tasks_needed(delta, error, len(common)) if delta and error else None,
        changed=tuple(
            Change(each.task, each.cluster, each.score, its.score)
            for each, its in zip(one, other, strict=True)
            if (each.score > 0.5) != (its.score > 0.5)
        ),
    )


def told(comparison: Comparison) -> list[str]:
    """Return the comparison in lines of words."""
    found, a, b = comparison, comparison.a, comparison.b
    estimate = found.accuracy.estimate
    alone = ", of one cluster alone, which shows nothing" if estimate.method == "none" else ""
    lines = [
        f"{found.benchmark}: {found.tasks} tasks in {estimate.clusters} clusters that both did"
        + (f"; {found.only_a} only {a}, {found.only_b} only {b}" if found.only_a or found.only_b else ""),
        f"right: {a} {found.mean_a:.1%}, {b} {found.mean_b:.1%}; difference {points(estimate)}{alone}",
        f"standard errors {100 * found.accuracy.error_a:.1f} and {100 * found.accuracy.error_b:.1f}, paired "
        f"{100 * estimate.error:.1f}; correlation over tasks {found.accuracy.correlation:.2f}",
        f"McNemar: {found.mcnemar.only_a} only {a}, {found.mcnemar.only_b} only {b}, p = {found.mcnemar.p:.3g}",
        f"cents of a task: {_signed(found.cost, 100, 3)}; seconds: {_signed(found.latency, 1, 1)}"
        + ("" if found.utility is None else f"; utility: {_signed(found.utility, 1, 3)}"),
    ]
    if found.per_right is not None:
        value, low, high = (100 * each for each in found.per_right)
        lines.append(f"cents for each right answer: {value:+.3f} ({low:+.3f} to {high:+.3f})")
    if found.needed is not None:
        half = 100 * abs(estimate.value) / 2
        lines.append(f"to see half of it ({half:.1f} points) takes {found.needed:,} such tasks (power 0.8)")
    return [*lines, f"{a} is {found.verdict}" if found.verdict != "no difference shown" else found.verdict]


def points(estimate: Estimate) -> str:
    """Return a difference of shares in points, with its interval."""
    value, low, high = (100 * each for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})"


def _signed(estimate: Estimate | None, scale: float, digits: int) -> str:
    if estimate is None:
        return "not known"
    value, low, high = (scale * each for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def _per_right(
    one: Sequence[TaskScore],
    other: Sequence[TaskScore],
    costs: tuple[Sequence[float], Sequence[float]],
    clusters: Sequence[str],
) -> tuple[float, float, float] | None:
    right = [[each.score for each in scores] for scores in (one, other)]
    if not all(map(sum, right)) or not all(costs):
        return None
    return ratio_difference(costs, (right[0], right[1]), clusters)
