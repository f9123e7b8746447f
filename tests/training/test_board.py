"""The exact ground on which the tiny model is measured: what it says is what rollouts find."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tiny_router import BASE, ids, tiny

from research.experiments import WISHES as WISHING
from research.experiments import denies_what_fits
from research.results import pairs_of
from toolscale.preferences.drawing import average_weights
from toolscale.preferences.grammar import VOCABULARY as WISHES
from toolscale.preferences.grammar import words as wish_words
from toolscale.records import Preference
from toolscale.reward import absolute_reward, figures_of, heeded
from toolscale.reward.kinds import TOOL_WEIGHT
from toolscale.rollout.actions import WAYS
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.policy import Turn
from training.data import open_work
from training.evaluate import ACCURATE, THRIFTY, Ground, check, load, question_ground
from training.scoring import task_references
from training.tiny.board import one_hot
from training.tiny.exact import next_words, own_figures, prompt_ids
from training.tiny.words import ALIASES


@pytest.fixture(scope="module")
def ground() -> Ground:
    return question_ground(tiny(), 256)


def test_the_base_model_prefers_nothing(ground: Ground) -> None:
    untrained = ground.play(load(BASE), "untrained", temperature=1.0)
    table = ground.baselines()
    assert abs(untrained.utility.mean() - table["random"].utility.mean()) < 0.1


def test_the_check_is_failed_by_who_does_not_weigh(ground: Ground) -> None:
    untrained, table = ground.play(load(BASE), "untrained"), ground.baselines()
    saving, paying = (ground.free().wishing(wish).baselines() for wish in (THRIFTY, ACCURATE))
    passed = {name: check(untrained, table[name], saving[name], paying[name]).passed for name in table}
    assert passed == {name: name == "optimum" for name in table}
    assert not check(untrained, untrained, saving["optimum"], paying["optimum"]).passed


def test_wishes_stay_in_plain_words_where_questions_are_in_those_of_the_test() -> None:
    known: dict[str, set[str]] = {"plain": set(), "test": set()}
    for whose, found in known.items():
        for task in question_ground(tiny(), 60, wording="test", wish_words=whose, wish_share=0.0).board.tasks:
            assert task.question is not None and task.question.id.startswith(f"{task.category}-test-")
            found |= set(wish_words(task.preference.instruction))
    assert tiny().data.wish_words == "plain"
    assert known["plain"] <= WISHES
    assert not known["test"] <= WISHES


def test_what_is_asked_adds_up_and_a_rule_takes_a_tool_where_one_fits(ground: Ground) -> None:
    table, actions = ground.baselines(), ground.board.actions
    for result in table.values():
        assert result.shares.sum(axis=1) == pytest.approx(np.ones(len(ground.board.tasks)))
    tools = [actions.index(name) for name in ("python", "local_search")]
    offered = ground.board.open[:, tools].any(axis=1).astype(float)
    assert table["tools, else cheapest"].shares[:, tools].sum(axis=1) == pytest.approx(offered)
    assert table["gives up"].shares[:, -1] == pytest.approx(np.ones(len(offered)))


def test_the_best_choice_for_who_saves_never_spends_more(ground: Ground) -> None:
    wishing = {name: ground.free().wishing(weights).baselines() for name, weights in WISHING.items()}
    pairs = pairs_of({name: {**results, "trained": results["always dearest"]} for name, results in wishing.items()})
    assert pairs["optimum"]["cents"]["more"] == pairs["optimum"]["seconds"]["more"] == 0
    assert min(pairs["optimum"]["cents"]["less"], pairs["optimum"]["seconds"]["less"]) > 0.3
    same = {"less": 0.0, "less and answered": 0.0, "as much": 1.0, "more": 0.0}
    assert pairs["trained"] == {"cents": same, "seconds": same}


def test_the_best_choice_uses_what_is_liked_and_leaves_the_rest_alone_where_that_is_worth_it() -> None:
    ground = question_ground(tiny(), 256, wish_share=1.0, denied_share=0.0)
    board, table = ground.board, ground.baselines()
    alike = {task.preference.tools.get(action) for task in board.tasks for action in ALIASES if task.preference.tools}
    assert alike == {None, 0.0, 1.0}
    obeyed = {name: result.obedience() for name, result in table.items()}
    assert {name for name, found in obeyed.items() if found["liked"] >= obeyed["optimum"]["liked"]} == {"optimum"}
    told = {"optimum", "gives up", "tools, else by the wish"}  # the last is told what is to be left alone
    assert {name for name, found in obeyed.items() if found["unwanted"] <= obeyed["optimum"]["unwanted"]} == told
    tasks = board.tasks
    said = np.array([[task.preference.tools.get(name, 0.5) for name in (*ALIASES, "python")] for task in tasks])
    columns = [board.actions.index(name) for name in (*ALIASES, "python")]
    heeded = np.where(board.open, board.utilities() - replace(board, heeded=0 * board.heeded).utilities(), 0)
    assert heeded[:, columns] == pytest.approx(TOOL_WEIGHT * (2 * said - 1) * board.open[:, columns])


def test_who_reads_no_wish_asks_the_same_of_all_and_who_is_told_it_serves_each(ground: Ground) -> None:
    accurate, thrifty = (ground.wishing(WISHING[name]).baselines() for name in ("accurate", "thrifty"))
    blind, told = "best for the average user", "tools, else by the wish"
    assert np.array_equal(accurate[blind].shares, thrifty[blind].shares)
    assert accurate[told].right == pytest.approx(accurate["optimum"].right)
    assert thrifty[told].cost_usd.sum() < 0.2 * accurate[told].cost_usd.sum()
    average = replace(ground, board=ground.board.wishing(Preference(instruction="", **average_weights("train"))))
    found = average.baselines()
    assert found[blind].utility == pytest.approx(found["optimum"].utility)


def test_giving_up_saves_money_and_is_told_apart() -> None:
    free = question_ground(tiny(), 32).free()
    wishing = {name: free.wishing(weights).baselines() for name, weights in WISHING.items()}
    swapped = {name: "always cheapest" if name == "accurate" else "gives up" for name in wishing}
    pairs = pairs_of({name: {**results, "trained": results[swapped[name]]} for name, results in wishing.items()})
    assert pairs["trained"]["cents"] == {"less": 1.0, "less and answered": 0.0, "as much": 0.0, "more": 0.0}


def test_what_may_not_be_used_is_not_open_and_to_call_it_comes_to_nothing() -> None:
    ground = question_ground(tiny(), 64, denied_share=1.0)
    untrained = ground.play(load(BASE), "untrained", temperature=1.0)
    words = [*ALIASES, "python", "local_search"]
    prompts = [prompt_ids(ground.codec, task) for task in ground.board.tasks]
    likely = next_words(load(BASE), prompts, ids(*words), 1.0)
    denied = np.array([[word in task.limits.denied for word in words] for task in ground.board.tasks])
    assert untrained.denied == pytest.approx((likely * denied).sum(axis=1))
    assert untrained.obedience()["denied"] > 0.05
    assert {result.obedience()["denied"] for result in ground.baselines().values()} == {0.0}
    fits = denies_what_fits(ground)
    names = {"python": ("code", "arithmetic"), "local_search": ("lookup",)}
    expected = [task.category in names.get(task.limits.denied[0], ()) for task in ground.board.tasks]
    assert fits.any() and list(fits) == expected


def test_a_ground_is_the_same_twice() -> None:
    one, other = question_ground(tiny(), 20), question_ground(tiny(), 20)
    assert one.board.tasks == other.board.tasks
    assert (one.board.costs == other.board.costs).all()


class Told:
    """A policy that writes the words of the action it is told for each task, and then `<last>`, as the tiny model
    would."""

    name = "told"

    def __init__(self, ground: Ground, chosen: dict[str, str]) -> None:
        self.ground, self.chosen, self.price = ground, chosen, ground.price

    def session(self, task: Any, messages: list, tools: list, sample: int) -> ToldSession:
        return ToldSession(self, task, messages, tools)


class ToldSession:
    def __init__(self, policy: Told, task: Any, messages: list, tools: list) -> None:
        self.policy, self.task, self.conversation, self.tools = policy, task, list(messages), tools
        self.read = len(policy.ground.codec.first(messages, tools)) - 5
        chosen = policy.chosen[task.id]
        self.words = iter(WAYS.get(chosen, () if chosen == "give_up" else (chosen,)))

    async def turn(self, observations: Any) -> Turn:
        self.conversation += observations
        self.read += 5
        word = next(self.words, "<last>")
        message, malformed = self.policy.ground.codec.read(ids(word), self.conversation, self.tools)
        return Turn(message, malformed, self.read, 1, self.policy.ground.seconds_per_token)

    def trace(self) -> None:
        return None


@pytest.mark.parametrize("two_step_share", [0.0, 1.0])
def test_the_board_says_what_the_rollout_loop_finds(two_step_share: float) -> None:
    """The best choices, carried out by the real loop with the real tools, are worth what was expected, within four
    standard errors."""
    ground = question_ground(tiny(), 256, two_step_share=two_step_share)
    tasks, actions = ground.board.tasks, ground.board.actions
    best = one_hot(ground.board, ground.board.utilities(*ground.own())).argmax(axis=1)
    policy = Told(ground, {task.id: actions[place] for task, place in zip(tasks, best, strict=True)})
    settings = tiny().data
    work = open_work(settings.model_copy(update={"mixture": {"arithmetic": 1.0}}))

    async def run() -> list:
        with work.held:
            async with work.bench:
                return await run_rollouts(tasks, policy, work.bench, 8)

    groups = asyncio.run(run())
    stopped = [rollout for group in groups for rollout in group if rollout.stop != "answered"]
    assert [rollout.messages for rollout in stopped] == []
    found = np.array(
        [
            np.mean(
                [
                    absolute_reward(figures_of(each), task.preference, task_references(task, work.experts))
                    for each in group
                ]
            )
            for task, group in zip(tasks, groups, strict=True)
        ]
    )
    by_use = [
        {heeded(task.preference, each.uses()) for each in group} for task, group in zip(tasks, groups, strict=True)
    ]
    assert by_use == [{worth} for worth in ground.board.heeded[np.arange(len(tasks)), best]]
    optimum = ground.baselines()["optimum"]
    assert optimum.shares[:, actions.index("search_then_python")].any() == (two_step_share > 0)
    apart = found - optimum.utility
    assert abs(apart.mean()) < 4 * apart.std() / np.sqrt(len(apart))


def test_invented_experts_are_trained_with_and_not_measured_with(ground: Ground) -> None:
    data = tiny().data.model_copy(update={"mixture": {"mathematics": 1.0}, "invented_share": 1.0, "invented": 20})
    work = open_work(data)

    async def run() -> list:
        with work.held:
            async with work.bench:
                return await run_rollouts(tasks, policy, work.bench, 16)

    tasks = [work.tasks[number] for number in range(24)]
    offered = [work.experts[task.experts[0].expert] for task in tasks]
    policy = Told(ground, {task.id: task.experts[0].alias for task in tasks})
    assert all(spec.name.startswith("invented-") for spec in offered)
    right = [np.mean([rollout.right for rollout in group]) for group in asyncio.run(run())]
    assert np.mean(right) == pytest.approx(np.mean([spec.skills["mathematics"] for spec in offered]), abs=0.1)
    measured = question_ground(tiny().model_copy(update={"data": data}), 64).board.tasks
    assert not [each for task in measured for each in task.experts if each.expert.startswith("invented-")]


def test_what_training_has_more_of_comes_no_oftener_where_it_is_measured() -> None:
    shares = {"generous_share": 0.0, "own_words_share": 0.0, "wish_share": 0.2, "denied_share": 0.1}
    assert all(getattr(tiny().data, name) > share for name, share in shares.items())
    even = tiny().model_copy(update={"data": tiny().data.model_copy(update=shares)})
    assert question_ground(tiny(), 64).board.tasks == question_ground(even, 64).board.tasks


def test_every_second_question_to_look_up_goes_on_if_half_of_them_should() -> None:
    found = [task.question for task in question_ground(tiny(), 600, two_step_share=0.5).board.tasks]
    lookups = [one for one in found if one is not None and one.category == "lookup"]
    assert sum(one.fact is not None for one in lookups) / len(lookups) == pytest.approx(0.5, abs=0.15)
    assert all(one.fact is None for one in found if one is not None and one.category != "lookup")


def test_a_model_is_scored_by_all_the_words_of_a_way(ground: Ground) -> None:
    board = question_ground(tiny(), 40, mixture={"lookup": 1.0}, two_step_share=1.0, basic_share=1.0).board
    model, codec = load(BASE), ground.codec
    played = replace(ground, board=board).play(model, "untrained", temperature=1.0)
    way, known = board.actions.index("search_then_python"), codec.vocabulary()
    for row, task in enumerate(board.tasks[:3]):
        text, likely = prompt_ids(codec, task), 1.0
        for word in ("local_search", "python", "<last>"):
            likely *= next_words(model, [text], [known[word]], 1.0)[0, 0]
            text = [*text, known[word], codec.end, *codec.next([{"role": "tool", "content": ""}])]
        assert played.shares[row, way] == pytest.approx(likely, rel=1e-4, abs=1e-4)


def test_own_tokens_are_charged_for_each_turn(ground: Ground) -> None:
    lengths = np.array([len(prompt_ids(ground.codec, task)) for task in ground.board.tasks])
    cost, seconds = own_figures(ground.board, lengths, replace(ground).price, 0.01)
    python, expert = ground.board.actions.index("python"), ground.board.actions.index(ALIASES[0])
    assert cost[0, expert] == pytest.approx((lengths[0] + 1) * 0.2 / 1e6)
    assert cost[0, python] == pytest.approx((2 * lengths[0] + 5 + 2) * 0.2 / 1e6)
    assert (seconds[0, expert], seconds[0, python]) == (0.01, 0.02)
    chain = ground.board.actions.index("search_then_python")
    assert (cost[0, chain], seconds[0, chain]) == pytest.approx(((3 * lengths[0] + 15 + 3) * 0.2 / 1e6, 0.03))
