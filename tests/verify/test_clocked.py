"""A boat desk: departures at times of day, lengths in minutes. Its tasks are made, judged, told and graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.environment.admission import admit
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.verify.selftest import run_selftest
from toolscale.verify.yields import measure_yields

FOLDER = Path(__file__).parent / "boats"


@pytest.fixture(scope="module")
def boats() -> Environment:
    return load_environment(FOLDER)


def test_it_is_admitted_on_both_engines(boats: Environment) -> None:
    assert {name for name, tool in admit(boats).tools.items() if tool.mutates_state} == {
        "move_crossing", "extend_crossing", "cancel_crossing", "transfer_to_human",
    }  # fmt: skip


def test_its_candidates_are_accepted(boats: Environment) -> None:
    found = {item.intent: (item.judged, item.accepted) for item in measure_yields(boats, 4) if item.kind == "plain"}
    assert found == dict.fromkeys(
        (
            "move",
            "extend",
            "cancel_by_luggage",
            "cancel_by_boarding",
            "cancel_earliest",
            "cancel_longest",
            "move_too_late",
        ),
        (4, 4),
    )


def test_what_is_planted_in_times_and_lengths_is_found(boats: Environment) -> None:
    kinds = [
        "hedged_amount", "hedged_date", "bound_for_amount", "another_amount", "off_by_one_day", "two_reading_date",
        "leaked_answer", "lowest_for_highest", "fact_of_another_row", "engine_difference",
    ]  # fmt: skip
    found = run_selftest(boats, populate(boats), per_kind=3, kinds=kinds)
    assert {row.kind: (row.planted, row.rejected) for row in found.kinds} == dict.fromkeys(kinds, (3, 3))
