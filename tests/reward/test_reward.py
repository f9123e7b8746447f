"""What rewards must hold: laws for all groups, and a few worked by hand."""

from __future__ import annotations

import dataclasses
import math
import statistics

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from made_rollouts import rollout

from toolscale.errors import UsageError
from toolscale.records import Charge, Preference
from toolscale.reward import (
    NO_EXPERTS,
    Figures,
    FilterCounts,
    References,
    RewardConfig,
    Selected,
    absolute_reward,
    advantages,
    deviation,
    figures_of,
    heeded,
    keep_group,
    paper_rewards,
    references_of,
    rewards_of,
    select_samples,
)

TOOLS = ("expert-1", "expert-2", "python")
REFERENCES = References(cost_usd=0.02, latency_s=30.0)

amounts = st.floats(min_value=0, max_value=1e4, allow_subnormal=False)
weights = st.floats(min_value=0, max_value=1, allow_subnormal=False)
figures = st.builds(
    Figures,
    right=st.booleans(),
    cost_usd=amounts,
    latency_s=amounts,
    uses=st.dictionaries(st.sampled_from(TOOLS), st.integers(1, 9), max_size=3),
)
groups = st.lists(figures, min_size=1, max_size=8)
wishes = st.builds(
    Preference,
    instruction=st.just("x"),
    outcome=weights,
    cost=weights,
    latency=weights,
    tools=st.dictionaries(st.sampled_from(TOOLS), weights),
)
configs = st.builds(
    RewardConfig, kind=st.sampled_from(["paper", "absolute", "outcome", "efficiency"]), cap=st.floats(0.5, 8)
)


TERMINAL = Charge(turn=1, kind="expert", name="expert-1", cost_usd=0.04, latency_s=90.0, terminal=True)
EARLIER = (
    Charge(turn=0, kind="orchestrator", name="tiny", cost_usd=0.001, latency_s=1.0),
    Charge(turn=0, kind="basic", name="python", latency_s=0.5),
    Charge(turn=0, kind="expert", name="expert-2", error="denied"),
    Charge(turn=1, kind="orchestrator", name="tiny", cost_usd=0.001, latency_s=1.0),
)


def rewarded(group: list[Figures], wish: Preference, config: RewardConfig) -> list[float]:
    return rewards_of(group, wish, TOOLS, REFERENCES, config)


def test_the_terminal_call_is_in_every_figure() -> None:
    whole, without = figures_of(rollout(*EARLIER, TERMINAL)), figures_of(rollout(*EARLIER))
    assert whole == Figures(True, 0.042, 92.5, {"python": 1, "expert-1": 1})
    assert without == Figures(True, 0.002, 2.5, {"python": 1})
    wish = Preference(instruction="", cost=1.0, latency=1.0)
    assert [absolute_reward(each, wish, REFERENCES) for each in (whole, without)] == [
        pytest.approx(1 - 2.1 - 92.5 / 30),
        pytest.approx(1 - 0.1 - 2.5 / 30),
    ]
    assert paper_rewards([whole, without], wish, TOOLS) == [0.0, 2.0]


def test_a_group_worked_by_hand() -> None:
    group = [
        Figures(True, 0.1, 10, {"expert-1": 2}),
        Figures(True, 0.2, 30, {"expert-1": 1, "python": 1}),
        Figures(False, 0.4, 20, {"python": 4}),
        Figures(True, 0.4, 50, {}),
    ]
    wish = Preference(
        instruction="", outcome=1.0, cost=0.6, latency=0.4, tools={"expert-1": 0.5, "python": 0.2, "expert-2": 1.0}
    )
    assert paper_rewards(group, wish, TOOLS) == [
        pytest.approx(1 + 0.6 * 1 + 0.4 * 1 + 0.5 * 1 + 0.2 * 0),
        pytest.approx(1 + 0.6 * 2 / 3 + 0.4 * 0.5 + 0.5 * 0.5 + 0.2 * 0.25),
        0.0,
        pytest.approx(1.0),
    ]


def test_costs_of_the_released_code_are_not_turned_around() -> None:
    # The released code gives 3, 3.33 and 4 for these; the paper's formula gives this.
    group = [Figures(True, cost, 1) for cost in (0.1, 0.2, 0.4)]
    assert paper_rewards(group, Preference(instruction="", cost=1.0), ()) == [
        pytest.approx(1),
        pytest.approx(2 / 3),
        0.0,
    ]


def test_wishes_about_single_tools_are_heeded_by_what_is_used_and_not_by_how_often() -> None:
    wish = Preference(instruction="", tools={"expert-1": 1.0, "expert-2": 0.0, "python": 1.0, "local_search": 0.75})
    used = {
        (): 0,
        ("expert-1",): 1,
        ("expert-2",): -1,
        ("expert-3",): 0,
        ("expert-1", "expert-2"): 0,
        ("expert-1", "python"): 1,
        ("local_search",): 0.5,
        ("local_search", "expert-2"): -0.5,
    }
    assert {names: heeded(wish, names) for names in used} == used
    once, often = (Figures(True, 0.0, 0.0, {"expert-2": count}) for count in (1, 7))
    assert absolute_reward(once, wish, REFERENCES) == absolute_reward(often, wish, REFERENCES) == 0.5
    assert rewarded([once], wish, RewardConfig(tool_weight=0.25)) == [0.75]
    assert rewarded([once], wish, RewardConfig(kind="outcome")) == [1]


def test_the_kinds_on_one_rollout() -> None:
    one, wish = Figures(True, 0.01, 60), Preference(instruction="", outcome=0.8, cost=0.4, latency=0.2)
    found = {
        kind: rewarded([one], wish, RewardConfig(kind=kind)) for kind in ("paper", "absolute", "outcome", "efficiency")
    }
    assert found == {
        "paper": [0.0],
        "absolute": [pytest.approx(0.8 - 0.4 * 0.5 - 0.2 * 2)],
        "outcome": [1.0],
        "efficiency": [pytest.approx(1 - 0.125 - 0.5)],
    }


@given(groups, st.data(), wishes, configs, st.sampled_from(["cost_usd", "latency_s"]), st.floats(0, 1))
def test_cheaper_and_faster_never_score_lower(
    group: list[Figures], data: st.DataObject, wish: Preference, config: RewardConfig, name: str, share: float
) -> None:
    place = data.draw(st.integers(0, len(group) - 1))
    better = [*group]
    better[place] = dataclasses.replace(group[place], **{name: getattr(group[place], name) * share})
    assert rewarded(better, wish, config)[place] >= rewarded(group, wish, config)[place]


@given(st.lists(figures, min_size=2, max_size=8), configs, st.sampled_from(["cost_usd", "latency_s"]))
def test_the_cheapest_and_the_fastest_score_highest_where_nothing_else_counts(
    group: list[Figures], config: RewardConfig, name: str
) -> None:
    assume(config.kind in ("paper", "absolute"))
    wish = Preference(instruction="", outcome=0.0, cost=float(name == "cost_usd"), latency=float(name == "latency_s"))
    rightly = [dataclasses.replace(each, right=True) for each in group]
    scores = rewarded(rightly, wish, config)
    amounts = [getattr(each, name) for each in rightly]
    assert scores[amounts.index(min(amounts))] == max(scores)
    assert scores[amounts.index(max(amounts))] == min(scores)


@given(groups, st.data(), wishes, configs)
def test_right_never_scores_lower_than_wrong(
    group: list[Figures], data: st.DataObject, wish: Preference, config: RewardConfig
) -> None:
    place = data.draw(st.integers(0, len(group) - 1))
    wrong, right = [*group], [*group]
    wrong[place], right[place] = (
        dataclasses.replace(group[place], right=False),
        dataclasses.replace(group[place], right=True),
    )
    assert rewarded(right, wish, config)[place] >= rewarded(wrong, wish, config)[place]


@given(groups, wishes, configs)
@example(
    [Figures(right=True, cost_usd=0, latency_s=0, uses={TOOLS[0]: 1})],
    Preference(instruction="x", outcome=1, cost=0, latency=0, tools={TOOLS[0]: 1}),
    RewardConfig(),
)
def test_rewards_are_bounded(group: list[Figures], wish: Preference, config: RewardConfig) -> None:
    least, most = {
        "paper": (0.0, wish.outcome + wish.cost + wish.latency + sum(wish.tools.values())),
        "absolute": (-config.cap * (wish.cost + wish.latency) - config.tool_weight, wish.outcome + config.tool_weight),
        "outcome": (0.0, 1.0),
        "efficiency": (-config.cap * 0.5, 1.0),
    }[config.kind]
    assert all(least - 1e-9 <= score <= most + 1e-9 for score in rewarded(group, wish, config))


@given(groups, st.data(), wishes, configs)
def test_the_order_of_a_group_does_not_matter(
    group: list[Figures], data: st.DataObject, wish: Preference, config: RewardConfig
) -> None:
    order = data.draw(st.permutations(range(len(group))))
    scores = rewarded(group, wish, config)
    assert rewarded([group[place] for place in order], wish, config) == [scores[place] for place in order]


@given(groups, wishes, st.sampled_from(["cost_usd", "latency_s"]), st.integers(-8, 8), st.integers(0, 1000))
def test_the_papers_reward_has_no_unit_and_no_zero(
    group: list[Figures], wish: Preference, name: str, power: int, shift: int
) -> None:
    whole = [
        dataclasses.replace(each, cost_usd=float(int(each.cost_usd)), latency_s=float(int(each.latency_s)))
        for each in group
    ]
    moved = [dataclasses.replace(each, **{name: (getattr(each, name) + shift) * 2.0**power}) for each in whole]
    assert paper_rewards(moved, wish, TOOLS) == paper_rewards(whole, wish, TOOLS)


@given(figures, wishes, st.integers(1, 8))
def test_equal_members_are_worth_nothing_in_the_papers_reward(one: Figures, wish: Preference, size: int) -> None:
    assert paper_rewards([one] * size, wish, TOOLS) == [0.0] * size
    assert advantages(paper_rewards([one] * size, wish, TOOLS)) == [0.0] * size


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=16))
def test_advantages_are_rewards_in_units_of_their_sample_deviation(rewards: list[float]) -> None:
    found = advantages(rewards)
    if not keep_group(rewards, 1e-6):
        return
    assert math.isclose(deviation(rewards), statistics.stdev(rewards), rel_tol=1e-9)
    assert abs(statistics.fmean(found)) < 1e-6
    assert math.isclose(statistics.stdev(found), 1.0, rel_tol=1e-6)
    assert all((found[i] <= found[j]) for i in range(len(found)) for j in range(len(found)) if rewards[i] <= rewards[j])


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=16), st.floats(0.1, 8))
def test_unscaled_advantages_keep_the_unit_of_the_reward(rewards: list[float], unit: float) -> None:
    found = advantages(rewards, "none")
    mean = statistics.fmean(rewards)
    assert found == pytest.approx([reward - mean for reward in rewards], abs=1e-9)
    assert advantages([reward * unit for reward in rewards], "none") == pytest.approx(
        [value * unit for value in found], abs=1e-9
    )


def test_advantages_where_nothing_differs() -> None:
    assert [advantages([]), advantages([3.0]), advantages([0.1] * 3), advantages([0.0, 1.0])] == [
        [],
        [0.0],
        [0.0] * 3,
        [pytest.approx(-(0.5**0.5)), pytest.approx(0.5**0.5)],
    ]
    assert [keep_group([1.0]), keep_group([1.0, 1.0], 0.0), keep_group([1.0, 1.1]), keep_group([1.0, 1.2])] == [
        False,
        False,
        False,
        True,
    ]


def test_filters_say_why_a_sample_is_left_out() -> None:
    fine, unread, silent, blank = (
        rollout(),
        rollout(malformed=1, answer=None),
        rollout(answer=None),
        rollout(answer=" "),
    )
    groups = [[(fine, 1.0), (unread, 0.0), (silent, 0.0), (blank, 0.0)], [(fine, 1.0), (fine, 1.0)], [(fine, 0.5)], []]
    assert select_samples(groups, RewardConfig(drop_unparsable=True, unanswered="drop")) == (
        [Selected(0, 0, pytest.approx(1.5))],
        FilterCounts(
            groups=4, samples=7, homogeneous_groups=3, homogeneous_samples=3, unparsable=1, unanswered=2, kept=1
        ),
    )
    for config in (RewardConfig(), RewardConfig(unanswered="keep")):
        selected, counts = select_samples(groups, config)
        assert [(one.group, one.member) for one in selected] == [(0, 0), (0, 1), (0, 2), (0, 3)]
        assert counts == FilterCounts(groups=4, samples=7, homogeneous_groups=3, homogeneous_samples=3, kept=4)


def test_whoever_recovers_is_learned_from_and_whoever_never_answers_is_learned_away_from() -> None:
    # A rollout with one bad argument, and one that went round in circles, were both left out: they taught nothing.
    right, recovered, looped = rollout(), rollout(malformed=1), rollout(answer=None, stop="turns")
    selected, counts = select_samples([[(right, 1.0), (recovered, 1.0), (looped, -0.25)]])
    assert [(one.member, one.advantage > 0) for one in selected] == [(0, True), (1, True), (2, False)]
    assert counts == FilterCounts(groups=1, samples=3, kept=3)
    # It is never an example, however little it cost beside the others.
    wrong = rollout(right=False)
    selected, counts = select_samples([[(wrong, -1.0), (wrong, -0.5), (looped, -0.25)]])
    assert [one.member for one in selected] == [0, 1]
    assert counts == FilterCounts(groups=1, samples=3, unanswered=1, kept=2)
    assert select_samples([[(looped, -0.25), (looped, -1.0)]])[1] == FilterCounts(groups=1, samples=2, unanswered=2)


def test_what_failed_says_nothing_of_its_group() -> None:
    group = [(rollout(), 1.0), (rollout(right=False), 0.0), (rollout(answer=None, stop="failed"), -9.0)]
    selected, counts = select_samples([group])
    assert selected == [Selected(0, 0, pytest.approx(0.5**0.5)), Selected(0, 1, pytest.approx(-(0.5**0.5)))]
    assert counts == FilterCounts(groups=1, samples=3, failed=1, kept=2)


def test_references_of_a_pool() -> None:
    assert references_of([0.001, 0.03], [4.0, 2.0]) == References(0.03, 4.0)
    assert references_of([], []) == references_of([0.0], [0.0]) == NO_EXPERTS == References(0.01, 60.0)
    with pytest.raises(UsageError, match="the reference cost_usd is 0; give a number above 0"):
        References(0, 1.0)
    with pytest.raises(UsageError, match="latency_s is nan"):
        References(1.0, math.nan)
