"""Whole numbers with a unit: written, read, told, and kept in a shard."""

from __future__ import annotations

import pytest

from toolscale.dataset.columns import _fact, _fact_cell
from toolscale.language.answers import state_facts
from toolscale.language.heard import Heard
from toolscale.language.mentions import mentions
from toolscale.language.render import with_unit
from toolscale.language.told import untold
from toolscale.records import Fact

TODAY = "2026-03-16"


def fact(value: int, unit: str) -> Fact:
    return Fact(kind="number", value=value, unit=unit)


@pytest.mark.parametrize(
    ("text", "value"),
    [("12kg", 12), ("12 kg", 12), ("-3 °C", -3), ("minus 3 degrees", -3), ("3 °C", 3), ("1,200km", 1200), ("60 %", 60)],
)
def test_a_number_is_read_with_its_unit(text: str, value: int) -> None:
    assert Heard(f"It is {text} today.", TODAY).states("number", value)


def test_a_minus_between_words_is_none() -> None:
    assert [m.readings for m in mentions("a ten-3 degrees, 1-3 °C", TODAY) if m.kind == "number"][-1] != {-3}


@pytest.mark.parametrize(
    ("value", "unit"),
    [(12, "kg"), (-3, "°C"), (60, "%"), (1200, "km"), (4, "seats"), (5, "years"), (3, "weeks")],
)
def test_the_golden_message_has_the_unit_and_is_read_back(value: int, unit: str) -> None:
    told = fact(value, unit)
    message = state_facts([told], TODAY)
    assert message == f"The number is {with_unit(value, unit)}."
    assert untold(message, [told], TODAY) is None
    assert untold(message, [fact(value + 1, unit)], TODAY) == f"the number {value + 1} stands nowhere in the message"


def test_a_unit_stands_in_a_dump_and_a_shard_only_where_there_is_one() -> None:
    told, plain = fact(12, "kg"), Fact(kind="number", value=12)
    assert "unit" not in plain.model_dump() and told.model_dump()["unit"] == "kg"
    cells = [_fact_cell(each.model_dump(mode="json")) for each in (told, plain)]
    assert [cell["value"] for cell in cells] == ["12 kg", "12"]
    assert [_fact(cell) for cell in cells] == [told, plain]
