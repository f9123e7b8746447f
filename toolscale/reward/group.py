"""From rewards of one group to advantages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Scale = Literal["group", "none"]
"""What advantages are divided by: the standard deviation of the group, or nothing."""


def deviation(rewards: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1 below the line, as torch.std and the usual GRPO code have it), 0 for
    equal rewards or one."""
    if len(rewards) < 2 or min(rewards) == max(rewards):
        return 0.0
    mean = math.fsum(rewards) / len(rewards)
    return math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1))


def advantages(rewards: Sequence[float], scale: Scale = "group") -> list[float]:
    """Return (R - mean) / std for each reward of a group; zeros where std is 0 (all equal, or a group of one).

    With scale "none" it is R - mean (Dr. GRPO, arXiv 2503.20783): a group that hardly differs counts for little,
    instead of as much as any other.
    """
    std = deviation(rewards)
    if std == 0:
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    unit = std if scale == "group" else 1.0
    return [(reward - mean) / unit for reward in rewards]


def keep_group(rewards: Sequence[float], least_std: float = 0.1) -> bool:
    """Whether the rewards of a group differ enough to learn from: their standard deviation is not below `least_std`,
    and not 0."""
    std = deviation(rewards)
    return std > 0 and std >= least_std
