"""What comes of an action is known exactly, and the baselines choose by it."""

from __future__ import annotations

import asyncio
import math

import pytest
from stage import CATALOGUE, EXPERTS, OFFERED, asking, working

from toolscale.basic_tools.base import BasicResult, one_text_function
from toolscale.environment.builtins import calculate
from toolscale.errors import UsageError
from toolscale.models.pricing import expected_cost, expected_latency
from toolscale.records import Limits, Rollout, RolloutTask, Task
from toolscale.rollout.actions import BASIC_FIGURES, GIVE_UP, Action, Outcome, actions, expected_figures, references
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.scripted import (
    ScriptedPolicy,
    at_random,
    best,
    cheapest,
    expected_utility,
    strongest,
    tools_first,
)


class Python:
    """An interpreter for sums."""

    name = "python"
    description = "Run Python."

    def function(self) -> dict[str, object]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "code", "Python.")

    async def call(self, arguments: dict[str, str]) -> BasicResult:
        """Compute."""
        value, error = calculate(arguments["code"])
        return BasicResult(str(value), error, 0.0000083, 1.0)


class Lines(Python):
    """One that knows `n = …` in a line before."""

    async def call(self, arguments: dict[str, str]) -> BasicResult:
        """Compute."""
        given, _, expression = arguments["code"].removeprefix("n = ").partition("\n")
        return await super().call({"code": expression.replace("n", given)})


def sums(number: int = 1, **changes: object) -> RolloutTask:
    """A question with three experts and the interpreter."""
    return asking(number, **{"basic_tools": ("python",)} | changes)


def rollouts(task: RolloutTask, action: Action, samples: int) -> list[Rollout]:
    """Samples of one action."""
    bench = Bench(EXPERTS, {"python": Python()})
    return asyncio.run(run_rollouts([task], ScriptedPolicy("one", lambda task, sample: action), bench, samples))[0]


def test_outcomes_are_what_rollouts_show() -> None:
    for action in actions(sums()):
        outcomes = expected_figures(sums(), action, CATALOGUE)
        seen = {(rollout.right, rollout.cost_usd, rollout.latency_s) for rollout in rollouts(sums(), action, 400)}
        assert seen == {(outcome.right, outcome.cost_usd, outcome.latency_s) for outcome in outcomes}
        assert math.fsum(outcome.probability for outcome in outcomes) == pytest.approx(1)


def test_means_are_those_of_the_catalogue() -> None:
    for offered, spec in zip(OFFERED, CATALOGUE.experts, strict=True):
        outcomes = expected_figures(sums(), Action("expert", offered.alias), CATALOGUE)
        mean = [
            math.fsum(outcome.probability * value for outcome in outcomes for value in [outcome[part]])
            for part in (1, 2, 3)
        ]
        tokens = math.ceil(len(sums().question.text) / 4)  # type: ignore[union-attr]
        cost, latency = expected_cost(spec, spec.price, "arithmetic", tokens), expected_latency(spec, "arithmetic")
        assert mean == pytest.approx([spec.skills["arithmetic"], cost, latency])


def test_references_are_the_dearest_and_the_slowest_answer() -> None:
    sage = CATALOGUE.experts[0]
    assert references(sums(), CATALOGUE) == (expected_cost(sage, sage.price, "arithmetic"), 8.0)
    assert references(sums(experts=()), CATALOGUE) == (0.01, 60.0)
    free = tuple(offered.model_copy(update={"input_price": 0.0, "output_price": 0.0}) for offered in OFFERED)
    assert references(sums(experts=free), CATALOGUE) == (0.01, 8.0)  # it was 0 once, and utilities were no numbers
    with pytest.raises(UsageError, match="offers the expert 'sage'; the catalogue 'None' does not have it"):
        references(sums(), CATALOGUE.model_copy(update={"title": "None", "experts": CATALOGUE.experts[1:]}))


def test_what_is_denied_or_not_offered_is_not_open() -> None:
    assert actions(sums()) == [
        Action("expert", "expert-1"),
        Action("expert", "expert-2"),
        Action("expert", "expert-3"),
        Action("python"),
    ]
    assert actions(sums(limits=Limits(denied=("python", "expert-2")))) == [
        Action("expert", "expert-1"),
        Action("expert", "expert-3"),
    ]
    assert actions(sums(limits=Limits(denied=("call_expert",)), basic_tools=())) == []


def test_baselines_choose_what_they_say() -> None:
    chosen = {make.__name__: make(CATALOGUE)(sums(), 0).alias for make in (strongest, cheapest)}
    assert chosen == {"strongest": "expert-1", "cheapest": "expert-3"}
    assert tools_first(strongest(CATALOGUE))(sums(), 0) == Action("python")
    assert tools_first(strongest(CATALOGUE))(sums(basic_tools=()), 0) == Action("expert", "expert-1")
    assert strongest(CATALOGUE)(sums(experts=()), 0) == GIVE_UP == at_random(0)(sums(experts=(), basic_tools=()), 0)
    assert {at_random(0)(sums(), sample) for sample in range(60)} == set(actions(sums()))


def test_the_optimum_depends_on_what_is_cared_for() -> None:
    def chosen(cost_weight: float, latency_weight: float, **changes: object) -> Action:
        def utility(task: RolloutTask, outcome: Outcome) -> float:
            return outcome.right - cost_weight * outcome.cost_usd - latency_weight * outcome.latency_s

        return best(CATALOGUE, utility, otherwise=strongest(CATALOGUE))(sums(**changes), 0)

    assert chosen(0, 0.01) == Action("python")
    assert chosen(0, 0.01, basic_tools=()) == Action("expert", "expert-1")
    assert chosen(700, 0.01, basic_tools=()) == Action("expert", "expert-2")
    assert chosen(0, 1.0, basic_tools=()) == GIVE_UP
    utility = expected_utility(
        sums(), Action("expert", "expert-2"), CATALOGUE, lambda task, outcome: float(outcome.right)
    )
    assert utility == pytest.approx(0.5)


def test_scripted_policies_work_on_environment_tasks(domain: Domain, mock_tasks: list[Task]) -> None:
    tasks = [working(task) for task in mock_tasks]
    bench = Bench(EXPERTS, {}, {"mock": domain})
    policy = ScriptedPolicy("best", best(CATALOGUE, lambda task, outcome: 0.0, otherwise=strongest(CATALOGUE)))
    assert all(rollout.right for group in asyncio.run(run_rollouts(tasks, policy, bench, 2)) for rollout in group)
    refused = [working(task, limits=Limits(denied=("expert-1",))) for task in mock_tasks]
    stubborn = ScriptedPolicy("stubborn", lambda task, sample: Action("expert", "expert-1"))
    found = asyncio.run(run_rollouts(refused, stubborn, bench, 2))
    assert {rollout.answer for group in found for rollout in group} == {"I could not find the answer."}
    with pytest.raises(UsageError, match="is an environment task; only what comes of a question is known beforehand"):
        expected_figures(tasks[0], Action("expert", "expert-1"), CATALOGUE)


class Search:
    """A library of one passage."""

    name = "local_search"
    description = "Search."

    def function(self) -> dict[str, object]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "query", "What to look for.")

    async def call(self, arguments: dict[str, str]) -> BasicResult:
        """Find it."""
        return BasicResult(f"[1] {arguments['query']}\nIt weighs 35 grams.", None, 0.000002, 0.5)


def test_a_question_of_two_steps_wants_both_tools_one_after_the_other() -> None:
    asked = sums(5).question
    assert asked is not None
    changed = asked.model_copy(update={"snippet": "n - 23", "lookup": "Lamp 7", "fact": "35", "answer": "12"})
    task = sums(5, question=changed, basic_tools=("python", "local_search"), experts=())
    both, both_tools = Action("search_then_python"), ("local_search", "python")
    assert actions(task) == [both] and tools_first(strongest(CATALOGUE))(task, 0) == both
    assert actions(sums(5, question=changed, experts=())) == []
    cost, seconds = (sum(BASIC_FIGURES[name][part] for name in both_tools) for part in (0, 1))
    assert expected_figures(task, both, CATALOGUE) == [
        Outcome(1.0, True, pytest.approx(cost), pytest.approx(seconds), both_tools)
    ]
    bench = Bench(EXPERTS, {"python": Lines(), "local_search": Search()})
    [[found]] = asyncio.run(run_rollouts([task], ScriptedPolicy("one", lambda task, sample: both), bench, 1))
    assert (found.answer, found.right, found.uses()) == ("The answer is 12.", True, {"local_search": 1, "python": 1})
    assert (found.cost_usd, found.latency_s) == (pytest.approx(0.0000103), 1.5)


def test_an_interpreter_gives_the_answer() -> None:
    found = rollouts(sums(5), Action("python"), 2)
    assert [(rollout.answer, rollout.right, rollout.uses()) for rollout in found] == [
        ("The answer is 12.", True, {"python": 1})
    ] * 2
