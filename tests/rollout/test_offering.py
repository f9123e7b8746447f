"""What is offered for each task: seeded, by number, never the same for long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage import CATALOGUE, Calculator, question

from toolscale.errors import UsageError
from toolscale.models.cards import card
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.pricing import price_of
from toolscale.models.simulated import SimulatedExpert
from toolscale.records import Limits, Question, Task
from toolscale.rollout.actions import actions, references
from toolscale.rollout.bench import Bench
from toolscale.rollout.offering import Offering, TaskSource

ROOT = Path(__file__).parents[2]
PAPER = load_catalogue(ROOT / "experts" / "paper.yaml")
PRICES = load_price_lists(ROOT / "experts" / "prices")
OFFERING = Offering(PAPER, PRICES, basic_tools=("python", "local_search"), limits=Limits(turns=6))
MIXTURE = {"arithmetic": 2.0, "lookup": 1.0, "reasoning": 1.0}


def test_a_task_depends_on_seed_split_and_number_alone() -> None:
    first, second = TaskSource(OFFERING, "train", 3, MIXTURE), TaskSource(OFFERING, "train", 3, MIXTURE)
    backwards = [second[number] for number in reversed(range(40))]
    assert [first[number] for number in range(40)] == backwards[::-1]
    assert [task for task, _ in zip(first, range(40), strict=False)] == backwards[::-1]
    others = [TaskSource(OFFERING, split, seed, MIXTURE)[5] for split, seed in (("train", 4), ("test", 3))]  # type: ignore[arg-type]
    assert len({first[5].model_dump_json(), *(task.model_dump_json() for task in others)}) == 3


@given(st.integers(0, 10**9), st.integers(0, 1000), st.sampled_from(["prose", "compact"]))
def test_every_offer_keeps_to_the_dials(number: int, seed: int, style: Any) -> None:
    offering = Offering(
        PAPER, PRICES, fewest=2, most=5, style=style, basic_tools=("python", "local_search"), denied_share=0.5
    )
    task = TaskSource(offering, "train", seed, MIXTURE)[number]
    specs = {spec.name: spec for spec in PAPER.experts}
    aliases = [offered.alias for offered in task.experts]
    assert 2 <= len(task.experts) <= 5
    assert len(set(aliases)) == len(aliases) and set(aliases) <= {f"expert-{place}" for place in range(1, 7)}
    assert len({offered.expert for offered in task.experts}) == len(task.experts)
    asked = [(offered.input_price, offered.output_price) for offered in task.experts]
    priced = [[price_of(specs[offered.expert], provider) for offered in task.experts] for provider in (None, *PRICES)]
    fitting = next(prices for prices in priced if [(price.input, price.output) for price in prices] == asked)
    cards = [
        card(specs[offered.expert], price, offered.alias, style)
        for offered, price in zip(task.experts, fitting, strict=True)
    ]
    assert [offered.card for offered in task.experts] == cards
    assert len(task.limits.denied) <= 1 and set(task.limits.denied) <= {*aliases, *task.basic_tools}
    assert set(task.preference.tools) <= {*aliases, *task.basic_tools} - set(task.limits.denied)
    assert actions(task)
    assert task.question is not None and task.category == task.question.category in MIXTURE


def test_aliases_and_numbers_of_experts_say_nothing_about_who_stands_behind_them() -> None:
    tasks = [TaskSource(OFFERING, "train", 0, MIXTURE)[number] for number in range(600)]
    seats = Counter((offered.expert, offered.alias) for task in tasks for offered in task.experts)
    assert set(seats) == {(spec.name, f"expert-{place}") for spec in PAPER.experts for place in range(1, 7)}
    assert set(Counter(len(task.experts) for task in tasks)) == {2, 3, 4, 5, 6}
    assert {task.basic_tools for task in tasks} == {(), ("python",), ("local_search",), ("python", "local_search")}


def test_the_mixture_is_kept(mock_tasks: list[Task]) -> None:
    source = TaskSource(OFFERING, "train", 0, {"arithmetic": 1, "tools": 1}, tasks=mock_tasks)
    counts = Counter(source[number].category for number in range(1_000))
    assert set(counts) == {"arithmetic", "tools"} and 430 < counts["tools"] < 570
    only = TaskSource(OFFERING, "train", 0, {"tools": 1}, tasks=mock_tasks)
    assert sorted(only[number].task.id for number in range(8)) == sorted(task.id for task in mock_tasks)  # type: ignore[union-attr]
    assert only[3].task == only[11].task and only[3].id != only[11].id
    assert all(task.limits.turns == 6 for task in (source[0], only[0]))


def test_questions_may_come_from_elsewhere() -> None:
    def draw(category: str, split: str, seed: int, number: int) -> Question:
        return question(number).model_copy(update={"category": category})

    assert TaskSource(OFFERING, "test", 0, {"lookup": 1}, draw_question=draw)[7].question == draw(
        "lookup", "test", 0, 7
    )


def test_what_is_offered_can_be_set_up() -> None:
    bench = Bench(
        {spec.name: SimulatedExpert(spec) for spec in PAPER.experts},
        {name: Calculator() for name in ("python", "local_search")},
    )
    task = TaskSource(OFFERING, "train", 0, MIXTURE)[0]
    tools = bench.setting(task).tools
    described = tools[0]["function"]["description"].splitlines()
    assert described[2:] == [f"{offered.alias}: {offered.card}" for offered in task.experts]
    compact = TaskSource(Offering(PAPER, style="compact"), "train", 0, MIXTURE)[0]
    assert bench.setting(compact).tools[0]["function"]["description"].splitlines()[2:] == [
        offered.card for offered in compact.experts
    ]
    cost, latency = references(task, PAPER)
    assert cost > 0 and latency > 0


@pytest.mark.parametrize(
    ("mixture", "changes", "message"),
    [
        ({"poetry": 1}, {}, "the mixture names 'poetry'; its categories are arithmetic, code"),
        ({"code": 0}, {}, "must be 0 or more, and one of them more than 0"),
        ({"code": -1}, {}, "must be 0 or more"),
        ({"code": float("nan")}, {}, "must be 0 or more"),
        ({"tools": 1}, {}, "wants environment tasks"),
        (MIXTURE, {"most": 7}, "give 0 <= fewest <= most <= 6"),
        (MIXTURE, {"fewest": 4, "most": 3}, "give 0 <= fewest <= most"),
        (MIXTURE, {"denied_share": 1.5}, "denied_share is 1.5; a share is from 0 to 1"),
        (
            MIXTURE,
            {"catalogue": CATALOGUE},
            r"give 0 <= fewest <= most <= 3 \(6 aliases, 3 experts in 'Three experts'\)",
        ),
    ],
)
def test_dials_that_cannot_work_are_refused(mixture: dict[str, float], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TaskSource(Offering(**{"catalogue": PAPER} | changes), "train", 0, mixture)
