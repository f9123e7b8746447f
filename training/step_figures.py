"""The figures of one step: what the rollouts of all ranks did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from toolscale.records import NOT_ITS_DOING, Rollout, RolloutTask
from training.processes import total, world_size
from training.sampler import ModelPolicy
from training.scoring import Scored

SHARES = ("reward", "right", "cost_usd", "latency_s", "malformed", "failed", "undecided", "at_limit")
"""Figures that are means over rollouts."""

DOMAIN = "domain"
"""What calls of a domain's tools are counted as."""


def describe(
    tasks: Sequence[RolloutTask],
    groups: Sequence[Sequence[Rollout]],
    scored: Scored,
    policy: ModelPolicy,
    names: Sequence[str],
) -> dict[str, Any]:
    """Means over the rollouts of a step, and counts. `names`: what can be called, by the names of the catalogue."""
    rollouts = [rollout for group in groups for rollout in group]
    rewards = [reward for group in scored.rewards for reward in group]
    charges = [charge for rollout in rollouts for charge in rollout.ledger]
    counts = scored.counts
    sums = total(
        {
            "rollouts": len(rollouts),
            "reward": sum(rewards),
            "squares": sum(reward * reward for reward in rewards),
            "right": sum(rollout.right for rollout in rollouts),
            "cost_usd": sum(rollout.cost_usd for rollout in rollouts),
            "latency_s": sum(rollout.latency_s for rollout in rollouts),
            "malformed": sum(rollout.malformed > 0 for rollout in rollouts),
            "failed": sum(rollout.stop in NOT_ITS_DOING for rollout in rollouts),
            "undecided": sum(rollout.undecided for rollout in rollouts),
            "at_limit": sum(rollout.stop not in ("answered", *NOT_ITS_DOING) for rollout in rollouts),
            "turns": sum(charge.kind == "orchestrator" for charge in charges),
            "groups": counts.groups,
            "groups_kept": len({each.group for each in scored.selected}),
            "samples_kept": counts.kept,
            "cut": policy.take_cut(),
            "tokens": sum(charge.output_tokens for charge in charges if charge.kind == "orchestrator"),
            "offered": sum(len(task.experts) + len(task.basic_tools) for task in tasks)
            / max(1, len(tasks))
            / world_size(),
        }
    )
    many = max(1.0, sums["rollouts"])
    means = {name: sums[name] / many for name in SHARES}
    whole = {name: int(sums[name]) for name in ("groups", "groups_kept", "samples_kept", "turns", "cut", "tokens")}
    spread = math.sqrt(max(0.0, sums["squares"] / many - means["reward"] ** 2))
    spread = 0.0 if spread < 1e-7 else spread  # what is left of equal rewards after rounding
    return {
        **means,
        "reward_std": spread,
        **whole,
        "offered": sums["offered"],
        "calls": count_calls(tasks, groups, names),
    }


def count_calls(
    tasks: Sequence[RolloutTask], groups: Sequence[Sequence[Rollout]], names: Sequence[str]
) -> dict[str, int]:
    """Expert of the catalogue, basic tool or `domain` -> calls without an error, over all ranks. Aliases differ from
    task to task."""
    counts = dict.fromkeys(names, 0)
    for task, group in zip(tasks, groups, strict=True):
        experts = {offered.alias: offered.expert for offered in task.experts}
        for rollout in group:
            for name, count in rollout.uses().items():
                known = experts.get(name, name)
                counts[known if known in counts else DOMAIN] += count
    return {
        name: int(count)
        for name, count in total({name: float(count) for name, count in counts.items()}).items()
        if count
    }
