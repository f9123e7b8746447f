"""A boat desk: departures at times of day, lengths in minutes. Its tasks are made, judged, told and graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.environment.admission import admit
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.language.facts import grade_answer
from toolscale.language.shown import Shown, ShownRow
from toolscale.records import Fact
from toolscale.verify.selftest import run_selftest
from toolscale.verify.yields import measure_yields

FOLDER = Path(__file__).parent / "boats"
TODAY = "2026-03-16"


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
        ("move", "extend", "cancel_by_luggage", "cancel_earliest", "cancel_longest", "move_too_late"), (4, 4)
    )


def test_what_is_planted_in_times_and_lengths_is_found(boats: Environment) -> None:
    kinds = [
        "hedged_amount", "hedged_date", "bound_for_amount", "another_amount", "off_by_one_day", "two_reading_date",
        "leaked_answer", "lowest_for_highest", "fact_of_another_row", "engine_difference",
    ]  # fmt: skip
    found = run_selftest(boats, populate(boats), per_kind=3, kinds=kinds)
    assert {row.kind: (row.planted, row.rejected) for row in found.kinds} == dict.fromkeys(kinds, (3, 3))


SHOWN = Shown(
    rows=(
        ShownRow(
            frozenset({"grey heron"}),
            {"departs_time": ("time", "09:30"), "arrives_time": ("time", "10:50"), "length_minutes": ("duration", 80)},
        ),
        ShownRow(
            frozenset({"salt lark"}),
            {"departs_time": ("time", "14:05"), "arrives_time": ("time", "16:00"), "length_minutes": ("duration", 115)},
        ),
    ),
    sorts={"grey heron": frozenset({"crossing_id"}), "salt lark": frozenset({"crossing_id"})},
)
OBSERVED = {"time": frozenset({"09:30", "10:50", "14:05", "16:00"}), "duration": frozenset({80, 115})}

DEPARTS = Fact(kind="time", value="09:30")
LASTS = Fact(kind="duration", value=80)


@pytest.mark.parametrize(
    "answer",
    [
        "It leaves at 9:30 am and takes 1 hour and 20 minutes.",
        "Departure is at 09:30, and you are on the water for 80 minutes.",
        "It leaves at half past nine and takes an hour and twenty minutes.",  # no other half past nine was shown
        "It leaves at 9.30 a.m. The crossing takes 1 h 20.",
        "It departs at 2026-03-20T09:30:00 and takes 1h20.",
        "Your 80-minute crossing leaves at 9:30 and gets in at 10:50.",
        "It leaves at 9:30 in the morning, 80 min. in all. The Salt Lark, at 2:05 pm, takes 115 minutes.",
    ],
)
def test_a_time_and_a_length_are_told_in_many_ways(answer: str) -> None:
    finding = grade_answer(answer, [DEPARTS, LASTS], today=TODAY, shown=SHOWN, observed=OBSERVED)
    assert finding is None


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ("It leaves at 9:30 pm and takes 80 minutes.", "the time is not stated as '09:30'"),
        ("It leaves around 9:30 am and takes 80 minutes.", "the time is not stated as '09:30'"),
        ("It leaves at 10:30 am and takes 80 minutes.", "the time is not stated as '09:30'"),
        ("It leaves at 9:30 am and takes about 80 minutes.", "the duration is not stated as 80"),
        ("It leaves at 9:30 am and takes 1 hour and 10 minutes.", "the duration is not stated as 80"),
        ("It leaves at 9:30 am and takes 80 to 90 minutes.", "the duration is not stated as 80"),
        ("It leaves at 9:30 am and takes 80 minutes, or 75 minutes.", "the duration is not stated as 80"),
        ("It leaves at 9:30 am and takes 80 minutes. It leaves at 11:45.", "a time that nothing gave: 11:45"),
        ("It takes 80 minutes. It leaves at 9:30 am. It leaves at 10 am.", "a time that nothing gave: 10 am"),
        ("It left 80 minutes ago, at 9:30 am.", "the duration is not stated as 80"),
    ],
)
def test_another_time_or_length_is_refused(answer: str, finding: str) -> None:
    assert grade_answer(answer, [DEPARTS, LASTS], today=TODAY, shown=SHOWN, observed=OBSERVED) == finding


def test_a_departure_is_not_told_as_an_arrival() -> None:
    told = "It takes 80 minutes and {} 2:05 pm."
    found = {
        said: grade_answer(told.format(said), [LASTS], today=TODAY, shown=SHOWN, observed=OBSERVED)
        for said in ("leaves at", "arrives at")
    }
    assert found == {"leaves at": None, "arrives at": "says 2:05 pm of the end"}


def test_am_and_pm_may_be_left_open_only_where_the_other_was_not_shown() -> None:
    both = {"time": frozenset({"09:30", "21:30"})}
    assert grade_answer("It leaves at 9:30.", [DEPARTS], today=TODAY) is None
    assert grade_answer("It leaves at 9:30.", [DEPARTS], today=TODAY, observed=both) is not None
    assert grade_answer("It leaves at 9:30 am.", [DEPARTS], today=TODAY, observed=both) is None


def test_a_length_follows_from_two_times_and_a_time_from_a_time_and_a_length() -> None:
    assert 80 in SHOWN.lengths_between and 1440 - 80 in SHOWN.lengths_between
    assert "11:25" in SHOWN.times_on and "08:10" in SHOWN.times_on  # 09:30 and 115 minutes; 09:30 less 80


def test_a_withheld_time_is_disclosed_in_any_form() -> None:
    private = DEPARTS.model_copy(update={"withheld": True})
    for answer in ("I cannot say that it leaves at half past nine.", "Around 9:30 am, I think."):
        assert str(grade_answer(answer, [private], today=TODAY)).startswith("discloses the time that is withheld")
