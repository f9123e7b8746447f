"""The judge is judged: planted defects are rejected, good candidates are not, and without any one gate a threshold is
missed."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import yaml

from toolscale.cli import main
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import find_folder
from toolscale.errors import UsageError
from toolscale.records import GATES
from toolscale.verify.defects import DEFECTS, Defect, Planted
from toolscale.verify.defects.broken_tools import _twisted
from toolscale.verify.defects.recordings import another
from toolscale.verify.selftest import LINT, SelfTest, _Trial, run_selftest

pytestmark = pytest.mark.xdist_group("selftest")  # what they share takes longer than they do

NO_PLACE = {
    "exchanged_slots",
    "exchanged_values",
    "swapped_arguments",
    "wrong_enum",
    "freeze_and_unfreeze",
    "forgetful_tool",
    "planted_twin",
    "labels_exchanged",
    "refused_part_done",
    "unclear_referent",
}
"""What the mock domain is too small for; `unsaid_condition` seldom finds a place in it."""

SOLE = {
    LINT: "lowest_for_highest",
    "schema": "missing_row",
    "integrity": "broken_invariant",
    "replay": "refused_call",
    "case_agrees": "wrong_case_row",
    "deterministic": "unreproducible_row",
    "engines_agree": "engine_difference",
    "grounded": "hedged_amount",
    "unambiguous": "tie",
    "idle_fails": "handed_over",
    "necessary": "there_and_back",
    "mutants_killed": "deaf_parameter",
    "equivalents_accepted": "contradiction",
    "lawful": "done_though_forbidden",
    "not_leaked": "leaked_word",
    "novel": "duplicate_task",
}
"""Gate -> a kind of defect that is let pass without it."""


@pytest.fixture(scope="module")
def mock() -> SelfTest:
    """A small self-test of the mock domain."""
    environment = load_environment("mock")
    return run_selftest(environment, populate(environment), per_kind=4, seed=1)


def test_the_judge_finds_what_was_planted_and_spares_what_is_good(mock: SelfTest) -> None:
    assert list(mock.missed()) == []
    assert {row.kind for row in mock.kinds if not row.planted} - {"unsaid_condition"} == NO_PLACE
    assert [
        (row.kind, outcome.what)
        for row in mock.kinds
        if not row.open
        for outcome in row.outcomes
        if not outcome.findings
    ] == []
    assert mock.wrongly == mock.collided == () and mock.good > mock.evolved >= 30
    assert {row.level for row in mock.kinds} == {"request", "case", "plan", "tools", "rows", "recording", "company"}


@pytest.mark.parametrize("gate", [LINT, *(gate for gate in GATES if gate != "solvable")])
def test_without_a_gate_a_threshold_is_missed(mock: SelfTest, gate: str) -> None:
    blind = mock.without(gate)
    (row,) = [row for row in blind.kinds if row.kind == SOLE[gate]]
    assert f"{row.rejected} of {row.planted} defects of the kind {row.kind} were rejected, fewer than 90%" in list(
        blind.missed()
    )


def test_a_self_test_draws_the_same_again_and_another_with_another_seed() -> None:
    environment = load_environment("mock")
    rows = populate(environment)
    one, same, other = (
        run_selftest(environment, rows, per_kind=3, seed=seed, kinds=["stray_amount", "tie"]) for seed in (0, 0, 1)
    )
    assert one == same
    assert one.kinds[0].outcomes != other.kinds[0].outcomes


def test_a_kind_that_is_doubted_is_tried_more_often_before_it_counts_as_missed() -> None:
    """A defect that is none is never found."""
    none = Defect("none", "request", "nothing is wrong", lambda ground, candidate, rng: Planted(candidate, "nothing"))
    environment = load_environment("mock")
    trial = _Trial(environment, populate(environment), seed=0)
    rows = [trial.kind(defect, 2) for defect in (none, DEFECTS["stray_amount"])]
    trial.close()
    assert [(row.kind, row.planted, row.rejected) for row in rows] == [("none", 8, 0), ("stray_amount", 2, 2)]


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_who_says_the_last_one_and_means_another_has_a_wrong_premise() -> None:
    """*My last order again, without the roast chicken*, of which there was none in the last one: that the last one does
    not fit made the plan's order the only one that fits."""
    environment = load_environment("restaurant")
    (row,) = run_selftest(environment, populate(environment), kinds=["unsaid_condition"]).kinds
    missed = [outcome.what for outcome in row.outcomes if not outcome.findings]
    assert (row.planted, [what for what in missed if what.startswith("meal ")]) == (10, [])


def test_what_is_a_sum_on_one_engine_alone_is_no_difference_of_engines() -> None:
    """Minutes between two times are a difference on SQLite and a function on DuckDB: turning it round changed nothing
    there, and the judge was blamed."""
    environment = load_environment("restaurant")
    (busy,) = [
        step.statement
        for step in environment.tools["find_tables"].steps
        if step.statement and "ABS" in step.statement.sqlite
    ]
    assert busy not in [statement for statement, _ in _twisted(environment.tools["find_tables"], random.Random(0))]


def test_a_kind_that_there_is_not_is_named() -> None:
    environment = load_environment("mock")
    with pytest.raises(UsageError, match="there is no defect of the kind 'typo'; the kinds are hedged_amount, "):
        run_selftest(environment, populate(environment), kinds=["typo"])


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_a_bank_has_a_place_for_what_the_mock_domain_is_too_small_for() -> None:
    environment = load_environment("finance")
    found = run_selftest(environment, populate(environment), per_kind=2, kinds=sorted(NO_PLACE))
    assert {row.kind: row.rejected for row in found.kinds if not row.open} == dict.fromkeys(
        NO_PLACE - {"labels_exchanged", "exchanged_values"}, 2
    )
    assert {row.planted for row in found.kinds} == {2}
    assert found.wrongly == ()


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_what_only_evolved_tasks_can_have_is_found_or_said_to_be_open() -> None:
    environment = load_environment("finance")
    kinds = ["taken_back_used", "correction_reversed", "condition_turned", "withheld_told", "second_matter_dropped"]
    found = run_selftest(environment, populate(environment), per_kind=2, kinds=kinds)
    assert {row.kind: row.rejected for row in found.kinds if not row.open} == {
        "taken_back_used": 2,
        "withheld_told": 2,
        "second_matter_dropped": 2,
    }
    assert [(row.kind, row.planted) for row in found.kinds if row.open] == [
        ("correction_reversed", 2),
        ("condition_turned", 2),
    ]
    assert found.planted == 6


def test_what_stands_for_a_day_in_an_altered_result_is_a_day() -> None:
    """`2017-06-10x` among the days that were seen ended the self-test of medicine with an error."""
    rng = random.Random(0)
    assert [another(value, rng) for value in ("2017-06-10", "2024-02-29", "Fern Hill", "2017-06-10T09:30")] == [
        "2017-06-11", "2024-03-01", "Fern Hillx", "2017-06-10T09:30x"
    ]  # fmt: skip
    assert another(700, rng) in (600, 699, 701, 800)


def test_a_twin_that_the_schema_does_not_let_in_is_passed_over(tmp_path: Path) -> None:
    folder = shutil.copytree(find_folder("mock"), tmp_path / "mock")
    schema = yaml.safe_load((folder / "schema.yaml").read_text())
    schema["tables"]["members"]["unique"] = [["full_name", "date_of_birth"]]
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema, sort_keys=False))
    environment = load_environment(folder)
    (row,) = run_selftest(environment, populate(environment), per_kind=2, kinds=["homonym"]).kinds
    assert row.planted == 0 and row.not_applicable > 0


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_a_changed_row_keeps_what_is_unique() -> None:
    """A seat was moved onto another one, and the self-test of railway ended with an error of the database."""
    environment = load_environment("railway")
    (row,) = run_selftest(environment, populate(environment), per_kind=4, kinds=["broken_invariant"]).kinds
    assert (row.planted, row.rejected) == (4, 4)


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_a_name_with_an_apostrophe_stands_in_a_condition() -> None:
    """`Saint Anne's` was put between quotes as it is, and the self-test of sport ended in a traceback."""
    environment = load_environment("sport")
    (row,) = run_selftest(environment, populate(environment), per_kind=4, kinds=["unsaid_condition"]).kinds
    assert row.planted == row.rejected


@pytest.mark.slow("tests/verify/test_selftest.py")
def test_a_row_that_the_task_itself_makes_is_no_place_for_a_defect() -> None:
    """It was looked for in the database, and the self-test of restaurant ended in a traceback."""
    environment = load_environment("restaurant")
    (row,) = run_selftest(environment, populate(environment), per_kind=10, kinds=["unreproducible_row"]).kinds
    assert (row.planted, row.rejected) == (10, 10)


def test_candidates_of_all_streams_are_bent(mock: SelfTest) -> None:
    assert 0.3 < mock.evolved / mock.good < 0.6


def test_every_defect_says_what_is_wrong() -> None:
    assert len(DEFECTS) >= 24
    assert [kind for kind, defect in DEFECTS.items() if not defect.words.endswith(".") or kind != defect.kind] == []


def test_the_verb_prints_tables_and_exits_by_the_thresholds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "mock", "--per-kind", "2", "--kinds", "tie,hedged_amount", "--tasks", "0"]) == 0
    shown = capsys.readouterr().out
    assert "hedged_amount" in shown and "4 of 4 planted defects rejected (100.0 %)" in shown
    assert main(["selftest", "mock", "--per-kind", "2", "--kinds", "tie", "--json", "--tasks", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["planted"], found["rejected"], found["kinds"][0]["gates"], found["missed"]) == (
        2,
        2,
        {"unambiguous": 2},
        [],
    )
    assert main(["selftest", "mock", "--kinds", "planted_twin", "--tasks", "0"]) == 1
    assert capsys.readouterr().err == "toolscale: no defect could be planted\n"
    assert main(["selftest", "mock", "--per-kind", "2", "--kinds", "tie", "--tasks", "5"]) == 1
    shown = capsys.readouterr()
    assert "end state; the form is not read" in shown.out
    assert shown.err == "toolscale: the verifier 'money volatile' is not visibly weaker\n"
    assert main(["selftest", "mock", "--kinds", "typo"]) == 2
