"""Policies without a model: the baselines that training is measured against, through the same loop as everything
else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.models.pricing import expected_cost
from toolscale.records import Catalogue, Price, RolloutTask, TokenTrace
from toolscale.rollout.actions import (
    GIVE_UP,
    WAYS,
    Action,
    Outcome,
    actions,
    expected_figures,
    offered_specs,
    price_at,
)
from toolscale.rollout.policy import Message, Tool, Turn
from toolscale.rollout.prompt import CALL_EXPERT

Choose = Callable[[RolloutTask, int], Action]
"""(task, sample) -> what to do."""

FREE = Price(input=0.0, output=0.0)

NOT_KNOWN = "I could not find the answer."


@dataclass(frozen=True)
class ScriptedPolicy:
    """Does what `choose` says: one decision a task, carried out to the end."""

    name: str
    choose: Choose
    price: Price = FREE

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> ScriptedSession:
        """Begin a conversation."""
        return ScriptedSession(task, self.choose(task, sample))


class ScriptedSession:
    """One conversation of a scripted policy. Its messages take no tokens and no time."""

    def __init__(self, task: RolloutTask, action: Action) -> None:
        self._task, self._action, self._turns = task, action, 0

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Make the calls of the action; after them, answer with what came back, or hand over again."""
        self._turns += 1
        refused = bool(observations) and _is_error(observations[0])  # what comes after it is the expert's affair
        if self._action.kind == "give_up" or refused:
            return Turn({"role": "assistant", "content": NOT_KNOWN})
        if self._task.question is None or self._turns <= len(WAYS.get(self._action.kind, ("expert",))):
            return Turn(self._call())
        return Turn({"role": "assistant", "content": self._read(str(observations[0].get("content")))})

    def trace(self) -> TokenTrace | None:
        """None: there is no model."""
        return None

    def _call(self) -> Message:
        question = self._task.question
        if self._action.kind == "expert":
            asked = {} if question is None else {"question": question.text, "final": True}
            return _calling(CALL_EXPERT, {"expert": self._action.alias, **asked}, self._turns)
        assert question is not None, "basic tools are used for questions only"
        tool = WAYS[self._action.kind][self._turns - 1]
        code = question.snippet if question.fact is None else f"n = {question.fact}\n{question.snippet}"
        return _calling(tool, {"code": code} if tool == "python" else {"query": question.lookup}, self._turns)

    def _read(self, content: str) -> str:
        """Read the answer out of a result, as somebody does who overlooks nothing."""
        question = self._task.question
        assert question is not None
        return f"The answer is {question.answer}." if question.answer in content else NOT_KNOWN


def _calling(name: str, arguments: Mapping[str, Any], number: int) -> Message:
    function = {"name": name, "arguments": canonical_json(dict(arguments))}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def _is_error(message: Mapping[str, Any]) -> bool:
    return str(message.get("content", "")).startswith('{"error":')


def _ask_by(catalogue: Catalogue, worth: Callable[[Any, Any, str], tuple[float, ...]]) -> Choose:
    """Ask the expert for which `worth(offered, spec, category)` is highest; the first of several. Give up where none is
    open."""

    def choose(task: RolloutTask, sample: int) -> Action:
        specs = offered_specs(task, catalogue)
        experts = [action for action in actions(task) if action.alias is not None]
        return max(experts, key=lambda action: worth(*specs[str(action.alias)], task.category), default=GIVE_UP)

    return choose


def strongest(catalogue: Catalogue) -> Choose:
    """The expert with the highest skill in the category of the task; of equals the cheaper one."""
    return _ask_by(
        catalogue,
        lambda offered, spec, category: (spec.skills[category], -expected_cost(spec, price_at(offered), category)),
    )


def cheapest(catalogue: Catalogue) -> Choose:
    """The expert whose answer is expected to cost least."""
    return _ask_by(catalogue, lambda offered, spec, category: (-expected_cost(spec, price_at(offered), category),))


def at_random(seed: int) -> Choose:
    """Any action that is open, each as likely; the draw depends on seed, task and sample."""

    def choose(task: RolloutTask, sample: int) -> Action:
        open_ones = actions(task)
        return random.Random(f"action:{seed}:{task.id}:{sample}").choice(open_ones) if open_ones else GIVE_UP

    return choose


def tools_first(otherwise: Choose) -> Choose:
    """The interpreter where a question has a snippet, search where it has something to look up, both where it wants
    both, else what `otherwise` says."""

    def choose(task: RolloutTask, sample: int) -> Action:
        return next((action for action in actions(task) if action.kind in WAYS), None) or otherwise(task, sample)

    return choose


def best(catalogue: Catalogue, utility: Callable[[RolloutTask, Outcome], float], otherwise: Choose) -> Choose:
    """The action with the highest expected utility; of equals the first. `otherwise` decides environment tasks."""

    def choose(task: RolloutTask, sample: int) -> Action:
        if task.question is None:
            return otherwise(task, sample)
        return max([*actions(task), GIVE_UP], key=lambda action: expected_utility(task, action, catalogue, utility))

    return choose


def expected_utility(
    task: RolloutTask,
    action: Action,
    catalogue: Catalogue,
    utility: Callable[[RolloutTask, Outcome], float],
) -> float:
    """Return the exact expectation of a utility over all that can come of an action."""
    return math.fsum(
        outcome.probability * utility(task, outcome) for outcome in expected_figures(task, action, catalogue)
    )
