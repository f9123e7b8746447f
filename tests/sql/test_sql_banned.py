"""Each construct that is not in the subset is refused in one line that says what to write instead."""

from __future__ import annotations

import pytest

from toolscale.errors import SpecError
from toolscale.records import SchemaSpec
from toolscale.sql.statements import compile_condition, compile_select, compile_write

CHANCE = "the same call must give the same result; ids come from a new_id step"
DATES = (
    "use add_days, days_between, add_months, month_of, "
    "date_of, time_of, minutes_between or add_minutes, and :today or :now for the clock"
)
IN_FROM = "is a function in FROM; read tables of the schema, array parameters or let_rows"
WHOLE = "is not a whole number; money is whole cents; percentages are basis points for pct_cents"
PLAIN = "names are plain: [a-z_][a-z0-9_]*"

SELECTS = {
    "ATTACH DATABASE 'x' AS y": "\"ATTACH DATABASE 'x' AS y\" is not a SELECT; write a SELECT",
    "PRAGMA table_info(accounts)": "'PRAGMA table_info(accounts)' is not a SELECT; write a SELECT",
    "COMMIT": "'COMMIT' is not a SELECT; write a SELECT",
    "SAVEPOINT s": "'SAVEPOINT s' is not a SELECT; write a SELECT",
    "CREATE TABLE x (a INT)": "'CREATE TABLE x (a INT)' is not a SELECT; write a SELECT",
    "VACUUM INTO 'x'": "\"VACUUM INTO 'x'\" is not a SELECT; write a SELECT",
    "COPY accounts TO 'x'": "\"COPY accounts TO 'x'\" is not a SELECT; write a SELECT",
    "EXPLAIN SELECT 1": "'EXPLAIN SELECT 1' is not a SELECT; write a SELECT",
    "VALUES (1)": "'VALUES (1)' is not a SELECT; write a SELECT",
    "": "the SQL is empty; write one statement",
    "SELECT 1 AS a; DROP TABLE accounts": (
        "a second statement 'DROP TABLE accounts' follows ';'; write one statement; further ones are steps of their own"
    ),
    "SELECT 1 AS a;": "'SELECT 1 AS a;' ends in ';'; leave the ';' out",
    "SELECT 1 AS a -- COMMIT": (
        "a comment '--' stands in 'SELECT 1 AS a -- COMMIT'; put comments into the YAML file (# ...)"
    ),
    "SELECT 1 /* COMMIT */ AS a": (
        "a comment '/*' stands in 'SELECT 1 /* COMMIT */ AS a'; put comments into the YAML file (# ...)"
    ),
    "SELECT name FROM sqlite_master": "unknown table 'sqlite_master'; use one of clients, accounts, postings",
    "SELECT name FROM pragma_table_info('accounts')": f"pragma_table_info(...) {IN_FROM}",
    "SELECT a FROM read_csv('x.csv')": f"read_csv(...) {IN_FROM}",
    "SELECT a FROM json_each('[]')": f"json_each(...) {IN_FROM}",
    "SELECT a FROM 'x.csv'": f"'x.csv' is a quoted name; {PLAIN}",
    "SELECT account_id FROM main.accounts": (
        "'main.accounts': names of other databases are not in the SQL subset; name a table of the schema"
    ),
    "WITH RECURSIVE r AS (SELECT 1 AS n) SELECT n FROM r": (
        "'WITH RECURSIVE r AS (SELECT 1 AS n)': WITH RECURSIVE may never end; write the levels out as joins"
    ),
    "WITH r AS (SELECT n FROM r) SELECT n FROM r": "unknown table 'r'; use one of clients, accounts, postings",
    "SELECT randomblob(9) AS a": f"function randomblob is not in the SQL subset; {CHANCE}",
    "SELECT zeroblob(9) AS a": f"function zeroblob is not in the SQL subset; {CHANCE}",
    "SELECT random() AS a": f"function random is not in the SQL subset; {CHANCE}",
    "SELECT date('now') AS a": f"function date is not in the SQL subset; {DATES}",
    "SELECT strftime('%Y', 'now') AS a": f"function strftime is not in the SQL subset; {DATES}",
    "SELECT CURRENT_TIMESTAMP AS a": "'CURRENT_TIMESTAMP': CURRENT_TIMESTAMP reads the real clock; use :now",
    "SELECT balance_cents / 2 AS a FROM accounts": (
        "'balance_cents / 2': `/` gives other results on other engines; "
        "use idiv(a, b), or pct_cents(amount, bp) for a percentage"
    ),
    "SELECT balance_cents % 2 AS a FROM accounts": "'balance_cents % 2': `%` is not portable; write a - idiv(a, b) * b",
    "SELECT account_id FROM accounts WHERE status LIKE 'a%'": (
        "\"status LIKE 'a%'\": LIKE folds case on one engine and not on the other; "
        "use contains_ci(text, part), or LOWER(a) = LOWER(b)"
    ),
    "SELECT account_id FROM accounts WHERE status GLOB 'a*'": (
        "\"status GLOB 'a*'\": GLOB is not portable; use contains_ci(text, part)"
    ),
    "SELECT MAX(balance_cents, 0) AS a FROM accounts": (
        "'MAX(balance_cents, 0)': MAX of two values is not portable; use greatest_of(a, b)"
    ),
    "SELECT round(balance_cents) AS a FROM accounts": (
        "function round is not in the SQL subset; amounts are whole cents: use pct_cents(amount, bp) or idiv(a, b)"
    ),
    "SELECT AVG(balance_cents) AS a FROM accounts": (
        "function AVG is not in the SQL subset; engines round averages differently: use idiv(SUM(x), COUNT(x))"
    ),
    "SELECT balance_cents * 1.5 AS a FROM accounts": f"1.5 {WHOLE}",
    "SELECT 1e3 AS a": f"1e3 {WHOLE}",
    "SELECT 9223372036854775808 AS a": "9223372036854775808 does not fit into 64 bits; use a smaller number",
    "SELECT x'00' AS a": "\"x'00'\": blobs are not in the SQL subset; store text or whole numbers",
    "SELECT CAST(balance_cents AS REAL) AS a FROM accounts": (
        "'CAST(balance_cents AS REAL)': CAST AS REAL is not portable; cast to TEXT or INTEGER; REAL is never used"
    ),
    "SELECT * FROM accounts": "* hides which columns are read; name the columns (SELECT 1 inside EXISTS)",
    'SELECT "account_id" FROM accounts': (
        f"'\"' quotes a name in 'SELECT \"account_id\" FROM accounts'; {PLAIN}; texts stand in '...'"
    ),
    "SELECT ? AS a": "'?' must not stand in 'SELECT ? AS a'; parameters are written :name, lets :name.column",
    "SELECT json_extract('{}', '$.a') AS a": (
        "function json_extract is not in the SQL subset; an array parameter is a relation: SELECT ... FROM its name"
    ),
    "SELECT full_name -> 'a' AS a FROM clients": (
        "\"full_name -> '$.a'\": `->` reads JSON; an array parameter is a relation: SELECT ... FROM its name"
    ),
    "SELECT account_id FROM accounts ORDER BY account_id LIMIT 1 + 1": (
        "LIMIT 1 + 1 is not a constant; write LIMIT with a whole number"
    ),
    "SELECT 1 AS a UNION SELECT 2": (
        "'SELECT 1 AS a UNION SELECT 2': UNION without ALL is not in the SQL subset; "
        "use UNION ALL, or SELECT DISTINCT from it"
    ),
    "SELECT 1 AS a EXCEPT SELECT 2": "EXCEPT is not in the SQL subset; use UNION ALL, EXISTS or NOT EXISTS",
    "SELECT a.account_id FROM accounts AS a JOIN postings USING (account_id)": (
        "'JOIN postings USING (account_id)': USING is not in the SQL subset; use ON a.x = b.x"
    ),
    "SELECT client_id, balance_cents FROM accounts GROUP BY client_id": (
        "column balance_cents is neither grouped nor aggregated; add it to GROUP BY, or use MIN or MAX"
    ),
    "SELECT account_id FROM accounts WHERE account_id IN ()": (
        "IN () has no values; list at least one value, or read a relation: IN (SELECT value FROM ...)"
    ),
    "SELECT Account_Id FROM accounts": "'Account_Id' is not a plain name; write names as [a-z_][a-z0-9_]*",
    "SELECT account_id AS :a FROM accounts": ":a is a value, not a name; write the name without a colon",
    "SELECT 'a": "a text in \"SELECT 'a\" has no closing quote; close it with ' (and write '' for a quote inside)",
    "SELECT 'a\x00b' AS a": "\"'a\\x00b'\" holds a control character; write printable text",
    "SELECT CASE WHEN": (
        "'SELECT CASE WHEN' cannot be parsed near 'WHEN': something is missing; write SQL of the portable subset"
    ),
}

WRITES = {
    "REPLACE INTO clients (client_id) VALUES ('c')": (
        "\"REPLACE INTO clients (client_id) VALUES ('c')\" is not an INSERT, an UPDATE or a DELETE; "
        "REPLACE INTO deletes rows unseen; write an UPDATE, or a DELETE and an INSERT"
    ),
    "INSERT OR REPLACE INTO clients (client_id) VALUES ('c')": (
        "\"INSERT OR REPLACE INTO clients (client_id) VALUES ('c')\": INSERT OR ... hides what is written; "
        "guard with a forbid step, then INSERT or UPDATE"
    ),
    "INSERT INTO clients (client_id) VALUES ('c') ON CONFLICT DO NOTHING": (
        "\"INSERT INTO clients (client_id) VALUES ('c') ON CONFLICT ...\": ON CONFLICT writes depend on what is there; "
        "guard with a forbid step, then INSERT or UPDATE"
    ),
    "DELETE FROM accounts RETURNING account_id": (
        "'DELETE FROM accounts RETURNING account_id': RETURNING is not in the SQL subset; read the row with a return"
    ),
    "DELETE FROM accounts LIMIT 1": "'DELETE FROM accounts LIMIT 1': LIMIT is not in the SQL subset here; leave it out",
    "COMMIT": "'COMMIT' is not an INSERT, an UPDATE or a DELETE; write an INSERT, an UPDATE or a DELETE",
    "SELECT 1 AS a": "'SELECT 1 AS a' is not an INSERT, an UPDATE or a DELETE; write an INSERT, an UPDATE or a DELETE",
    "INSERT INTO sqlite_master (name) VALUES ('x')": (
        "unknown table 'sqlite_master'; tables are clients, accounts, postings"
    ),
    "UPDATE accounts SET account_id = 'x' WHERE account_id = 'y'": (
        "UPDATE changes account_id, the key of accounts; a row keeps its key: DELETE it and INSERT another"
    ),
    "UPDATE accounts SET status = 'frozn' WHERE account_id = 'y'": (
        "accounts.status is never 'frozn'; did you mean frozen? use one of active, frozen"
    ),
    "UPDATE accounts SET client_id = NULL WHERE account_id = 'y'": (
        "accounts.client_id cannot be NULL; give it a value, or make it nullable in schema.yaml"
    ),
    "UPDATE accounts SET balance_cents = 'x' WHERE account_id = 'y'": (
        "accounts.balance_cents is cents, 'x' is text; cast it: CAST(x AS TEXT) or CAST(x AS INTEGER)"
    ),
    "INSERT INTO accounts (account_id, client_id, status, balance_cents) VALUES ('a', 'c', 'active')": (
        "INSERT INTO accounts names 4 columns and gives 3 values; give one value a column"
    ),
    "INSERT INTO accounts (account_id, client_id, status) VALUES ('a', 'c', 'active')": (
        "INSERT INTO accounts leaves out balance_cents; give every column that is not nullable a value"
    ),
}


@pytest.mark.parametrize("text", SELECTS)
def test_selects_are_refused(bank: SchemaSpec, text: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile_select(text, bank, file="toolset.yaml", place="find.returns.a.rows")
    assert str(caught.value) == f"toolset.yaml: find.returns.a.rows: {SELECTS[text]}"


@pytest.mark.parametrize("text", WRITES)
def test_writes_are_refused(bank: SchemaSpec, text: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile_write(text, bank, file="toolset.yaml", place="pay.steps[0].exec")
    assert str(caught.value) == f"toolset.yaml: pay.steps[0].exec: {WRITES[text]}"


@pytest.mark.parametrize(
    "name", ["load_extension", "readfile", "query", "repeat", "pg_sleep", "fts3_tokenizer", "char", "getenv", "nextval"]
)
def test_unknown_functions_are_refused(bank: SchemaSpec, name: str) -> None:
    with pytest.raises(
        SpecError,
        match=rf"^f: p: function {name} is not in the SQL subset; macros and functions are add_days, days_between, ",
    ):
        compile_select(f"SELECT {name}('x') AS a", bank, file="f", place="p")


@pytest.mark.parametrize(
    "text",
    [
        "1) AS a, (2",
        "1) OR (1",
        "1 FROM accounts",
        "1) AS holds FROM accounts WHERE (1",
        "SELECT 1; SELECT 1",
        "1 AS b",
    ],
)
def test_a_condition_stays_a_condition(bank: SchemaSpec, text: str) -> None:
    for table in (None, "accounts"):
        with pytest.raises(SpecError):
            compile_condition(text, bank, table=table)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 60 + "1" + ")" * 60,
        " + ".join("1" * 2000),
        "NOT " * 3000 + "1",
        "CASE WHEN 1 THEN " * 300 + "1" + " END" * 300,
        "- " * 900 + "1",
    ],
)
def test_deep_nesting_is_an_issue_not_a_crash(bank: SchemaSpec, text: str) -> None:
    with pytest.raises(SpecError):
        compile_select(f"SELECT {text} AS a", bank)
