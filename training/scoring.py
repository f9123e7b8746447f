"""From groups of rollouts to what is trained on: rewards, advantages and filters of `toolscale.reward`, with the
references of each task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from toolscale.models.pricing import pool_references
from toolscale.records import NOT_ITS_DOING, ExpertSpec, Rollout, RolloutTask
from toolscale.reward import FilterCounts, References, RewardConfig, Selected, figures_of, rewards_of, select_samples
from toolscale.rollout.actions import answers_of, price_at
from toolscale.rollout.prompt import CALL_EXPERT


@dataclass(frozen=True, slots=True)
class Scored:
    """Groups with their rewards, the samples that are trained on, and why the others are not."""

    rewards: list[list[float]]
    selected: list[Selected]
    counts: FilterCounts


def task_references(task: RolloutTask, experts: Mapping[str, ExpertSpec]) -> References:
    """Return one unit of cost and of latency for a task: the dollars of the dearest and the seconds of the slowest
    expert on offer, as expected for the whole task."""
    return pool_references(
        ((experts[each.expert], price_at(each)) for each in task.experts),
        task.category,
        answers_of(task),
        task.input_tokens,
    )


def penalized(
    group: Sequence[Rollout], rewards: Sequence[float], config: RewardConfig, denied: Collection[str] = ()
) -> list[float]:
    """Take `unusable_penalty` from rollouts with a turn that could not be read or a call of what is `denied`, or
    without an answer, and `unanswered_penalty` from those that a limit stopped."""
    return [
        reward
        - config.unusable_penalty * (rollout.malformed > 0 or rollout.stop != "answered" or tried(rollout, denied))
        - config.unanswered_penalty * (rollout.stop not in ("answered", *NOT_ITS_DOING))
        for rollout, reward in zip(group, rewards, strict=True)
    ]


def tried(rollout: Rollout, denied: Collection[str]) -> bool:
    """Whether the orchestrator called an expert or a basic tool that may not be used. Such a call is refused, and costs
    nothing but a turn. (Tools of a domain are called by experts too, who do not know what is denied.)"""
    everyone = CALL_EXPERT in denied
    called = [charge for charge in rollout.ledger if charge.kind in ("expert", "basic")]
    return any(charge.name in denied or (everyone and charge.kind == "expert") for charge in called)


def score_groups(
    tasks: Sequence[RolloutTask],
    groups: Sequence[Sequence[Rollout]],
    experts: Mapping[str, ExpertSpec],
    config: RewardConfig,
) -> Scored:
    """Reward each rollout and select those that are trained on. `experts`: the catalogue, by name."""
    rewards = [
        penalized(
            group,
            rewards_of(
                [figures_of(rollout) for rollout in group],
                task.preference,
                [*(offered.alias for offered in task.experts), *task.basic_tools],
                task_references(task, experts),
                config,
            ),
            config,
            task.limits.denied,
        )
        for task, group in zip(tasks, groups, strict=True)
    ]
    paired = [list(zip(group, values, strict=True)) for group, values in zip(groups, rewards, strict=True)]
    selected, counts = select_samples(paired, config)
    return Scored(rewards, selected, counts)
