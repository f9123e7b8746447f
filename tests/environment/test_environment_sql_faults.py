"""Faults in the SQL of a folder: each is one line with file, place, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.environment import load_environment
from toolscale.errors import SpecError

Spoil = Callable[..., Path]

RETURN = "UPDATE loans SET status = 'returned', returned_on = :today WHERE loan_id = :loan_id"
ORDER = "WHERE member_id = :member_id ORDER BY due_on, loan_id"


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (
            "toolset.yaml",
            "SELECT loan_id, title, due_on, renewals FROM",
            "SELECT loan_id, titel, due_on, renewals FROM",
            "toolset.yaml: tools[renew_loan].returns.loan.row: unknown column 'titel'; did you mean title? "
            "use one of loan_id, member_id, title, due_on, renewals, status, returned_on",
        ),
        (
            "toolset.yaml",
            RETURN,
            f"{RETURN}; DELETE FROM loans",
            "toolset.yaml: tools[return_loan].steps[2].exec: a second statement 'DELETE FROM loans' follows ';'; "
            "write one statement; further ones are steps of their own",
        ),
        (
            "toolset.yaml",
            RETURN,
            RETURN.replace(":today", "date('now')"),
            "toolset.yaml: tools[return_loan].steps[2].exec: function date is not in the SQL subset; "
            "use add_days, days_between, add_months, month_of, "
            "date_of, time_of, minutes_between or add_minutes, and :today or :now for the clock",
        ),
        (
            "toolset.yaml",
            f"- exec: {RETURN}\n",
            f"- exec: {RETURN}\n      - check: \":loan_id <> 'x'\"\n        error: Too late\n",
            "toolset.yaml: tools[return_loan].steps[3]: the check can fail after steps[2] has written; "
            "put every guard before the first exec",
        ),
        (
            "toolset.yaml",
            "Member {member_id} not found",
            "Member {id} not found",
            "toolset.yaml: tools[list_loans].steps[0].error: the error names {id}, which is unknown here; "
            "use one of now, today, member_id",
        ),
        (
            "toolset.yaml",
            ORDER,
            ORDER.replace(", loan_id", ""),
            "toolset.yaml: tools[list_loans].returns.loans.rows: the order of the rows is not fixed; "
            "ORDER BY columns that include a unique key of what is read",
        ),
        (
            "rules.yaml",
            "holds: fees_cents >= 0",
            "holds: fee_cents >= 0",
            "rules.yaml: invariants.no_negative_fees.holds: unknown column 'fee_cents'; did you mean fees_cents? "
            "use one of member_id, full_name, date_of_birth, status, fees_cents",
        ),
        (
            "schema.yaml",
            "check: renewals >= 0",
            "check: renewal >= 0",
            "schema.yaml: tables.loans.columns.renewals.check: unknown column 'renewal'; did you mean renewals? "
            "use one of loan_id, member_id, title, due_on, renewals, status, returned_on",
        ),
        (
            "population.yaml",
            "where: fees_cents < 9000",
            "where: fee_cents < 9000",
            "population.yaml: tables[2].where: fee_cents is not a column made before this one; "
            "known here: _first, _last, date_of_birth, fees_cents, full_name, member_id, status",
        ),
        (
            "population.yaml",
            "UPDATE loans SET due_on = add_days",
            "UPDATE loans SET due_at = add_days",
            "population.yaml: derive[0]: unknown column 'due_at' of loans; "
            "use one of loan_id, member_id, title, due_on, renewals, status, returned_on",
        ),
    ],
)
def test_one_fault_is_one_line(spoil: Spoil, file: str, old: str, new: str, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_environment(spoil((file, old, new)))
    assert str(caught.value) == line
