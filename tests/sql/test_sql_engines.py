"""What compiles gives the same result on both engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.records import ColumnType, SchemaSpec
from toolscale.sql.statements import compile_condition, compile_select, compile_write

Run = Callable[..., tuple[Any, Any]]

PARAMS: dict[str, ColumnType] = {
    "id": "text",
    "name": "text",
    "amount": "cents",
    "day": "date",
    "flag": "bool",
    "nothing": "text",
    "zero": "int",
}
RELATIONS: dict[str, dict[str, ColumnType]] = {
    "ids": {"value": "text"},
    "items": {"account_id": "text", "amount_cents": "cents"},
}
VALUES = {
    "id": "a1",
    "name": "ann Émile",
    "amount": 70_000,
    "day": "2026-01-31",
    "flag": 1,
    "nothing": None,
    "zero": 0,
    "src__balance_cents": 10_050,
    "ids": '[{"value":"a2"},{"value":"a1"},{"value":null},{"value":"a2"}]',
    "items": (
        '[{"account_id":"a1","amount_cents":250},'
        '{"account_id":"a3","amount_cents":null},'
        '{"account_id":"a1","amount_cents":-1}]'
    ),
}

HERE = Path(__file__).parent
SELECTS = (HERE / "selects.txt").read_text().splitlines()
WRITES = (HERE / "writes.txt").read_text().splitlines()


@pytest.mark.parametrize("text", SELECTS)
def test_selects_agree(bank: SchemaSpec, on_both: Run, text: str) -> None:
    statement = compile_select(text, bank, params=PARAMS, lets={"src": {"balance_cents": "cents"}}, relations=RELATIONS)
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
