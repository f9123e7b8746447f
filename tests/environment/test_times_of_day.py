"""Times of day in a domain: columns, recipes of rows, parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecError

Spoil = Callable[..., Path]

COLUMN = (
    "schema.yaml",
    "paid_at: {type: datetime}",
    "paid_at: {type: datetime}\n      slot_time: {type: time, nullable: true}",
)


def recipe(value: str) -> tuple[str, str, str]:
    return ("population.yaml", "paid_at:", f"slot_time: {value}\n      paid_at:")


def test_a_range_gives_times_on_its_grid_and_a_datetime_may_have_a_step(spoil: Spoil) -> None:
    folder = spoil(
        COLUMN, recipe("{time: [06:15, 09:00], step: 45}"), ("population.yaml", "datetime: [", "step: 30, datetime: [")
    )
    environment = load_environment(folder)
    columns = list(environment.schema.tables["payments"].columns)
    rows = populate(environment)["payments"]
    assert {row[columns.index("slot_time")] for row in rows} <= {"06:15", "07:00", "07:45", "08:30"}
    assert {row[columns.index("paid_at")][14:] for row in rows} <= {"00:00", "30:00"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{time: ['6:15', '09:00']}", "'6:15' is not a time of day; write it as 'HH:MM'"),
        ("{time: [22:00, 06:00]}", r"\[22:00, 06:00\] is empty; write the earlier time first; a night is two ranges"),
        ("{value: 24:00}", "slot_time is '24:00', not a time of day HH:MM, from 00:00 to 23:59"),
    ],
)
def test_what_is_no_time_is_named(spoil: Spoil, value: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        populate(load_environment(spoil(COLUMN, recipe(value))))


PARAMETER = (
    "toolset.yaml", "tools:", """tools:
  - name: count_slots
    description: Count payments before a time.
    parameters: {before_time: {type: string, format: time}}
    returns: {count: {value: "SELECT COUNT(*) AS count FROM payments WHERE slot_time < :before_time"}}""",
)  # fmt: skip


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_parameter_takes_a_time_of_day_alone(spoil: Spoil, engine: str) -> None:
    environment = load_environment(spoil(COLUMN, recipe("{value: 14:05}"), PARAMETER))
    world = World(environment, populate(environment), engine=engine)  # type: ignore[arg-type]
    counted = world.call("count_slots", {"before_time": "14:06"})
    assert counted.value["count"] > 0
    assert world.call("count_slots", {"before_time": "14:05"}).value == {"count": 0}
    assert "'2:06 pm' is not a 'time'; write HH:MM, from 00:00 to 23:59" in str(
        world.call("count_slots", {"before_time": "2:06 pm"}).error
    )
