"""Admission: every guard reached, both engines alike; what is not is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.admission import admit, ensure_admitted
from toolscale.environment.admission_file import read_admission, write_admission
from toolscale.environment.builtins import CALCULATE
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.search import guards_of
from toolscale.errors import SpecError
from toolscale.records import Admission
from toolscale.sandbox.base import Rows
from toolscale.sandbox.state import state_hash

Spoil = Callable[..., Path]


def findings(folder: Path, cache: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        admit(load_environment(folder), cache)
    return [str(issue) for issue in caught.value.issues]


def test_every_guard_of_every_tool_is_reached(
    mock_environment: Environment, mock_rows: Rows, mock_admission: Admission
) -> None:
    tools = {name: tool for name, tool in mock_environment.tools.items() if name != CALCULATE}
    assert {name: mock_admission.tools[name].guards_reached for name in tools} == {
        name: len(guards_of(tool)) for name, tool in tools.items()
    }
    assert {
        name: tool.boundary_calls
        for name, tool in mock_admission.tools.items()
        if mock_environment.tools[name].spec.parameters
    } == {
        **dict.fromkeys(tools, 200),
        CALCULATE: 0,
    }
    assert mock_admission.initial_state_hash == state_hash(mock_environment.schema, mock_rows)
    assert mock_admission.tools["pay_fees"].writes == ("members.fees_cents", "payments.*")
    assert mock_admission.tools["renew_loan"].consumes == {"loan_id": ("loans.loan_id",)}


def test_a_guard_that_no_row_breaks_is_named(spoil: Spoil, tried: Path) -> None:
    folder = spoil(
        (
            "toolset.yaml",
            "forbid: SELECT title, due_on FROM loans WHERE loan_id = :loan_id AND due_on < :today",
            ("forbid: SELECT title, due_on FROM loans WHERE loan_id = :loan_id AND renewals > 99"),
        )
    )
    assert findings(folder, tried) == [
        "toolset.yaml: tools[renew_loan].steps[2]: no generated call reaches the guard "
        "'{title} was due on {due_on} and cannot be renewed'; "
        "plant rows that break it, remove it, or add a call to cases.yaml"
    ]


def test_a_guard_that_only_a_case_reaches_counts(spoil: Spoil, tried: Path) -> None:
    late = "forbid: SELECT title, due_on FROM loans WHERE loan_id = :loan_id AND due_on < :today"
    case = """calls:
  - title: after many renewals
    before: [RENEWALS]
    call: {renew_loan: {loan_id: ln_1079}}
    error: The Salt Road was due on 2026-10-08 and cannot be renewed
""".replace(
        "RENEWALS",
        ", ".join(["renew_loan: {loan_id: ln_1079, days: 28}"] * 7)
        .replace("renew_loan", "{renew_loan")
        .replace("28}", "28}}"),
    )
    folder = spoil(
        ("toolset.yaml", late, "forbid: SELECT title, due_on FROM loans WHERE loan_id = :loan_id AND renewals > 8"),
        ("cases.yaml", "calls:\n", case),
    )
    assert admit(load_environment(folder), tried).tools["renew_loan"].guards_reached == 3


def test_a_tool_that_never_succeeds_is_named(spoil: Spoil, tried: Path) -> None:
    folder = spoil(("toolset.yaml", '- check: ":amount_cents <= :member.fees_cents"', '- check: ":amount_cents <= 0"'))
    assert (
        "toolset.yaml: tools[pay_fees]: no generated call succeeds; "
        "correct it, plant rows on which it does, or add a call to cases.yaml" in findings(folder, tried)
    )


def test_a_write_that_a_constraint_stops_is_named(spoil: Spoil, tried: Path) -> None:
    folder = spoil(("toolset.yaml", '- check: ":amount_cents <= :member.fees_cents"', '- check: ":amount_cents <> 7"'))
    lines = findings(folder, tried)
    assert any(
        line.startswith("toolset.yaml: tools[pay_fees]: pay_fees(") and "breaks a constraint: " in line
        for line in lines
    )
    assert all(
        line.endswith("; add a guard that refuses the call before it writes")
        for line in lines
        if "breaks a constraint" in line
    )


def test_a_broken_invariant_is_named(spoil: Spoil, tried: Path) -> None:
    folder = spoil(("toolset.yaml", "status = 'returned', returned_on = :today", "status = 'returned'"))
    lines = findings(folder, tried)
    assert lines
    assert all(line.startswith("toolset.yaml: tools[return_loan]: after return_loan(") for line in lines)
    assert all(
        "of loans breaks the invariant returned_has_a_day; correct the writes, or the invariant" in line
        for line in lines
    )


def test_rows_that_break_an_invariant_are_named(spoil: Spoil, tried: Path) -> None:
    folder = spoil(("rules.yaml", "holds: fees_cents >= 0", "holds: fees_cents > 4000"))
    assert findings(folder, tried)[0] == (
        "population.yaml: members: after the populated rows row mb_1006 of members breaks the invariant "
        "no_negative_fees; correct the writes, or the invariant"
    )


def test_an_admission_is_kept(spoil: Spoil, tmp_path: Path, mock_admission: Admission) -> None:
    environment = load_environment(spoil())
    assert read_admission(environment.folder) is None
    first = ensure_admitted(environment, tmp_path / "cache")
    assert first == mock_admission
    (kept,) = (tmp_path / "cache").glob("*.json")
    kept.write_text(kept.read_text().replace('"calls": ', '"calls": 1'))
    assert ensure_admitted(environment, tmp_path / "cache") != first
    write_admission(environment.folder, first)
    assert ensure_admitted(environment, tmp_path / "cache") == first
