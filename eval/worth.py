"""What a rollout is worth to the user who asked, and what the best open choice would have been worth."""

from __future__ import annotations

from toolscale.records import Catalogue, Rollout, RolloutTask
from toolscale.reward import Figures, References, absolute_reward, figures_of
from toolscale.rollout.actions import GIVE_UP, Outcome, actions, references
from toolscale.rollout.scripted import expected_utility


class Worth:
    """Utilities with the experts of one catalogue. References and best choices are kept by the id of the task: every
    policy asks for them again."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._specs = {spec.name: spec for spec in catalogue.experts}
        self._references: dict[str, References] = {}
        self._best: dict[str, float | None] = {}

    def utility(self, task: RolloutTask, outcome: Outcome) -> float:
        """Return the utility of what can come of a choice: the absolute reward for the user's weights."""
        figures = Figures(outcome.right, outcome.cost_usd, outcome.latency_s, dict.fromkeys(outcome.used, 1))
        return absolute_reward(figures, task.preference, self.references(task))

    def got(self, task: RolloutTask, rollout: Rollout, *, right: bool) -> float | None:
        """Return what a rollout was worth, None where its dollars are not known; `right`: as it was graded here."""
        if rollout.cost_usd is None:
            return None
        found = figures_of(rollout)
        figures = Figures(right, found.cost_usd, found.latency_s, found.uses)
        return absolute_reward(figures, task.preference, self.references(task))

    def best(self, task: RolloutTask) -> float | None:
        """Return the expected utility of the best choice that a question leaves open, the orchestrator's own tokens not
        counted; None for environment tasks, and where an expert is not simulated: what comes of it is not known."""
        if task.id not in self._best:
            self._best[task.id] = self._find_best(task)
        return self._best[task.id]

    def references(self, task: RolloutTask) -> References:
        """Return one unit of cost and of latency for a task."""
        if task.id not in self._references:
            self._references[task.id] = References(*references(task, self._catalogue))
        return self._references[task.id]

    def _find_best(self, task: RolloutTask) -> float | None:
        if task.question is None or any(self._specs[each.expert].endpoint is not None for each in task.experts):
            return None
        choices = (*actions(task), GIVE_UP)
        return max(expected_utility(task, action, self._catalogue, self.utility) for action in choices)
