"""Compiling a tool: what it becomes, and every issue at its place."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml

from toolscale.errors import SpecError
from toolscale.records import SchemaSpec, ToolSpec
from toolscale.sql.tools import compile_tool

TRANSFER = """
name: pay_many
description: Pay several accounts from one.
parameters:
  from_account_id: {type: string}
  amount_cents: {type: integer, minimum: 1, default: 5}
  note: {type: [string, "null"], default: null}
  account_ids: {type: array, minItems: 1, items: {type: string}}
  lines:
    type: array
    items: {type: object, properties: {account_id: {type: string}, on_date: {type: string, format: date}}, \
additionalProperties: false}
steps:
  - check: ":amount_cents > 0 AND NOT EXISTS (SELECT 1 FROM account_ids WHERE value = :from_account_id)"
    error: "{amount_cents|money} cannot be paid"
  - let: src
    sql: SELECT account_id, client_id, balance_cents FROM accounts WHERE account_id = :from_account_id
    error: "Account {from_account_id} not found"
  - let_rows: targets
    sql: SELECT a.account_id, a.client_id FROM accounts AS a JOIN account_ids AS i ON i.value = a.account_id \
ORDER BY i.ord, a.account_id
  - forbid: SELECT l.account_id, l.on_date FROM lines AS l WHERE l.account_id = :src.account_id \
AND l.on_date < :today ORDER BY l.ord
    error: "{account_id} on {on_date} is {src.balance_cents|money}"
  - new_id: posting_id
    prefix: po_
    from: [from_account_id, src.client_id, account_ids]
  - exec: UPDATE accounts SET balance_cents = balance_cents - :amount_cents WHERE account_id = :src.account_id
  - exec: >-
      INSERT INTO postings (account_id, line_no, merchant, amount_cents, posted_at)
      SELECT t.account_id, t.ord + 1000, COALESCE(:note, :posting_id), :amount_cents, :now FROM targets AS t
returns:
  balance_cents: {value: SELECT balance_cents FROM accounts WHERE account_id = :src.account_id}
  source: {row: "SELECT account_id, balance_cents + 0 AS rest FROM accounts WHERE account_id = :from_account_id"}
  postings: {rows: "SELECT account_id, line_no, merchant FROM postings WHERE merchant = :posting_id \
ORDER BY account_id, line_no"}
"""


def spec_of(text: str) -> ToolSpec:
    return ToolSpec.model_validate(yaml.safe_load(text))


def issues_of(bank: SchemaSpec, **changes: Any) -> list[str]:
    """Compile a small tool with some of its parts replaced; return its issues, one a line."""
    tool: dict[str, Any] = {
        "name": "show",
        "description": "Show an account.",
        "parameters": {"account_id": {"type": "string"}},
        "steps": [],
        "returns": {"account": {"row": "SELECT account_id, status FROM accounts WHERE account_id = :account_id"}},
    }
    try:
        compile_tool(ToolSpec.model_validate({**tool, **changes}), bank)
    except SpecError as error:
        return [f"{issue.place}: {issue.problem}; {issue.remedy}" for issue in error.issues]
    return []


def test_a_tool_becomes_steps_and_returns(bank: SchemaSpec) -> None:
    tool = compile_tool(spec_of(TRANSFER), bank)
    assert [(step.kind, step.place, step.name, step.error, step.prefix, step.from_) for step in tool.steps] == [
        ("check", "pay_many.steps[0]", None, "{amount_cents|money} cannot be paid", "", ()),
        ("let", "pay_many.steps[1]", "src", "Account {from_account_id} not found", "", ()),
        ("let_rows", "pay_many.steps[2]", "targets", None, "", ()),
        ("forbid", "pay_many.steps[3]", None, "{account_id} on {on_date} is {src.balance_cents|money}", "", ()),
        ("new_id", "pay_many.steps[4]", "posting_id", None, "po_", ("from_account_id", "src.client_id", "account_ids")),
        ("exec", "pay_many.steps[5]", None, None, "", ()),
        ("exec", "pay_many.steps[6]", None, None, "", ()),
    ]
    assert [step.statement.binds if step.statement else None for step in tool.steps] == [
        ("amount_cents", "from_account_id", "account_ids"),
        ("from_account_id",),
        ("account_ids",),
        ("src__account_id", "today", "lines"),
        None,
        ("amount_cents", "src__account_id"),
        ("note", "posting_id", "amount_cents", "now", "targets"),
    ]
    assert [(part.name, part.mode, part.statement.columns) for part in tool.returns] == [
        ("balance_cents", "value", ("balance_cents",)),
        ("source", "row", ("account_id", "rest")),
        ("postings", "rows", ("account_id", "line_no", "merchant")),
    ]


def test_a_tool_knows_what_it_touches(bank: SchemaSpec) -> None:
    tool = compile_tool(spec_of(TRANSFER), bank)
    assert tool.mutates_state
    assert tool.writes == {("accounts", "balance_cents"), ("postings", "*")}
    assert tool.reads == {
        ("accounts", "account_id"),
        ("accounts", "client_id"),
        ("accounts", "balance_cents"),
        ("postings", "account_id"),
        ("postings", "line_no"),
        ("postings", "merchant"),
    }
    assert tool.consumes == {
        "account_ids": frozenset({("accounts", "account_id")}),
        "from_account_id": frozenset({("accounts", "account_id")}),
        "lines.account_id": frozenset({("accounts", "account_id")}),
    }
    assert tool.produces == {
        "balance_cents": ("accounts", "balance_cents"),
        "source.account_id": ("accounts", "account_id"),
        "postings.account_id": ("postings", "account_id"),
        "postings.line_no": ("postings", "line_no"),
        "postings.merchant": ("postings", "merchant"),
    }
    assert tool.equalities == {("postings", ("merchant",))}


GUARD: dict[str, Any] = {"check": ":account_id <> ''", "error": "No account"}
WRITE = {"exec": "UPDATE accounts SET balance_cents = 0 WHERE account_id = :account_id"}
FOUND = {"let": "a", "sql": "SELECT status, client_id FROM accounts WHERE account_id = :account_id"}
KEY = (
    "look it up by a unique key (declare it `unique` in schema.yaml if it is one), "
    "or aggregate with MIN, MAX, SUM or COUNT"
)
EARLY = "put every guard before the first exec"


@pytest.mark.parametrize(
    ("steps", "issues"),
    [
        ([WRITE, GUARD], [f"show.steps[1]: the check can fail after steps[0] has written; {EARLY}"]),
        ([WRITE, {**FOUND, "error": "none"}], [f"show.steps[1]: the let can fail after steps[0] has written; {EARLY}"]),
        (
            [WRITE, {"forbid": "SELECT 1 AS a FROM accounts WHERE account_id = :account_id", "error": "x"}],
            [f"show.steps[1]: the forbid can fail after steps[0] has written; {EARLY}"],
        ),
        ([FOUND], ["show.steps[0]: let 'a' is never used; use it in a later step or a return, or remove it"]),
        (
            [{"let_rows": "a", "sql": "SELECT status FROM accounts WHERE account_id = :account_id"}],
            ["show.steps[0]: let_rows 'a' is never used; use it in a later step or a return, or remove it"],
        ),
        (
            [{"new_id": "x", "prefix": "x_", "from": ["account_id"]}],
            ["show.steps[0]: new_id 'x' is never used; use it in a later step or a return, or remove it"],
        ),
        (
            [{"let": "a", "sql": "SELECT account_id FROM accounts WHERE status = 'active'", "error": "x"}],
            [f"show.steps[0].sql: the SELECT may give several rows where one is bound; {KEY}"],
        ),
        (
            [
                {
                    "let": "a",
                    "sql": "SELECT account_id FROM accounts WHERE status = 'active' ORDER BY account_id LIMIT 1",
                    "error": "x",
                }
            ],
            [f"show.steps[0].sql: LIMIT 1 hides the other rows that fit; {KEY}, or return all of them as rows"],
        ),
        (
            [{"let": "a", "sql": "SELECT COUNT(*) FROM accounts", "error": "x"}],
            ["show.steps[0].sql: output column 1 has no name; name it with AS"],
        ),
        (
            [{"check": ":account_id <> ''", "error": "No {acount_id}, {x.y} or {"}],
            [
                (
                    "show.steps[0].error: 'No {acount_id}, {x.y} or {' has braces that name nothing; "
                    "write {name}, {let.column} or {name|money}"
                ),
                (
                    "show.steps[0].error: the error names {acount_id}, which is unknown here; "
                    "did you mean account_id? use one of now, today, account_id"
                ),
                "show.steps[0].error: the error names {x.y}, which is unknown here; use one of now, today, account_id",
            ],
        ),
        (
            [{**FOUND, "error": "{a.status}"}],
            [
                (
                    "show.steps[0].error: the error names {a.status}, which is unknown here; "
                    "use one of now, today, account_id"
                )
            ],
        ),
        (
            [{"forbid": "SELECT status FROM accounts WHERE balance_cents < 0", "error": "one is {status}"}],
            [
                (
                    "show.steps[0].forbid: the error shows columns of a row, but which row comes first is not fixed; "
                    "ORDER BY columns that include a unique key"
                )
            ],
        ),
        (
            [{**FOUND, "let": "account_id", "error": "x"}],
            ["show.steps[0]: 'account_id' is bound already; choose another name"],
        ),
        (
            [{**FOUND, "let": "today", "error": "x"}],
            ["show.steps[0]: 'today' cannot name a let: it has a meaning of its own; choose another name"],
        ),
        (
            [{**FOUND, "let": "a__b", "error": "x"}],
            ["show.steps[0]: 'a__b' cannot name a let; use small letters, digits and single underscores"],
        ),
        (
            [{"let_rows": "clients", "sql": "SELECT status FROM accounts WHERE account_id = :account_id"}],
            [
                "show.steps[0]: 'clients' hides the table clients; choose another name",
                "show.steps[0]: let_rows 'clients' is never used; use it in a later step or a return, or remove it",
            ],
        ),
        (
            [{"new_id": "x", "prefix": "x_", "from": ["acount_id"]}, {"check": ":x <> ''", "error": "x"}],
            [
                (
                    "show.steps[0].from: new_id is made from 'acount_id', which is unknown here; "
                    "did you mean account_id? use one of now, today, account_id"
                )
            ],
        ),
        (
            [{"exec": "DELETE FROM account_ids"}],
            [
                (
                    "show.steps[0].exec: unknown table 'account_ids'; did you mean accounts? "
                    "tables are clients, accounts, postings"
                )
            ],
        ),
        (
            [
                {"let_rows": "r", "sql": "SELECT account_id FROM accounts"},
                {"check": "EXISTS (SELECT 1 FROM r WHERE ord = 1)", "error": "x"},
            ],
            [
                (
                    "show.steps[0].sql: r.ord is read, but the order of r is not fixed; "
                    "ORDER BY columns that include a unique key"
                )
            ],
        ),
        (
            [{**FOUND, "error": "x"}, {"check": ":a.status = 'activ'", "error": "x"}],
            ["show.steps[1].check: accounts.status is never 'activ'; did you mean active? use one of active, frozen"],
        ),
        (
            [WRITE, FOUND, {"check": "1 = 1", "error": ""}],
            [
                f"show.steps[2]: the check can fail after steps[0] has written; {EARLY}",
                "show.steps[2].error: the error is empty; say what is wrong, so that the agent can act on it",
                "show.steps[1]: let 'a' is never used; use it in a later step or a return, or remove it",
            ],
        ),
    ],
)
def test_issues_of_steps(bank: SchemaSpec, steps: list[dict[str, Any]], issues: list[str]) -> None:
    assert issues_of(bank, steps=steps) == issues


def test_after_a_write_a_new_id_and_a_let_without_error_may_follow(bank: SchemaSpec) -> None:
    rename = {"exec": "UPDATE clients SET full_name = :x WHERE client_id = :a.client_id"}
    steps = [WRITE, FOUND, {"new_id": "x", "prefix": "x_", "from": ["account_id"]}, rename]
    assert issues_of(bank, steps=steps) == []


@pytest.mark.parametrize(
    ("schema", "issues"),
    [
        (
            {"type": "number"},
            ["type number has fractions; use integer: money is whole cents, percentages are basis points"],
        ),
        ({"type": "text"}, ["type 'text' is not supported; use one of string, integer, boolean, array, object"]),
        (
            {"type": "string", "minimum": 3},
            [
                (
                    "keyword 'minimum' has no meaning for type string; use one of type, description, title, default, "
                    "enum, const, examples, format, pattern, minLength, maxLength"
                )
            ],
        ),
        ({"type": "string", "format": "email"}, ["format 'email' is not supported; use one of date, date-time, time"]),
        ({"type": "string", "maxLength": "5"}, ["not a JSON Schema: '5' is not of type 'integer'; correct it"]),
        ({"type": "string", "default": 5}, ["default 5 does not fit the parameter's own schema; correct one of them"]),
        ({"type": "string", "enum": ["a", 1]}, ["enum value 1 is no string; correct the enum or the type"]),
        ({"type": "object"}, ["an object is no parameter; make its properties parameters, or use an array of objects"]),
    ],
)
def test_issues_of_parameters(bank: SchemaSpec, schema: dict[str, Any], issues: list[str]) -> None:
    assert issues_of(bank, parameters={"account_id": schema}) == [
        f"show.parameters.account_id: {issue}" for issue in issues
    ]


def test_issues_of_array_parameters(bank: SchemaSpec) -> None:
    parameters = {
        "account_id": {"type": "string"},
        "bare": {"type": "array"},
        "nested": {
            "type": "array",
            "items": {"type": "object", "properties": {"ord": {"type": "integer"}, "more": {"type": "array"}}},
        },
        "clients": {"type": "array", "items": {"type": "string"}},
    }
    assert issues_of(bank, parameters=parameters) == [
        "show.parameters.bare: the array says nothing about its items; give it items: {type: string}, say",
        (
            "show.parameters.nested.items.properties.ord: 'ord' cannot name a field: it has a meaning of its own; "
            "choose another name"
        ),
        "show.parameters.nested.items.properties.more: a field of type array is not supported; use scalars",
        "show.parameters.nested.items: the items may have any other property; add additionalProperties: false",
        "show.parameters.clients: parameter 'clients' hides the table clients; choose another name",
        "show.parameters.bare: parameter 'bare' is never used; use it in a step or a return, or remove it",
        "show.parameters.nested: parameter 'nested' is never used; use it in a step or a return, or remove it",
        "show.parameters.clients: parameter 'clients' is never used; use it in a step or a return, or remove it",
    ]


@pytest.mark.parametrize(
    ("part", "issue"),
    [
        (
            {"value": "SELECT account_id, status FROM accounts WHERE account_id = :account_id"},
            "show.returns.it.value: a value has one column, not 2; select one column, or return a row",
        ),
        (
            {"row": "SELECT status FROM accounts WHERE client_id = :account_id"},
            f"show.returns.it.row: the SELECT may give several rows where one is bound; {KEY}",
        ),
        (
            {"rows": "SELECT status FROM accounts WHERE client_id = :account_id"},
            (
                "show.returns.it.rows: the order of the rows is not fixed; "
                "ORDER BY columns that include a unique key of what is read"
            ),
        ),
        (
            {
                "rows": (
                    "SELECT status, account_id FROM accounts WHERE client_id = :account_id ORDER BY account_id LIMIT 1"
                )
            },
            "show.returns.it.rows: LIMIT 1 hides the other rows that fit; return all of them",
        ),
        (
            {
                "rows": (
                    "SELECT status, COUNT(*) FROM accounts "
                    "WHERE client_id = :account_id GROUP BY status ORDER BY status"
                )
            },
            "show.returns.it.rows: output column 2 has no name; name it with AS",
        ),
        (
            {"row": "SELECT status FROM accounts WHERE account_id = :account_id", "value": "SELECT 1 AS a"},
            "show.returns.it: a return has exactly one of value, row and rows; keep one",
        ),
    ],
)
def test_issues_of_returns(bank: SchemaSpec, part: dict[str, str], issue: str) -> None:
    assert [found for found in issues_of(bank, returns={"it": part}) if "never used" not in found] == [issue]


def test_rows_of_a_single_row_need_no_order(bank: SchemaSpec) -> None:
    assert issues_of(bank, returns={"it": {"rows": "SELECT status FROM accounts WHERE account_id = :account_id"}}) == []


def test_four_hundred_statements_compile_in_seconds(bank: SchemaSpec) -> None:
    spec = spec_of(TRANSFER)
    started = time.process_time()
    for _ in range(45):
        compile_tool(spec, bank)
    assert time.process_time() - started < 3
