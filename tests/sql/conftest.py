"""A small bank on both engines."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import pytest

from toolscale.records import SchemaSpec
from toolscale.sql.compiled import Statement

BANK = SchemaSpec.model_validate(
    {
        "tables": {
            "clients": {
                "columns": {
                    "client_id": {"type": "text", "pk": True},
                    "full_name": {"type": "text"},
                    "email": {"type": "text", "unique": True},
                    "born_on": {"type": "date"},
                    "is_active": {"type": "bool"},
                }
            },
            "accounts": {
                "columns": {
                    "account_id": {"type": "text", "pk": True},
                    "client_id": {"type": "text", "fk": "clients.client_id"},
                    "status": {"type": "text", "values": ["active", "frozen"]},
                    "balance_cents": {"type": "cents"},
                    "limit_cents": {"type": "cents", "nullable": True},
                }
            },
            "postings": {
                "columns": {
                    "account_id": {"type": "text", "pk": True, "fk": "accounts.account_id"},
                    "line_no": {"type": "int", "pk": True},
                    "merchant": {"type": "text", "nullable": True},
                    "amount_cents": {"type": "cents"},
                    "posted_at": {"type": "datetime"},
                }
            },
        }
    }
)

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "clients": [
        ("c1", "Ann Émile", "ann@x.org", "1980-02-29", 1),
        ("c2", "bob stone", "BOB@x.org", "1999-12-31", 0),
        ("c3", "Ann Émile", "a2@x.org", "1980-02-29", 1),
    ],
    "accounts": [
        ("a1", "c1", "active", 10_050, None),
        ("a2", "c1", "frozen", -25, 500),
        ("a3", "c2", "active", 0, 5_000_000_000),
        ("a4", "c3", "active", 99, None),
    ],
    "postings": [
        ("a1", 1, "Café Ole", -1250, "2026-01-31T10:00:00"),
        ("a1", 2, None, 9999, "2026-02-01T00:00:00"),
        ("a1", 3, "grocer's", -1, "2026-02-28T23:59:59"),
        ("a2", 1, "Café Ole", -25, "2025-12-31T23:59:59"),
        ("a3", 1, None, 1, "2026-01-31T10:00:00"),
        ("a3", 2, "ABC", -1, "2026-03-01T08:30:00"),
    ],
}

CLOCK = {"now": "2026-03-16T09:30:00", "today": "2026-03-16"}


def _fill(connection: Any, words: Mapping[str, str]) -> None:
    for name, table in BANK.tables.items():
        columns = ", ".join(f"{column} {words[spec.type]}" for column, spec in table.columns.items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(table.columns))})", ROWS[name])


@pytest.fixture(scope="session")
def bank() -> SchemaSpec:
    """The schema."""
    return BANK


@pytest.fixture(scope="session")
def on_both() -> Iterator[Callable[..., tuple[Any, Any]]]:
    """Run a statement on both engines, each time on the same rows; return both results: rows of a SELECT, all rows
    after a write."""
    text, whole = ("text", "date", "datetime"), ("int", "cents", "bool")
    one = sqlite3.connect(":memory:", isolation_level=None)
    two = duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": "false"})
    _fill(one, {**dict.fromkeys(text, "TEXT"), **dict.fromkeys(whole, "INTEGER")})
    _fill(two, {**dict.fromkeys(text, "VARCHAR"), **dict.fromkeys(whole, "BIGINT")})

    def run(statement: Statement, values: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        known = {**CLOCK, **(values or {})}
        binds = {name: known[name] for name in statement.binds}
        return _run(one, statement.sqlite, binds, statement), _run(two, statement.duckdb, binds, statement)

    yield run
    one.close()
    two.close()


def _run(connection: Any, sql: str, binds: dict[str, Any], statement: Statement) -> Any:
    if not statement.writes:
        return [tuple(row) for row in connection.execute(sql, binds).fetchall()]
    connection.execute("BEGIN")
    try:
        connection.execute(sql, binds)
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5").fetchall()
            for table in BANK.tables
        }
    finally:
        connection.execute("ROLLBACK")
