"""DDL for both engines, and the indexes that look-ups need."""

from __future__ import annotations

from sandbox_bank import NOW, ROWS, SCHEMA

from toolscale.records import SchemaSpec
from toolscale.sandbox.ddl import create_indexes, create_tables, indexed_columns
from toolscale.sandbox.sqlite import SqliteSandbox


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_sqlite_tables_are_strict_with_foreign_keys() -> None:
    assert lines(create_tables(SCHEMA, "sqlite")[1]) == [
        "CREATE TABLE transfers (",
        "transfer_id TEXT NOT NULL,",
        "account_id TEXT NOT NULL,",
        "amount_cents INTEGER NOT NULL,",
        "is_credit INTEGER NOT NULL,",
        "made_at TEXT NOT NULL,",
        "memo TEXT,",
        "PRIMARY KEY (transfer_id),",
        "FOREIGN KEY(account_id) REFERENCES accounts (account_id),",
        "CHECK (is_credit IN (0, 1)),",
        "CHECK (LENGTH(made_at) = 19)",
        ")",
        "WITHOUT ROWID,",
        "STRICT",
    ]


def test_duckdb_tables_have_no_foreign_keys() -> None:
    assert lines(create_tables(SCHEMA, "duckdb")[1]) == [
        "CREATE TABLE transfers (",
        "transfer_id VARCHAR NOT NULL,",
        "account_id VARCHAR NOT NULL,",
        "amount_cents BIGINT NOT NULL,",
        "is_credit BIGINT NOT NULL,",
        "made_at VARCHAR NOT NULL,",
        "memo VARCHAR,",
        "PRIMARY KEY (transfer_id),",
        "CHECK (is_credit IN (0, 1)),",
        "CHECK (LENGTH(made_at) = 19)",
        ")",
    ]


def test_a_colon_and_a_quote_in_a_check_stay_what_they_are() -> None:
    schema = SchemaSpec.model_validate(
        {
            "tables": {
                "shifts": {
                    "columns": {
                        "start": {"type": "text", "pk": True, "check": "start <> '12:30'"},
                        "kind": {"type": "text", "values": ["o'clock", "10%"], "unique": True},
                    },
                    "check": ["start <> kind"],
                    "unique": [["start", "kind"]],
                }
            }
        }
    )
    assert lines(create_tables(schema, "sqlite")[0])[3:-3] == [
        "PRIMARY KEY (start),",
        "CHECK (start <> kind),",
        "CHECK (start <> '12:30'),",
        "CHECK (kind IN ('o''clock', '10%')),",
        "UNIQUE (kind),",
        "UNIQUE (start, kind)",
    ]


def test_an_index_stands_where_no_key_or_longer_index_serves() -> None:
    equalities = [
        ("accounts", ("account_id",)),
        ("accounts", ("client_id",)),
        ("accounts", ("client_id", "status")),
        ("counters", ("shelf",)),
        ("counters", ("slot", "shelf")),
        ("counters", ("slot",)),
    ]
    assert indexed_columns(SCHEMA, equalities) == [
        ("accounts", ("client_id", "status")),
        ("counters", ("slot",)),
        ("transfers", ("account_id",)),
    ]
    assert (
        create_indexes(SCHEMA, equalities)[0]
        == "CREATE INDEX ix_accounts__client_id__status ON accounts (client_id, status)"
    )


def test_dump_is_ordered_by_key_whatever_the_order_of_loading() -> None:
    sandbox = SqliteSandbox(SCHEMA, {**ROWS, "counters": ROWS["counters"][::-1]}, now=NOW)
    assert sandbox.dump("counters") == ROWS["counters"]
