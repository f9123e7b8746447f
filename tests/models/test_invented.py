"""Experts that do not exist: each figure is somebody's, the whole is nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.errors import UsageError
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.invented import invented_experts
from toolscale.models.pricing import price_of
from toolscale.records import CATEGORIES
from toolscale.rollout import Offering, rollout_tasks

ROOT = Path(__file__).parents[2]
PAPER = load_catalogue(ROOT / "experts" / "paper.yaml")
PRICES = load_price_lists(ROOT / "experts" / "prices")


def test_every_figure_is_that_of_an_expert_of_the_catalogue() -> None:
    asked = {(price.input, price.output) for spec in PAPER.experts for price in (price_of(spec, prices) for prices in (None, *PRICES))}
    written = [{name: effort.output_tokens for name, effort in spec.effort.items()} for spec in PAPER.experts]
    paces = [sum(e.latency_s for e in spec.effort.values()) / sum(e.output_tokens for e in spec.effort.values()) for spec in PAPER.experts]
    for spec in invented_experts(PAPER, PRICES, 200).experts:
        assert all(spec.skills[category] in {known.skills[category] for known in PAPER.experts} for category in CATEGORIES)
        assert (spec.price.input, spec.price.output) in asked
        assert {name: effort.output_tokens for name, effort in spec.effort.items()} in written
        pace = spec.effort["code"].latency_s / spec.effort["code"].output_tokens
        assert any(pace == pytest.approx(known) for known in paces)
        assert all(effort.latency_s == pytest.approx(pace * effort.output_tokens) for effort in spec.effort.values())
        assert spec.endpoint is None


def test_nobody_real_is_invented_and_none_twice() -> None:
    found = invented_experts(PAPER, PRICES, 200).experts
    known = [spec.skills for spec in PAPER.experts]
    assert not [spec for spec in found if spec.skills in known]
    assert len({spec.model_dump_json(exclude={"name", "title"}) for spec in found}) == 200


def test_they_depend_on_the_seed_alone_and_more_of_them_begin_with_the_same() -> None:
    few, many, others = invented_experts(PAPER, PRICES, 8), invented_experts(PAPER, PRICES, 20), invented_experts(PAPER, PRICES, 8, seed=1)
    assert many.experts[:8] == few.experts != others.experts


def test_a_share_of_the_tasks_is_offered_invented_experts_at_their_own_prices() -> None:
    invented = invented_experts(PAPER, PRICES, 40)
    source = rollout_tasks("train", 0, {"code": 1}, Offering(PAPER, PRICES, invented=invented, invented_share=0.3))
    prices = {spec.name: (spec.price.input, spec.price.output) for spec in invented.experts}
    tasks = [source[number] for number in range(600)]
    theirs = [task for task in tasks if any(offered.expert in prices for offered in task.experts)]
    assert 140 < len(theirs) < 220
    assert all((offered.input_price, offered.output_price) == prices[offered.expert] for task in theirs for offered in task.experts)


def test_without_a_share_tasks_are_as_they_were() -> None:
    plain, given = (Offering(PAPER, PRICES, invented=invented) for invented in (None, invented_experts(PAPER, PRICES, 40)))
    assert [rollout_tasks("train", 0, {"code": 1}, each)[7] for each in (plain, given)] == [rollout_tasks("train", 0, {"code": 1}, plain)[7]] * 2


def test_a_share_of_nobody_and_one_name_for_two_are_refused() -> None:
    with pytest.raises(UsageError, match=r"invented_share is 0.3 and there are no 6 invented experts"):
        Offering(PAPER, invented=invented_experts(PAPER, (), 5), invented_share=0.3)
    with pytest.raises(UsageError, match="'deepseek-r1' is an invented expert and one of 'The experts of ToolOrchestra'"):
        Offering(PAPER, invented=PAPER, invented_share=0.3)
