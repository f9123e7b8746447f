"""What a rollout is worth: pure functions from what it did, what was wished for, and what its group did."""

from toolscale.models.pricing import NO_EXPERTS, References, references_of
from toolscale.reward.filters import FilterCounts, Selected, select_samples
from toolscale.reward.group import advantages, deviation, keep_group
from toolscale.reward.kinds import (
    RewardConfig,
    absolute_reward,
    efficiency_reward,
    heeded,
    outcome_reward,
    paper_rewards,
    rewards_of,
)
from toolscale.reward.measures import Figures, figures_of

__all__ = [
    "NO_EXPERTS", "Figures", "FilterCounts", "References", "RewardConfig", "Selected", "absolute_reward", "advantages",
    "deviation", "efficiency_reward", "figures_of", "heeded", "keep_group", "outcome_reward", "paper_rewards",
    "references_of", "rewards_of", "select_samples",
]  # fmt: skip
