"""What an orchestrator reads about an expert: read aloud here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, chat_server, said
from hypothesis import given
from hypothesis import strategies as st

from toolscale.errors import UnusableReplyError
from toolscale.models.cards import card, latency_level, price_level, prose_card, skill_level, worded_skills
from toolscale.models.chat import ChatModel
from toolscale.models.describe import SAMPLED, Trajectory, describe, description_prompt, sample
from toolscale.models.pricing import typical_cost, typical_latency
from toolscale.models.purse import Purse
from toolscale.records import CATEGORIES, Effort, Endpoint, ExpertSpec, Price

SPEC = ExpertSpec(
    name="one",
    title="One",
    price=Price(input=1.25, output=10),
    source="made for a test",
    spread=0,
    skills=dict(zip(CATEGORIES, (0.95, 0.7, 0.02, 0.85, 0.4, 0.39, 0.0), strict=True)),
    effort=dict.fromkeys(CATEGORIES, Effort(output_tokens=1000, latency_s=31)),
)


def test_a_card_in_prose() -> None:
    assert card(SPEC, SPEC.price, "expert-2", "prose") == (
        "Strong at arithmetic without a calculator, saying what a program prints and mathematics; "
        "fair at general knowledge; weak at facts from private documents, reasoning and working with tools. "
        "It costs $1.25 per million tokens in and $10 per million tokens out. "
        "An answer typically costs 1.0 cents and takes about 31 seconds."
    )


def test_a_description_stands_instead_of_the_skills_and_the_price_is_that_of_the_task() -> None:
    described = SPEC.model_copy(update={"description": "Good at\nsums."})
    assert prose_card(described, Price(input=0.375, output=0)) == (
        "Good at sums. It costs $0.375 per million tokens in and $0 per million tokens out. "
        "An answer typically costs 0.0075 cents and takes about 31 seconds."
    )


def test_a_card_of_facts() -> None:
    assert card(SPEC, SPEC.price, "expert-2", "compact") == (
        "expert-2.arithmetic=10 expert-2.code=7 expert-2.lookup=0 expert-2.mathematics=8 "
        "expert-2.knowledge=4 expert-2.reasoning=4 expert-2.tools=0 expert-2.price=12 expert-2.latency=11"
    )
    assert (typical_cost(SPEC, SPEC.price), typical_latency(SPEC)) == (pytest.approx(0.01025), pytest.approx(31))


def test_small_and_free_prices_are_worded() -> None:
    quick = SPEC.model_copy(update={"effort": dict.fromkeys(CATEGORIES, Effort(output_tokens=1, latency_s=1))})
    endings = [
        prose_card(quick, price).split("An answer typically ")[1]
        for price in (Price(input=0, output=0), Price(input=0.01, output=0))
    ]
    assert endings == [
        "costs nothing and takes about 1 second.",
        "costs less than 0.001 cents and takes about 1 second.",
    ]


def test_one_kind_of_skill_needs_no_others() -> None:
    assert worded_skills(SPEC.model_copy(update={"skills": dict.fromkeys(CATEGORIES, 1.0)})).startswith(
        "Strong at arithmetic without a calculator, "
    )


def test_levels_at_their_edges() -> None:
    assert [price_level(usd) for usd in (0, 1e-6, 1e-5, 1.7e-5, 1.8e-5, 1e-4, 1e-3, 1e-2, 0.056, 0.057, 3)] == [
        0,
        0,
        0,
        0,
        1,
        4,
        8,
        12,
        14,
        15,
        15,
    ]
    assert [latency_level(seconds) for seconds in (0, 0.1, 0.5, 0.7, 0.71, 1, 2, 4, 64, 90, 91, 1e6)] == [
        0,
        0,
        0,
        0,
        1,
        2,
        4,
        6,
        14,
        14,
        15,
        15,
    ]
    assert [skill_level(share) for share in (0, 0.04, 0.06, 0.25, 0.35, 0.95, 1)] == [0, 0, 1, 2, 4, 10, 10]


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from([price_level, latency_level]))
def test_more_is_never_a_lower_level(one: float, other: float, level: Any) -> None:
    low, high = sorted((one, other))
    assert 0 <= level(low) <= level(high) <= 15


RUNS = [Trajectory(f"task {i}", ({"role": "assistant", "content": "42"},), i % 2 == 0) for i in range(30)]


def described(folder: Path, trajectories: Sequence[Trajectory], answer: Answer) -> tuple[str, list[Any]]:
    """What a server makes of the trajectories, and what it was asked."""
    with chat_server(answer) as server:
        purse = Purse(replies=folder / "replies.sqlite")
        model = ChatModel(Endpoint(base_url=server.base_url, model="m"))

        async def ask() -> str:
            async with purse.client(model) as writer:
                return await describe(SPEC, trajectories, writer)

        return asyncio.run(ask()), server.asked


def test_a_description_is_written_from_trajectories(tmp_path: Path) -> None:
    text, asked = described(tmp_path, RUNS[:2], said("Good at sums.\n\x1b[31mPoor at  chess."))
    assert text == "Good at sums. [31mPoor at chess."
    assert [body["messages"] for body in asked] == [description_prompt(RUNS[:2])]
    assert asked[0]["messages"][0]["content"].splitlines()[-2:] == [
        '{"right":true,"task":"task 0","trajectory":"[{\\"content\\":\\"42\\",\\"role\\":\\"assistant\\"}]"}',
        '{"right":false,"task":"task 1","trajectory":"[{\\"content\\":\\"42\\",\\"role\\":\\"assistant\\"}]"}',
    ]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (said(" \n"), "it has neither content nor calls"),
        (said("\x1b"), "it wrote nothing"),
        (said("<think>Good?"), "its thoughts have no end: close them before you call a tool or answer"),
    ],
)
def test_a_writer_that_writes_nothing_is_told(tmp_path: Path, answer: Answer, told: str) -> None:
    with pytest.raises(UnusableReplyError, match=f"no description of '{SPEC.name}' was written: {told}; use a model"):
        described(tmp_path, RUNS, answer)


def test_what_is_too_long_is_cut(tmp_path: Path) -> None:
    long = Trajectory("t", ({"role": "assistant", "content": "x" * 20_000},), True)
    assert len(description_prompt([long])[0]["content"]) < 9_500
    assert len(described(tmp_path, RUNS, said("word " * 400))[0]) <= 1_000


def test_the_same_tasks_are_sampled_for_the_same_seed() -> None:
    found = sample(RUNS, 1)
    assert found == sample(RUNS, 1) != sample(RUNS, 2)
    assert len(found) == SAMPLED and [RUNS.index(run) for run in found] == sorted(RUNS.index(run) for run in found)
    assert sample(RUNS[:3], 1) == RUNS[:3]
