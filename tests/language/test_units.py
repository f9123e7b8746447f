"""Whole numbers with a unit: written, read, told, and kept in a shard."""

from __future__ import annotations

import pytest

from toolscale.dataset.columns import _fact, _fact_cell
from toolscale.language.answers import STYLES, state_facts
from toolscale.language.facts import grade_answer
from toolscale.language.mentions import mentions
from toolscale.language.render import states
from toolscale.language.units import with_unit
from toolscale.records import Fact

TODAY = "2026-03-16"


def fact(value: int, unit: str) -> Fact:
    return Fact(kind="number", value=value, unit=unit)


@pytest.mark.parametrize(
    ("text", "value"),
    [("12kg", 12), ("12 kg", 12), ("-3 °C", -3), ("minus 3 degrees", -3), ("3 °C", 3), ("1,200km", 1200), ("60 %", 60)],
)
def test_a_number_is_read_with_its_unit(text: str, value: int) -> None:
    assert states(f"It is {text} today.", "number", value, TODAY)


def test_a_minus_between_words_is_none() -> None:
    assert [m.readings for m in mentions("a ten-3 degrees, 1-3 °C", TODAY) if m.kind == "number"][-1] != {-3}


@pytest.mark.parametrize("style", range(STYLES))
@pytest.mark.parametrize(
    ("value", "unit"),
    [(12, "kg"), (-3, "°C"), (60, "%"), (1200, "km"), (4, "seats"), (0, "°F"), (5, "years"), (3, "weeks")],
)
def test_what_is_told_in_any_style_is_taken(value: int, unit: str, style: int) -> None:
    told = fact(value, unit)
    answer = state_facts([told], TODAY, style)
    assert with_unit(value, unit) in answer
    assert grade_answer(answer, [told], today=TODAY) is None
    assert grade_answer(answer, [fact(value + 1, unit)], today=TODAY) is not None


@pytest.mark.parametrize(
    ("answer", "value", "unit", "is_right"),
    [
        ("It weighs 12 kg.", 12, "kg", True),
        ("It weighs 12 kg, that is 26 lbs.", 12, "kg", True),
        ("It weighs 12 lbs.", 12, "kg", False),
        ("It will be minus 3 degrees.", -3, "°C", True),
        ("It will be 3 °C.", -3, "°C", False),
        ("It will be -3 °F.", -3, "°C", False),
        ("It is 12 miles.", 12, "km", False),
        ("Humidity is at 60 percent.", 60, "%", True),
        ("The highest age of entry is five years.", 5, "years", True),
        ("It may be 5 months old.", 5, "years", False),
    ],
)
def test_the_other_unit_of_a_pair_makes_another_value(answer: str, value: int, unit: str, is_right: bool) -> None:
    assert (grade_answer(answer, [fact(value, unit)], today=TODAY) is None) is is_right


def test_a_unit_stands_in_a_dump_and_a_shard_only_where_there_is_one() -> None:
    told, plain = fact(12, "kg"), Fact(kind="number", value=12)
    assert "unit" not in plain.model_dump() and told.model_dump()["unit"] == "kg"
    cells = [_fact_cell(each.model_dump(mode="json")) for each in (told, plain)]
    assert [cell["value"] for cell in cells] == ["12 kg", "12"]
    assert [_fact(cell) for cell in cells] == [told, plain]
