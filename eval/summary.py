"""What the lines of one policy say: every figure of the table, with its interval where it has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from eval.calibration import Calibration, calibration
from eval.kinship import Kinship, kinship
from eval.records import Header, Line
from eval.statistics import Estimate, mean_interval, pass_hat_k, ratio_interval
from toolscale.records.dollars import dollars_of

OWN = "own tokens"
"""Of the policy, where dollars are told apart."""


@dataclass(frozen=True)
class TaskScore:
    """One task: the means of its samples."""

    task: str
    task_hash: str
    cluster: str
    groups: Mapping[str, str]
    score: float
    cost_usd: float | None
    """None where it is not known of all samples."""
    latency_s: float
    samples: int
    right: int
    utility: float | None
    """None where the user's weights are not known; so is the regret."""
    regret: float | None


@dataclass(frozen=True)
class Summary:
    """One policy on one benchmark."""

    policy: str
    benchmark: str
    tasks: int
    """That have a score."""
    lines: int
    unscored: int
    errors: int
    accuracy: Estimate | None
    """None where nothing is scored; so are the figures after it."""
    utility: Estimate | None = None
    regret: Estimate | None = None
    cost: Estimate | None = None
    """Dollars of a task, simulated ones included; None, as all that is about dollars, where no price is known."""
    cost_median: float | None = None
    cost_p90: float | None = None
    latency: Estimate | None = None
    latency_median: float = 0.0
    latency_p90: float = 0.0
    own_cost_share: float | None = None
    """Of the dollars, what the policy's own tokens took."""
    per_right: tuple[float, float, float] | None = None
    """Dollars for each right answer, with its interval; None where nothing is right."""
    pass_hat: dict[int, Estimate] = field(default_factory=dict)
    """k -> pass^k, as far as every task has k samples."""
    uses: dict[str, float] = field(default_factory=dict)
    """Expert or tool -> calls for each rollout."""
    failures: dict[str, int] = field(default_factory=dict)
    malformed: int = 0
    """Lines with a turn that could not be read."""
    groups: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """What is counted -> value -> accuracy."""
    calibration: Calibration | None = None
    kinship: Kinship | None = None
    """Whether it prefers its own family's name; None where no expert bears a model's name."""


def task_scores(lines: Sequence[Line]) -> list[TaskScore]:
    """Return one score for each task that has a scored line, in the order of the lines. Question-level means already
    hold the noise of sampling: samples never count as independent."""
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        if line.score is not None:
            grouped.setdefault(line.task_hash, []).append(line)
    return [_score(group) for group in grouped.values()]


def summarize(header: Header, lines: Sequence[Line]) -> Summary:
    """Return what the lines of a policy say."""
    scores, status = task_scores(lines), Counter(line.status for line in lines)
    nothing = Summary(
        policy=header.policy,
        benchmark=header.benchmark,
        tasks=0,
        lines=len(lines),
        unscored=status["unscored"],
        errors=status["error"],
        accuracy=None,
    )
    if not scores:
        return nothing
    scored = [line for line in lines if line.score is not None]
    clusters = [each.cluster for each in scores]
    costs, seconds = known_costs(scores), [each.latency_s for each in scores]
    return replace(
        nothing,
        tasks=len(scores),
        accuracy=mean_interval([each.score for each in scores], clusters, share=True),
        utility=_where_known(scores, lambda each: each.utility),
        regret=_where_known(scores, lambda each: each.regret),
        cost=mean_interval(costs, clusters) if costs else None,
        cost_median=float(np.median(costs)) if costs else None,
        cost_p90=float(np.quantile(costs, 0.9)) if costs else None,
        latency=mean_interval(seconds, clusters),
        latency_median=float(np.median(seconds)),
        latency_p90=float(np.quantile(seconds, 0.9)),
        own_cost_share=_own_share(scored),
        per_right=_per_right(scores, costs, clusters),
        pass_hat=_pass_hat(scores, clusters),
        uses=_uses(scored),
        failures=dict(Counter(line.failure for line in scored if line.failure is not None).most_common()),
        malformed=sum(line.malformed > 0 for line in scored),
        groups=_groups(scores),
        calibration=calibration(scored),
        kinship=kinship(lines),
    )


def _score(group: Sequence[Line]) -> TaskScore:
    first, count = group[0], len(group)

    def mean(of: Callable[[Line], float]) -> float:
        return sum(of(line) for line in group) / count

    dollars = dollars_of(line.cost_usd for line in group)
    utility = None if first.utility is None else mean(lambda line: line.utility or 0.0)
    return TaskScore(
        task=first.task,
        task_hash=first.task_hash,
        cluster=first.cluster,
        groups=first.groups,
        score=mean(lambda line: line.score or 0.0),
        cost_usd=None if dollars is None else dollars / count,
        latency_s=mean(lambda line: line.latency_s),
        samples=count,
        right=sum(line.score == 1 for line in group),
        utility=utility,
        regret=None if first.best is None or utility is None else first.best - utility,
    )


def _where_known(scores: Sequence[TaskScore], of: Callable[[TaskScore], float | None]) -> Estimate | None:
    known = [(value, each.cluster) for each in scores if (value := of(each)) is not None]
    return mean_interval([value for value, _ in known], [cluster for _, cluster in known]) if known else None


def known_costs(scores: Sequence[TaskScore]) -> list[float]:
    """Return the dollars of each task; empty where they are not known of all."""
    costs = [each.cost_usd for each in scores if each.cost_usd is not None]
    return costs if len(costs) == len(scores) else []


def _own_share(lines: Sequence[Line]) -> float | None:
    own, total = dollars_of(each.own_cost_usd for each in lines), dollars_of(each.cost_usd for each in lines)
    return None if own is None or total is None else own / total if total else 0.0


def _per_right(
    scores: Sequence[TaskScore], costs: Sequence[float], clusters: Sequence[str]
) -> tuple[float, float, float] | None:
    right = [each.score for each in scores]
    if not sum(right) or not costs:
        return None
    return sum(costs) / sum(right), *ratio_interval(costs, right, clusters)


def _pass_hat(scores: Sequence[TaskScore], clusters: Sequence[str]) -> dict[int, Estimate]:
    most = min(each.samples for each in scores)
    return {
        k: mean_interval([pass_hat_k(each.samples, each.right, k) for each in scores], clusters, share=True)
        for k in range(1, most + 1)
    }


def _uses(lines: Sequence[Line]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.uses)
    return {name: count / len(lines) for name, count in counts.most_common()}


def _groups(scores: Sequence[TaskScore]) -> dict[str, dict[str, Estimate]]:
    """Return the accuracy of each value of each group; of groups with one value alone nothing is said."""
    names = list(dict.fromkeys(name for each in scores for name in each.groups))
    found: dict[str, dict[str, Estimate]] = {}
    for name in names:
        values = sorted({each.groups[name] for each in scores if name in each.groups})
        if len(values) < 2:
            continue
        found[name] = {}
        for value in values:
            part = [each for each in scores if each.groups.get(name) == value]
            found[name][value] = mean_interval(
                [each.score for each in part], [each.cluster for each in part], share=True
            )
    return found
