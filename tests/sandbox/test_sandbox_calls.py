"""Calls: what they return, what they change, and that both engines agree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_bank import (
    ADD_COUNTER,
    MOVE_COUNTER,
    NOW,
    ROWS,
    SCHEMA,
    SET_STOCK,
    TRANSFER,
    check,
    let,
    let_rows,
    returning,
    statement,
    tool,
    write,
)

from toolscale.errors import SandboxError
from toolscale.records import RowChange, ToolResult
from toolscale.sandbox.base import Sandbox, to_row_changes
from toolscale.sandbox.duckdb import DuckdbSandbox
from toolscale.sandbox.sqlite import SqliteSandbox
from toolscale.sandbox.state import state_hash

PAY = {"source": "a1", "target": "a2", "amount_cents": 12_000}


@pytest.fixture(params=[SqliteSandbox, DuckdbSandbox], ids=["sqlite", "duckdb"], scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    sandbox: Sandbox = request.param(SCHEMA, ROWS, now=NOW)
    yield sandbox
    sandbox.close()


@pytest.fixture
def bank(engine: Sandbox) -> Iterator[Sandbox]:
    engine.begin()
    yield engine
    engine.rollback()


def test_a_call_returns_value_row_and_rows(bank: Sandbox) -> None:
    assert bank.call(TRANSFER, PAY) == ToolResult(
        value={
            "balance": 38_000,
            "account": {"account_id": "a2", "status": "active"},
            "made": [{"account_id": "a1", "is_credit": 0}, {"account_id": "a2", "is_credit": 1}],
        }
    )


def test_returns_can_be_left_out(bank: Sandbox) -> None:
    assert bank.call(TRANSFER, PAY, returns=False) == ToolResult(value=None)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"target": "a1"}, "Source and destination must differ"),
        ({"source": "zz"}, "Account zz not found"),
        ({"target": "a3"}, "Account a3 is frozen"),
        ({"amount_cents": 123_456_789}, "Only $500.00 available, not $1,234,567.89"),
    ],
)
def test_a_failing_guard_is_a_result_and_changes_nothing(
    bank: Sandbox, arguments: dict[str, object], error: str
) -> None:
    assert bank.call(TRANSFER, {**PAY, **arguments}) == ToolResult(error=error)
    assert bank.net_changes() == {}


def test_net_changes_become_records(bank: Sandbox) -> None:
    bank.call(SET_STOCK, {"shelf": 1, "slot": 2, "stock": 9})
    bank.call(MOVE_COUNTER, {"shelf": 2, "slot": 1, "to_slot": 7})
    assert to_row_changes(SCHEMA, bank.net_changes()) == (
        RowChange(
            table="counters",
            key=(1, 2),
            before={"shelf": 1, "slot": 2, "stock": None},
            after={"shelf": 1, "slot": 2, "stock": 9},
        ),
        RowChange(table="counters", key=(2, 1), before={"shelf": 2, "slot": 1, "stock": 0}, after=None),
        RowChange(table="counters", key=(2, 7), before=None, after={"shelf": 2, "slot": 7, "stock": 0}),
    )


def test_rollback_restores_the_state_hash(bank: Sandbox) -> None:
    bank.call(TRANSFER, PAY)
    assert bank.state_hash() != state_hash(SCHEMA, ROWS)
    bank.rollback()
    assert bank.state_hash() == state_hash(SCHEMA, ROWS)


def test_ids_depend_on_the_call_and_its_occurrence_alone(bank: Sandbox) -> None:
    back = {"source": "a2", "target": "a1", "amount_cents": 5}
    for arguments in (PAY, back, PAY):
        bank.call(TRANSFER, arguments)
    first = bank.net_changes()
    bank.begin()
    for arguments in (back, PAY, PAY):
        bank.call(TRANSFER, arguments)
    assert bank.net_changes() == first
    assert len([place for place in first if place[0] == "transfers"]) == 6


def test_a_refused_call_uses_up_no_id(bank: Sandbox) -> None:
    bank.call(TRANSFER, PAY)
    first = bank.net_changes()
    bank.begin()
    bank.call(TRANSFER, {**PAY, "amount_cents": 99_999_999})
    bank.call(TRANSFER, PAY)
    assert bank.net_changes() == first


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (write("counters", "INSERT INTO counters (shelf, slot, stock) VALUES (1, 1, 1)"), "unique"),
        (write("accounts", "UPDATE accounts SET available_cents = -1 WHERE account_id = 'a1'"), "check"),
        (write("accounts", "UPDATE accounts SET status = 'lost' WHERE account_id = 'a1'"), "check"),
        (write("accounts", "UPDATE accounts SET status = NULL WHERE account_id = 'a1'"), "not null"),
        (write("transfers", "UPDATE transfers SET account_id = 'zz'"), "foreign key"),
        (write("accounts", "DELETE FROM accounts WHERE account_id = 'a1'"), "foreign key"),
        (write("transfers", "UPDATE transfers SET is_credit = 2"), "check"),
        (write("transfers", "UPDATE transfers SET made_at = '2026-03-01'"), "check"),
        (write("counters", "UPDATE counters SET stock = 'many'"), "type"),
    ],
)
def test_a_constraint_is_a_result_and_undoes_the_call(bank: Sandbox, step: object, kind: str) -> None:
    bank.call(ADD_COUNTER, {"shelf": 9, "slot": 9, "stock": 9})
    before = bank.net_changes()
    broken = tool("broken", "", write("counters", "UPDATE counters SET stock = 77 WHERE shelf = 1"), step)  # type: ignore[arg-type]
    assert bank.call(broken, {}) == ToolResult(error=f"constraint: {kind}")
    assert bank.net_changes() == before
    assert bank.call(SET_STOCK, {"shelf": 9, "slot": 9, "stock": 8}).ok


def test_an_array_is_a_relation(bank: Sandbox) -> None:
    relation = (
        "WITH slots AS (SELECT CAST(key AS BIGINT) AS ord, "
        "CAST(value ->> '$.value' AS BIGINT) AS value FROM json_each(:slots)) "
        "SELECT ord, value FROM slots ORDER BY ord"
    )
    listing = tool("listing", "slots", returns=(returning("slots", "rows", relation, "ord value"),))
    assert bank.call(listing, {"slots": [7, True]}) == ToolResult(
        value={"slots": [{"ord": 0, "value": 7}, {"ord": 1, "value": 1}]}
    )


def test_let_rows_are_evaluated_once(bank: Sandbox) -> None:
    relation = (
        "WITH seen AS (SELECT CAST(value ->> '$.stock' AS BIGINT) AS stock FROM json_each(:seen)) "
        "SELECT SUM(stock) AS total FROM seen"
    )
    empty = tool(
        "empty",
        "",
        let_rows("seen", "SELECT stock FROM counters ORDER BY shelf, slot", "stock"),
        write("counters", "UPDATE counters SET stock = 0"),
        returns=(returning("total", "value", relation, "total"),),
    )
    assert bank.call(empty, {}) == ToolResult(value={"total": 5})


def test_a_let_without_error_binds_nulls(bank: Sandbox) -> None:
    optional = tool(
        "optional",
        "id",
        let("found", "SELECT status FROM accounts WHERE account_id = :id", "status"),
        check(":found.status IS NULL", "It is there"),
    )
    assert [bank.call(optional, {"id": name}).error for name in ("zz", "a1")] == [None, "It is there"]


def test_a_let_of_several_rows_is_an_error_of_the_spec(bank: Sandbox) -> None:
    ambiguous = tool("ambiguous", "", let("found", "SELECT status FROM accounts", "status"))
    with pytest.raises(SandboxError, match="3 rows where one is bound"):
        bank.call(ambiguous, {})


def test_two_parameters_may_multiply_beyond_32_bits(bank: Sandbox) -> None:
    product = tool("product", "a b", returns=(returning("product", "value", "SELECT :a * :b AS product", "product"),))
    assert bank.call(product, {"a": 100_000, "b": 100_000}) == ToolResult(value={"product": 10_000_000_000})


def test_a_sum_beyond_64_bits_is_a_result(bank: Sandbox) -> None:
    text = "SELECT SUM(CAST(value ->> '$.value' AS BIGINT)) AS total FROM json_each(:amounts)"
    total = tool("total", "amounts", returns=(returning("total", "value", text, "total"),))
    assert bank.call(total, {"amounts": [2**62, 2**62 - 1]}) == ToolResult(value={"total": 2**63 - 1})
    assert bank.call(total, {"amounts": [2**62, 2**62]}) == ToolResult(error="constraint: overflow")
    assert bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6}).ok


@pytest.mark.parametrize("value", [2**63, "a\0b", "\ud800", 1.5])
def test_what_engines_do_not_bind_alike_is_refused(bank: Sandbox, value: object) -> None:
    result = bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": value})
    assert result.error is not None
    assert result.error.startswith("constraint: stock is ")


def test_going_back_to_a_mark_forgets_rows_and_ids(bank: Sandbox) -> None:
    bank.call(TRANSFER, PAY)
    mark = bank.savepoint()
    prefix = bank.net_changes()
    bank.call(TRANSFER, PAY)
    with_both = bank.net_changes()
    bank.rollback_to(mark)
    assert bank.net_changes() == prefix
    bank.call(TRANSFER, PAY)
    assert bank.net_changes() == with_both


def test_a_mark_that_was_rolled_back_over_is_refused(bank: Sandbox) -> None:
    outer = bank.savepoint()
    inner = bank.savepoint()
    bank.rollback_to(outer)
    with pytest.raises(SandboxError, match="rolled back over"):
        bank.rollback_to(inner)


def test_a_query_reads_the_current_state(bank: Sandbox) -> None:
    bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6})
    assert bank.query(
        statement("SELECT slot, stock FROM counters WHERE shelf = :shelf ORDER BY slot"), {"shelf": 1}
    ) == [(1, 6), (2, None)]


def test_a_call_without_an_episode_is_refused(engine: Sandbox) -> None:
    with pytest.raises(SandboxError, match="begin"):
        engine.call(TRANSFER, PAY)


def test_touched_keeps_the_order_of_first_touch_and_rows_written_to_what_they_were() -> None:
    sandbox = SqliteSandbox(SCHEMA, ROWS, now=NOW)
    sandbox.begin()
    for slot, stock in ((2, 3), (1, 5), (2, None)):
        sandbox.call(SET_STOCK, {"shelf": 1, "slot": slot, "stock": stock})
    assert sandbox.touched() == [("counters", (1, 2)), ("counters", (1, 1))]
    assert sandbox.net_changes() == {}


def test_rows_that_refer_to_nothing_cannot_be_loaded() -> None:
    with pytest.raises(SandboxError, match="a row of transfers refers to a missing row of accounts"):
        SqliteSandbox(SCHEMA, {**ROWS, "accounts": []}, now=NOW)
