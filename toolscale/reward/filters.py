"""Which samples are trained on, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolscale.records import NOT_ITS_DOING, Rollout
from toolscale.reward.group import advantages, keep_group
from toolscale.reward.kinds import RewardConfig


@dataclass(frozen=True, slots=True)
class FilterCounts:
    """What was looked at and what was left out. A sample counts once, for the first reason that holds, in the order of
    the fields.

    failed + undecided + homogeneous_samples + unparsable + unanswered + kept = samples.
    """

    groups: int = 0
    samples: int = 0
    failed: int = 0
    """Samples that ended for a reason that is not the policy's: a server, a sandbox, the clock, a person who erred."""
    undecided: int = 0
    """Samples whose final message rules cannot grade, and no judge has read."""
    homogeneous_groups: int = 0
    """Groups whose rewards hardly differ: all of their samples are left out."""
    homogeneous_samples: int = 0
    unparsable: int = 0
    """Samples with a turn that could not be read as a message or as calls."""
    unanswered: int = 0
    """Samples without a final message, or with an empty one, that are not there to be done less."""
    kept: int = 0

    def __add__(self, other: FilterCounts) -> FilterCounts:
        return FilterCounts(*(getattr(self, name) + getattr(other, name) for name in FilterCounts.__slots__))


@dataclass(frozen=True, slots=True)
class Selected:
    """A sample that is trained on: number of its group, number within the group, and its advantage within the whole
    group."""

    group: int
    member: int
    advantage: float


def select_samples(
    groups: Sequence[Sequence[tuple[Rollout, float]]], config: RewardConfig | None = None
) -> tuple[list[Selected], FilterCounts]:
    """Return which samples of groups of (rollout, reward) are trained on, in order, and counts of why the others are
    not.

    Mean and deviation are those of the whole group, but for rollouts that failed and those that nobody could grade: a
    sample that is left out still says how good its group was, if what became of it was the policy's doing, and is
    known.
    """
    config = config or RewardConfig()
    selected: list[Selected] = []
    counts = FilterCounts()
    for number, group in enumerate(groups):
        ended = [(member, rollout) for member, (rollout, _) in enumerate(group) if rollout.stop not in NOT_ITS_DOING]
        played = [each for each in ended if not (config.drop_undecided and each[1].undecided)]
        rewards = [group[member][1] for member, _ in played]
        counts += FilterCounts(groups=1, samples=len(group), failed=len(group) - len(ended))
        counts += FilterCounts(undecided=len(ended) - len(played))
        if not keep_group(rewards, config.least_std):
            counts += FilterCounts(homogeneous_groups=1, homogeneous_samples=len(played))
            continue
        some_answered = any(map(_answered, (rollout for _, rollout in ended)))
        for (member, rollout), advantage in zip(played, advantages(rewards, config.scale), strict=True):
            if config.drop_unparsable and rollout.malformed:
                counts += FilterCounts(unparsable=1)
            elif not _answered(rollout) and not _teaches(advantage, some_answered, config):
                counts += FilterCounts(unanswered=1)
            else:
                counts += FilterCounts(kept=1)
                selected.append(Selected(number, member, advantage))
    return selected, counts


def _answered(rollout: Rollout) -> bool:
    return bool((rollout.answer or "").strip())


def _teaches(advantage: float, some_answered: bool, config: RewardConfig) -> bool:
    """Whether a rollout without an answer is trained on. Where nobody of its group answered, there is nothing better to
    be seen, and the cheapest way round would count as good."""
    return config.unanswered == "keep" or (config.unanswered == "lower" and some_answered and advantage < 0)
