"""What compiles gives the same result on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.written import LETS, PARAMS, RELATIONS, SELECTS, VALUES, WRITES
from toolscale.records import SchemaSpec
from toolscale.sql.statements import compile_condition, compile_select, compile_write

Run = Callable[..., tuple[Any, Any]]


@pytest.mark.parametrize("text", SELECTS)
def test_selects_agree(bank: SchemaSpec, on_both: Run, text: str) -> None:
    statement = compile_select(text, bank, params=PARAMS, lets=LETS, relations=RELATIONS)
    one, two = on_both(statement, VALUES)
    assert one == two
    assert one, "a statement without rows shows nothing"
    assert [[type(value) for value in row] for row in one] == [[type(value) for value in row] for row in two]


@pytest.mark.parametrize("text", WRITES)
def test_writes_agree(bank: SchemaSpec, on_both: Run, text: str) -> None:
    statement = compile_write(text, bank, params=PARAMS, relations=RELATIONS)
    one, two = on_both(statement, VALUES)
    assert one == two
    unchanged, _ = on_both(compile_write("DELETE FROM clients WHERE client_id = ''", bank))
    assert one != unchanged


@pytest.mark.parametrize(
    "text",
    [
        "balance_cents >= 0",
        "(status = 'active') = (balance_cents >= 0)",
        "limit_cents IS NULL OR limit_cents > balance_cents",
        (
            "balance_cents > "
            "(SELECT COALESCE(SUM(p.amount_cents), 0) FROM postings AS p WHERE p.account_id = accounts.account_id)"
        ),
        "EXISTS (SELECT 1 FROM clients AS c WHERE c.client_id = accounts.client_id AND c.is_active)",
        "LENGTH(status)",
        "1 = 1",
    ],
)
def test_conditions_over_a_table_agree(bank: SchemaSpec, on_both: Run, text: str) -> None:
    statement = compile_condition(text, bank, table="accounts")
    assert statement.columns == ("account_id", "holds")
    one, two = on_both(statement)
    assert sorted(one) == sorted(two)
    assert len(one) == 4
