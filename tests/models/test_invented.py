"""Experts that do not exist: between and beyond those that do."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.errors import UsageError
from toolscale.models.cards import compact_card
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.invented import invented_experts
from toolscale.models.pricing import price_of
from toolscale.records import CATEGORIES, Price
from toolscale.rollout.offering import Offering, TaskSource

ROOT = Path(__file__).parents[2]
PAPER = load_catalogue(ROOT / "experts" / "paper.yaml")
PRICES = load_price_lists(ROOT / "experts" / "prices")


def test_a_figure_lies_between_those_of_two_experts_or_half_as_far_beyond() -> None:
    skills = {category: [spec.skills[category] for spec in PAPER.experts] for category in CATEGORIES}
    asked = [price_of(spec, prices).output for spec in PAPER.experts for prices in (None, *PRICES)]
    written = [spec.effort["code"].output_tokens for spec in PAPER.experts]
    for spec in invented_experts(PAPER, PRICES, 500).experts:
        for category, known in skills.items():
            room = (max(known) - min(known)) / 2
            assert max(0, min(known) - room) <= spec.skills[category] <= min(1, max(known) + room)
        for figure, known in ((spec.price.output, asked), (spec.effort["code"].output_tokens, written)):
            room = (max(known) / min(known)) ** 0.5
            assert min(known) / room <= figure * 1.000001 and figure <= max(known) * room * 1.000001
        paces = [effort.latency_s / effort.output_tokens for effort in spec.effort.values()]
        assert paces == pytest.approx([paces[0]] * len(paces))
        assert spec.endpoint is None


def test_no_fact_of_a_card_is_new_to_whoever_trained_with_them() -> None:
    """A look-up among cards failed wherever one of them had a level that training never showed."""
    held_out, lists = (
        load_catalogue(ROOT / "experts" / "held_out.yaml"),
        load_price_lists(ROOT / "experts" / "prices" / "held_out"),
    )
    read = {
        fact
        for spec in invented_experts(PAPER, PRICES, 1024).experts
        for fact in compact_card(spec, spec.price, "expert-1").split()
    }
    cards = [
        compact_card(spec, price_of(spec, prices), "expert-1") for spec in held_out.experts for prices in (None, *lists)
    ]
    assert {fact for card in cards for fact in card.split()} - read == set()


def test_nobody_real_is_invented_and_none_twice() -> None:
    found = invented_experts(PAPER, PRICES, 200).experts
    known = [spec.skills for spec in PAPER.experts]
    assert not [spec for spec in found if spec.skills in known]
    assert len({spec.model_dump_json(exclude={"name", "title"}) for spec in found}) == 200


def test_where_one_price_is_nothing_the_other_holds() -> None:
    free = PAPER.model_copy(
        update={"experts": tuple(spec.model_copy(update={"price": Price(input=0, output=1)}) for spec in PAPER.experts)}
    )
    assert {(spec.price.input, round(spec.price.output, 9)) for spec in invented_experts(free, (), 20).experts} == {
        (0, 1)
    }


def test_they_depend_on_the_seed_alone_and_more_of_them_begin_with_the_same() -> None:
    few, many, others = (
        invented_experts(PAPER, PRICES, 8),
        invented_experts(PAPER, PRICES, 20),
        invented_experts(PAPER, PRICES, 8, seed=1),
    )
    assert many.experts[:8] == few.experts != others.experts


def test_a_share_of_the_tasks_is_offered_invented_experts_at_their_own_prices() -> None:
    invented = invented_experts(PAPER, PRICES, 40)
    source = TaskSource(Offering(PAPER, PRICES, invented=invented, invented_share=0.3), "train", 0, {"code": 1})
    prices = {spec.name: (spec.price.input, spec.price.output) for spec in invented.experts}
    tasks = [source[number] for number in range(600)]
    theirs = [task for task in tasks if any(offered.expert in prices for offered in task.experts)]
    assert 140 < len(theirs) < 220
    assert all(
        (offered.input_price, offered.output_price) == prices[offered.expert]
        for task in theirs
        for offered in task.experts
    )


def test_without_a_share_tasks_are_as_they_were() -> None:
    plain, given = (
        Offering(PAPER, PRICES, invented=invented) for invented in (None, invented_experts(PAPER, PRICES, 40))
    )
    assert [TaskSource(each, "train", 0, {"code": 1})[7] for each in (plain, given)] == [
        TaskSource(plain, "train", 0, {"code": 1})[7]
    ] * 2


def test_a_share_of_nobody_and_one_name_for_two_are_refused() -> None:
    with pytest.raises(UsageError, match=r"invented_share is 0.3 and there are no 6 invented experts"):
        Offering(PAPER, invented=invented_experts(PAPER, (), 5), invented_share=0.3)
    with pytest.raises(
        UsageError, match="'deepseek-r1' is an invented expert and one of 'The experts of ToolOrchestra'"
    ):
        Offering(PAPER, invented=PAPER, invented_share=0.3)
