"""Whether a policy prefers experts that bear a name of its own family: what the name does, and what that costs.

What is compared is the same expert in the same offer of the same question, under three names. The effect over neutral
names holds what any well-known name does; that over another family's name is what is due to the own one alone:
(own - neutral) - (other - neutral), in which neutral falls out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eval.naming import ARM, NEUTRAL, OTHER, OWN
from eval.records import Line
from eval.statistics import Estimate, mean_interval, paired_difference, ratio_difference, share_difference, share_moved

Interval = tuple[float, float, float]
"""(value, low, high), 95 %."""


@dataclass(frozen=True)
class Kinship:
    """One policy. Shares are of the rollouts in which an expert bears the name, each expert as often; a question counts
    once, whatever its samples and experts, and is a cluster."""

    questions: int
    """With scored lines under all names."""
    left_out: int
    """Questions without: their pairs are not whole."""
    asked_first: Mapping[str, Estimate] | None = None
    """Kind of name -> how often its bearer is the first expert that is asked. None, as all that follows, where no
    expert was ever asked: then nothing is known."""
    over_neutral: Estimate | None = None
    """Own less neutral, of these."""
    over_other: Estimate | None = None
    """Own less other family: self-preference."""
    moved: Interval | None = None
    """`over_other`, as a share of what could move: the first calls that do not go to the bearer of another family's
    name."""
    calls_over_neutral: Interval | None = None
    """Of all calls of experts, the share that goes to the bearer, own less neutral; None where nobody is asked under
    one of both."""
    calls_over_other: Interval | None = None
    right: Estimate | None = None
    """What it costs: right answers with the own name on an expert, less those with another family's."""
    cost: Estimate | None = None
    """Dollars of a task."""
    utility: Estimate | None = None
    """Regret differs by as much, with the other sign: the best choice is the same under all names."""


@dataclass(frozen=True)
class _Arm:
    """One question under one kind of name: means over the experts that bear it, of means over samples."""

    first: float
    named: float
    """Calls of the bearer."""
    calls: float
    """Calls of all experts."""
    right: float
    cost: float | None
    utility: float | None


def kinship(lines: Sequence[Line]) -> Kinship | None:
    """Return what the lines say; None if no expert bears a model's name in them."""
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        if ARM in line.groups and (line.bearer is not None or line.groups[ARM] == NEUTRAL):
            grouped.setdefault(line.cluster, []).append(line)
    if not grouped:
        return None
    whole = {name: arms for name, group in grouped.items() if (arms := _arms(group)) is not None}
    nothing = Kinship(len(whole), len(grouped) - len(whole))
    if not any(line.first is not None for line in lines if line.cluster in whole):
        return nothing
    return _measured(nothing, whole)


def _measured(nothing: Kinship, whole: Mapping[str, Mapping[str, _Arm]]) -> Kinship:
    clusters = list(whole)

    def of(kind: str, what: Callable[[_Arm], float]) -> list[float]:
        return [what(whole[name][kind]) for name in clusters]

    def calls(kind: str) -> Interval | None:
        named = of(OWN, lambda arm: arm.named), of(kind, lambda arm: arm.named)
        every = of(OWN, lambda arm: arm.calls), of(kind, lambda arm: arm.calls)
        return ratio_difference(named, every, clusters) if all(map(sum, every)) else None

    def cost(what: Callable[[_Arm], float]) -> Estimate:
        return paired_difference(of(OWN, what), of(OTHER, what), clusters).estimate

    first = {kind: of(kind, lambda arm: arm.first) for kind in (OWN, NEUTRAL, OTHER)}
    right = [of(kind, lambda arm: arm.right) for kind in (OWN, OTHER)]
    arms = [arm for arms in whole.values() for arm in arms.values()]
    is_worth, is_priced = all(arm.utility is not None for arm in arms), all(arm.cost is not None for arm in arms)
    return Kinship(
        questions=nothing.questions,
        left_out=nothing.left_out,
        asked_first={kind: mean_interval(values, clusters, share=True) for kind, values in first.items()},
        over_neutral=share_difference(first[OWN], first[NEUTRAL], clusters),
        over_other=share_difference(first[OWN], first[OTHER], clusters),
        moved=share_moved(first[OWN], first[OTHER], clusters),
        calls_over_neutral=calls(NEUTRAL),
        calls_over_other=calls(OTHER),
        right=share_difference(right[0], right[1], clusters),
        cost=cost(lambda arm: arm.cost or 0.0) if is_priced else None,
        utility=cost(lambda arm: arm.utility or 0.0) if is_worth else None,
    )


def _arms(group: Sequence[Line]) -> dict[str, _Arm] | None:
    """Return what a question came to under each kind of name; None unless all its experts bore both names, and neutral
    ones, in lines with a score."""
    bearers = list(dict.fromkeys(line.bearer for line in group if line.bearer is not None))
    scored = [line for line in group if line.score is not None]
    neutral = [line for line in scored if line.groups[ARM] == NEUTRAL]
    played = {
        kind: [[line for line in scored if (line.groups[ARM], line.bearer) == (kind, bearer)] for bearer in bearers]
        for kind in (OWN, OTHER)
    }
    played[NEUTRAL] = [neutral for _ in bearers]
    if not bearers or not all(each for lines in played.values() for each in lines):
        return None
    return {kind: _arm(lines, bearers) for kind, lines in played.items()}


def _arm(played: Sequence[Sequence[Line]], bearers: Sequence[str]) -> _Arm:
    """`played`: the lines in which each of the bearers has the name, in their order."""

    def mean(of: Callable[[Line, str], float]) -> float:
        each = [
            sum(of(line, bearer) for line in lines) / len(lines) for bearer, lines in zip(bearers, played, strict=True)
        ]
        return sum(each) / len(each)

    is_worth = all(line.utility is not None for lines in played for line in lines)
    is_priced = all(line.cost_usd is not None for lines in played for line in lines)
    return _Arm(
        first=mean(lambda line, bearer: float(line.first == bearer)),
        named=mean(lambda line, bearer: line.uses.get(bearer, 0)),
        calls=mean(lambda line, _: sum(line.uses.get(name, 0) for name in bearers)),
        right=mean(lambda line, _: line.score or 0.0),
        cost=mean(lambda line, _: line.cost_usd or 0.0) if is_priced else None,
        utility=mean(lambda line, _: line.utility or 0.0) if is_worth else None,
    )
