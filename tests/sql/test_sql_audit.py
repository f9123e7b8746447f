"""The second opinion: SQLite's authorizer, DuckDB's binder, the query planner, and the lint of the schema."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sql.written import LETS, PARAMS, RELATIONS, SELECTS, WRITES
from toolscale.errors import SpecIssue
from toolscale.records import SchemaSpec, ToolSpec
from toolscale.sql.audit import audit_tools, bind_on_duckdb, lint_scans, memory_database, second_opinion
from toolscale.sql.schemas import lint_check, lint_schema
from toolscale.sql.statements import compile_select, compile_write
from toolscale.sql.tools import compile_tool

REMEDY = "write it as an invariant in rules.yaml, or as a check step of the tools that write it"


def test_sqlite_and_duckdb_agree_with_the_compiler_on_every_statement(bank: SchemaSpec) -> None:
    statements = [(text, compile_select(text, bank, params=PARAMS, lets=LETS, relations=RELATIONS)) for text in SELECTS]
    statements += [(text, compile_write(text, bank, params=PARAMS, relations=RELATIONS)) for text in WRITES]
    connection = memory_database(bank)
    assert second_opinion([*statements, *statements], bank, connection) == []
    assert bind_on_duckdb(statements, bank) == []
    connection.close()


def test_a_disagreement_is_an_issue(bank: SchemaSpec) -> None:
    honest = compile_select("SELECT status FROM accounts WHERE account_id = :id", bank, params=["id"])
    write = compile_write("UPDATE accounts SET status = 'frozen' WHERE account_id = :id", bank, params=["id"])
    connection = memory_database(bank)
    statements = [
        ("forgotten", replace(honest, reads=frozenset({("accounts", "account_id")}))),
        ("hidden", replace(honest, sqlite="DELETE FROM accounts WHERE account_id = :id")),
        ("other", replace(write, sqlite="UPDATE accounts SET balance_cents = 0 WHERE account_id = :id")),
        ("master", replace(honest, sqlite="SELECT sql, :id FROM sqlite_master")),
        ("chance", replace(honest, sqlite="SELECT status FROM accounts WHERE account_id = :id AND random() > 1")),
        ("broken", replace(honest, sqlite="SELECT :id FROM elsewhere")),
    ]
    found = [(issue.place, issue.problem) for issue in second_opinion(statements, bank, connection)]
    connection.close()
    assert found == [
        ("forgotten", "SQLite reads accounts.account_id, accounts.status, we understood accounts.account_id"),
        ("hidden", "SQLite reads accounts.account_id, we understood accounts.account_id, accounts.status"),
        ("hidden", "SQLite writes accounts.*, we understood nothing"),
        ("other", "SQLite writes accounts.balance_cents, we understood accounts.status"),
        ("master", "SQLite would read sqlite_master"),
        ("master", "SQLite reads nothing, we understood accounts.account_id, accounts.status"),
        ("chance", "SQLite would do what no tool may do (function random)"),
        ("broken", "SQLite refuses 'SELECT status FROM accounts WHERE account_id = :id': no such table: elsewhere"),
    ]


def test_what_duckdb_does_not_bind_is_an_issue(bank: SchemaSpec) -> None:
    statement = replace(compile_select("SELECT status FROM accounts", bank), duckdb="SELECT status + 1 FROM acounts")
    (issue,) = bind_on_duckdb([("p", statement)], bank, file="f")
    assert str(issue).startswith(
        "f: p: DuckDB refuses 'SELECT status FROM accounts': Catalog Error: Table with name acounts does not exist!"
    )


@pytest.mark.parametrize(
    ("text", "scanned"),
    [
        ("SELECT account_id FROM accounts WHERE account_id = :id", []),
        ("SELECT account_id FROM accounts AS a WHERE a.status = 'active' ORDER BY account_id", ["accounts"]),
        ("SELECT a.account_id FROM accounts AS a WHERE a.status = 'active' ORDER BY account_id LIMIT 5", []),
        ("SELECT COUNT(*) AS n FROM clients", ["clients"]),
        ("SELECT client_id FROM clients WHERE contains_ci(full_name, :id) ORDER BY client_id", ["clients"]),
        (
            (
                "SELECT p.line_no FROM accounts AS a JOIN postings AS p ON p.account_id = a.account_id "
                "WHERE a.client_id = :id ORDER BY p.line_no, a.account_id"
            ),
            [],
        ),
        (
            (
                "SELECT value FROM ids WHERE value IN "
                "(SELECT account_id FROM accounts AS x WHERE x.account_id = ids.value) ORDER BY ord"
            ),
            [],
        ),
        (
            "SELECT line_no FROM postings WHERE merchant = 'FROM clients AS postings' ORDER BY account_id, line_no",
            ["postings"],
        ),
    ],
)
def test_scans(bank: SchemaSpec, text: str, scanned: list[str]) -> None:
    statement = compile_select(text, bank, params=["id"], relations={"ids": {"value": "text"}})
    connection = memory_database(bank)
    issues = lint_scans([("p", statement)], bank, connection, file="f")
    assert lint_scans([("p", statement)], bank, connection, small=scanned) == []
    connection.close()
    remedy = "compare a column of it with = (an index is made for that), or end the statement with LIMIT and a constant"
    assert issues == [SpecIssue("f", "p", f"every row of {name} is read by {text!r}", remedy) for name in scanned]


def test_an_index_is_made_for_what_tools_look_up(bank: SchemaSpec) -> None:
    tool = ToolSpec.model_validate(
        {
            "name": "find",
            "description": "Find clients.",
            "parameters": {"name": {"type": "string"}, "day": {"type": "string", "format": "date"}},
            "returns": {
                "clients": {
                    "rows": (
                        "SELECT client_id FROM clients WHERE full_name = :name AND born_on = :day ORDER BY client_id"
                    )
                }
            },
        }
    )
    assert audit_tools([compile_tool(tool, bank)], bank) == []
    statement = compile_tool(tool, bank).returns[0].statement
    connection = memory_database(bank)
    assert len(lint_scans([("p", statement)], bank, connection)) == 1
    connection.close()


def test_a_schema_has_plain_names_and_compares_money() -> None:
    schema = SchemaSpec.model_validate(
        {
            "tables": {
                "order": {
                    "columns": {
                        "id": {"type": "text", "pk": True, "volatile": True},
                        "total_cents": {"type": "cents", "volatile": True},
                    }
                },
                "good": {
                    "columns": {
                        "id": {"type": "text", "pk": True},
                        "Group": {"type": "text"},
                        "memo": {"type": "text", "volatile": True},
                    }
                },
            }
        }
    )
    assert [str(issue) for issue in lint_schema(schema)] == [
        "schema.yaml: tables.order: 'order' is a word of SQL; choose another name, order_rows say",
        (
            "schema.yaml: tables.order.columns.id: the key order.id is volatile: wrong rows would pass; "
            "compare it: remove volatile"
        ),
        (
            "schema.yaml: tables.order.columns.total_cents: "
            "money in order.total_cents is volatile: wrong amounts would pass; compare it: remove volatile"
        ),
        (
            "schema.yaml: tables.good.columns.Group: 'Group' cannot name a column; "
            "use small letters, digits and single underscores"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("balance_cents >= 0 OR status = 'frozen'", None),
        ("LENGTH(status) > 2 AND COALESCE(limit_cents, 0) >= ABS(balance_cents)", None),
        ("contains_ci(status, 'a')", "contains_ci()"),
        ("LOWER(status) = status", "LOWER()"),
        ("balance_cents > (SELECT COUNT(*) FROM clients)", "a sub-select"),
        ("client_id IN (SELECT client_id FROM clients)", "a sub-select"),
        ("status < :today", ":today"),
    ],
)
def test_a_check_of_a_table_has_nothing_that_engines_read_differently(
    bank: SchemaSpec, text: str, has: str | None
) -> None:
    told = (
        [] if has is None else [f"schema.yaml: p: {text!r} has {has}, which a check of a table cannot have; {REMEDY}"]
    )
    assert [str(issue) for issue in lint_check(text, bank, table="accounts", place="p")] == told
