"""A bank of two tables and tools built by hand, so that these tests need no compiler."""

from __future__ import annotations

import re
from typing import Any

from toolscale.records import SchemaSpec, ToolSpec
from toolscale.sandbox.base import Rows
from toolscale.sql.compiled import CompiledReturn, CompiledStep, CompiledTool, Statement

NOW = "2026-03-18T09:30:00"

SCHEMA = SchemaSpec.model_validate(
    {
        "tables": {
            "accounts": {
                "columns": {
                    "account_id": {"type": "text", "pk": True},
                    "client_id": {"type": "text"},
                    "status": {"type": "text", "values": ["active", "frozen"]},
                    "available_cents": {"type": "cents", "check": "available_cents >= 0"},
                }
            },
            "transfers": {
                "columns": {
                    "transfer_id": {"type": "text", "pk": True},
                    "account_id": {"type": "text", "fk": "accounts.account_id"},
                    "amount_cents": {"type": "cents"},
                    "is_credit": {"type": "bool"},
                    "made_at": {"type": "datetime"},
                    "memo": {"type": "text", "nullable": True},
                }
            },
            "counters": {
                "columns": {
                    "shelf": {"type": "int", "pk": True},
                    "slot": {"type": "int", "pk": True},
                    "stock": {"type": "int", "nullable": True},
                }
            },
        }
    }
)

ROWS: Rows = {
    "accounts": [("a1", "c1", "active", 50_000), ("a2", "c1", "active", 1_000), ("a3", "c2", "frozen", 7)],
    "transfers": [("t1", "a1", 500, 1, "2026-03-01T10:00:00", None)],
    "counters": [(1, 1, 5), (1, 2, None), (2, 1, 0)],
}


def statement(sql: str, columns: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> Statement:
    """Return a Statement of one text; `:name` becomes `$name` for DuckDB, dots in names become two underscores."""
    text = re.sub(r":([a-z_]+)\.([a-z_]+)", r":\1__\2", sql)
    binds = tuple(dict.fromkeys(re.findall(r":([a-z_][a-z0-9_]*)", text)))
    return Statement(
        source=sql,
        sqlite=text,
        duckdb=re.sub(r":([a-z_])", r"$\1", text),
        binds=binds,
        columns=columns,
        types=(None,) * len(columns),
        lineage=(None,) * len(columns),
        reads=frozenset(),
        writes=frozenset((table, "*") for table in writes),
    )


def let(name: str, sql: str, columns: str, error: str | None = None) -> CompiledStep:
    return CompiledStep("let", f"tool.{name}", name, statement(sql, tuple(columns.split())), error)


def let_rows(name: str, sql: str, columns: str) -> CompiledStep:
    return CompiledStep("let_rows", f"tool.{name}", name, statement(sql, tuple(columns.split())), None)


def check(condition: str, error: str) -> CompiledStep:
    return CompiledStep("check", "tool.check", None, statement(f"SELECT ({condition}) AS holds", ("holds",)), error)


def forbid(sql: str, columns: str, error: str) -> CompiledStep:
    return CompiledStep("forbid", "tool.forbid", None, statement(sql, tuple(columns.split())), error)


def new_id(name: str, prefix: str, *from_: str) -> CompiledStep:
    return CompiledStep("new_id", f"tool.{name}", name, None, None, prefix, from_)


def write(table: str, sql: str) -> CompiledStep:
    return CompiledStep("exec", f"tool.{table}", None, statement(sql, writes=(table,)), None)


def returning(name: str, mode: Any, sql: str, columns: str) -> CompiledReturn:
    return CompiledReturn(name, mode, statement(sql, tuple(columns.split())))


def tool(name: str, parameters: str, *steps: CompiledStep, returns: tuple[CompiledReturn, ...] = ()) -> CompiledTool:
    spec = ToolSpec(
        name=name, description=name, parameters={parameter: {} for parameter in parameters.split()}, returns={}
    )
    writes = frozenset(column for step in steps if step.statement for column in step.statement.writes)
    return CompiledTool(spec, steps, returns, bool(writes), frozenset(), writes, {}, {}, frozenset())


TRANSFER = tool(
    "transfer",
    "source target amount_cents",
    check(":source <> :target", "Source and destination must differ"),
    let(
        "src",
        "SELECT status, available_cents FROM accounts WHERE account_id = :source",
        "status available_cents",
        "Account {source} not found",
    ),
    forbid(
        "SELECT account_id, status FROM accounts "
        "WHERE account_id IN (:source, :target) AND status <> 'active' ORDER BY account_id",
        "account_id status",
        "Account {account_id} is {status}",
    ),
    check(
        ":src.available_cents >= :amount_cents", "Only {src.available_cents|money} available, not {amount_cents|money}"
    ),
    new_id("debit_id", "tx_", "source", "target", "amount_cents"),
    new_id("credit_id", "tx_", "source", "target", "amount_cents"),
    write(
        "accounts", "UPDATE accounts SET available_cents = available_cents - :amount_cents WHERE account_id = :source"
    ),
    write(
        "accounts", "UPDATE accounts SET available_cents = available_cents + :amount_cents WHERE account_id = :target"
    ),
    write(
        "transfers",
        "INSERT INTO transfers (transfer_id, account_id, amount_cents, is_credit, made_at, memo) "
        "VALUES (:debit_id, :source, :amount_cents, 0, :now, NULL), "
        "(:credit_id, :target, :amount_cents, 1, :now, NULL)",
    ),
    returns=(
        returning(
            "balance", "value", "SELECT available_cents FROM accounts WHERE account_id = :source", "available_cents"
        ),
        returning(
            "account", "row", "SELECT account_id, status FROM accounts WHERE account_id = :target", "account_id status"
        ),
        returning(
            "made",
            "rows",
            "SELECT account_id, is_credit FROM transfers "
            "WHERE transfer_id IN (:debit_id, :credit_id) ORDER BY is_credit",
            "account_id is_credit",
        ),
    ),
)

SET_STOCK = tool(
    "set_stock",
    "shelf slot stock",
    write("counters", "UPDATE counters SET stock = :stock WHERE shelf = :shelf AND slot = :slot"),
)
ADD_COUNTER = tool(
    "add_counter",
    "shelf slot stock",
    write("counters", "INSERT INTO counters (shelf, slot, stock) VALUES (:shelf, :slot, :stock)"),
)
DROP_COUNTER = tool(
    "drop_counter", "shelf slot", write("counters", "DELETE FROM counters WHERE shelf = :shelf AND slot = :slot")
)
MOVE_COUNTER = tool(
    "move_counter",
    "shelf slot to_slot",
    write("counters", "UPDATE counters SET slot = :to_slot WHERE shelf = :shelf AND slot = :slot"),
)
