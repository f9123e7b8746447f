"""What a rollout is worth to the user who asked, and what the best open choice would have been worth."""

from __future__ import annotations

from collections.abc import Callable

from toolscale.records import Catalogue, Rollout, RolloutTask
from toolscale.reward import Figures, References, absolute_reward, figures_of
from toolscale.rollout import GIVE_UP, Outcome, actions, expected_utility, references


def utility_of(catalogue: Catalogue) -> Callable[[RolloutTask, Outcome], float]:
    """Return the utility of what can come of a choice: the absolute reward for the user's weights."""

    def utility(task: RolloutTask, outcome: Outcome) -> float:
        figures = Figures(outcome.right, outcome.cost_usd, outcome.latency_s)
        return absolute_reward(figures, task.preference, references_of(task, catalogue))

    return utility


def references_of(task: RolloutTask, catalogue: Catalogue) -> References:
    """Return one unit of cost and of latency for a task."""
    return References(*references(task, catalogue))


def utility_got(task: RolloutTask, rollout: Rollout, right: bool, catalogue: Catalogue) -> float:
    """Return what a rollout was worth."""
    found = figures_of(rollout)
    figures = Figures(right, found.cost_usd, found.latency_s, found.uses)
    return absolute_reward(figures, task.preference, references_of(task, catalogue))


def best_utility(task: RolloutTask, catalogue: Catalogue) -> float | None:
    """Return the expected utility of the best choice that a question leaves open, the orchestrator's own tokens not
    counted; None for environment tasks, and where an expert is not simulated: what comes of it is not known."""
    specs = {spec.name: spec for spec in catalogue.experts}
    if task.question is None or any(specs[each.expert].endpoint is not None for each in task.experts):
        return None
    worth = utility_of(catalogue)
    return max(expected_utility(task, action, catalogue, worth) for action in (*actions(task), GIVE_UP))
