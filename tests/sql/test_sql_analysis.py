"""What is known about a statement before it runs: lineage, types, reads, writes, look-ups, uniqueness, order."""

from __future__ import annotations

import pytest

from toolscale.errors import SpecError
from toolscale.records import ColumnType, SchemaSpec
from toolscale.sql.compiled import Statement
from toolscale.sql.statements import compile_condition, compile_select, compile_write

PARAMS: dict[str, ColumnType] = {"id": "text", "name": "text", "day": "date", "amount_cents": "cents"}


def test_a_select_knows_all_about_itself(bank: SchemaSpec) -> None:
    text = (
        "SELECT a.account_id, c.full_name AS owner, a.balance_cents - :amount_cents AS rest FROM accounts AS a "
        "JOIN clients AS c ON c.client_id = a.client_id WHERE a.account_id = :id"
    )
    assert compile_select(text, bank, params=PARAMS) == Statement(
        source=text,
        sqlite=text,
        duckdb=(
            "SELECT a.account_id, c.full_name AS owner, a.balance_cents - CAST($amount_cents AS BIGINT) AS rest "
            "FROM accounts AS a JOIN clients AS c ON c.client_id = a.client_id "
            "WHERE a.account_id = CAST($id AS VARCHAR)"
        ),
        binds=("amount_cents", "id"),
        columns=("account_id", "owner", "rest"),
        types=("text", "text", "cents"),
        lineage=(("accounts", "account_id"), ("clients", "full_name"), None),
        reads=frozenset(
            {
                ("accounts", "account_id"),
                ("accounts", "client_id"),
                ("accounts", "balance_cents"),
                ("clients", "client_id"),
                ("clients", "full_name"),
            }
        ),
        writes=frozenset(),
        consumes=frozenset({("id", ("accounts", "account_id"))}),
        equalities=frozenset(),
    )


def test_an_update_knows_all_about_itself(bank: SchemaSpec) -> None:
    text = (
        "UPDATE accounts SET balance_cents = balance_cents - :amount_cents WHERE client_id = :id AND status = 'active'"
    )
    statement = compile_write(text, bank, params=PARAMS)
    assert statement.reads == {("accounts", "balance_cents"), ("accounts", "client_id"), ("accounts", "status")}
    assert statement.writes == {("accounts", "balance_cents")}
    assert statement.equalities == {("accounts", ("client_id", "status"))}
    assert (statement.columns, statement.types, statement.lineage) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("DELETE FROM accounts WHERE account_id = :id", {("accounts", "*")}),
        (
            "INSERT INTO postings (account_id, line_no, amount_cents, posted_at) VALUES (:id, 1, 2, :now)",
            {("postings", "*")},
        ),
    ],
)
def test_writes_of_whole_rows(bank: SchemaSpec, text: str, writes: set[tuple[str, str]]) -> None:
    assert compile_write(text, bank, params=PARAMS).writes == writes


@pytest.mark.parametrize(
    ("text", "consumes"),
    [
        ("SELECT account_id FROM accounts WHERE account_id = :id", {("id", ("accounts", "account_id"))}),
        (
            "SELECT account_id FROM accounts WHERE :id = (account_id) AND balance_cents > :amount_cents",
            {("id", ("accounts", "account_id"))},
        ),
        ("SELECT account_id FROM accounts WHERE account_id IN ('a1', :id)", {("id", ("accounts", "account_id"))}),
        (
            "SELECT client_id FROM clients WHERE LOWER(full_name) = LOWER(TRIM(:name))",
            {("name", ("clients", "full_name"))},
        ),
        (
            (
                "SELECT client_id FROM clients AS c WHERE EXISTS "
                "(SELECT 1 FROM accounts AS a WHERE a.client_id = c.client_id AND a.account_id = :id)"
            ),
            {("id", ("accounts", "account_id"))},
        ),
        (
            "SELECT x.b FROM (SELECT account_id AS b FROM accounts) AS x WHERE x.b = :id",
            {("id", ("accounts", "account_id"))},
        ),
        ("SELECT account_id FROM accounts WHERE balance_cents >= :amount_cents", set()),
    ],
)
def test_which_parameter_is_compared_with_which_column(
    bank: SchemaSpec, text: str, consumes: set[tuple[str, tuple[str, str]]]
) -> None:
    assert compile_select(text, bank, params=PARAMS).consumes == consumes


@pytest.mark.parametrize(
    ("text", "equalities"),
    [
        (
            "SELECT client_id FROM clients WHERE full_name = :name AND born_on = :day",
            {("clients", ("full_name", "born_on"))},
        ),
        ("SELECT client_id FROM clients WHERE full_name = :name AND client_id = :id", set()),
        (
            "SELECT client_id FROM clients WHERE full_name IN ('a', :name) AND born_on < :day",
            {("clients", ("full_name",))},
        ),
        (
            "SELECT client_id FROM clients WHERE full_name = :name OR born_on = :day",
            {("clients", ("full_name",)), ("clients", ("born_on",))},
        ),
        (
            (
                "SELECT p.line_no FROM accounts AS a JOIN postings AS p ON p.account_id = a.account_id "
                "WHERE a.client_id = :id AND p.merchant = :name"
            ),
            {("accounts", ("client_id",)), ("postings", ("merchant",)), ("postings", ("merchant", "account_id"))},
        ),
        ("SELECT client_id FROM clients WHERE full_name = email", set()),
    ],
)
def test_which_columns_want_an_index(bank: SchemaSpec, text: str, equalities: set[tuple[str, tuple[str, ...]]]) -> None:
    assert compile_select(text, bank, params=PARAMS).equalities == equalities


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT balance_cents FROM accounts WHERE account_id = :id",
        "SELECT full_name FROM clients WHERE email = :name",
        "SELECT SUM(amount_cents) FROM postings",
        "SELECT amount_cents FROM postings WHERE account_id = :id AND line_no = 1",
        "SELECT c.full_name FROM accounts AS a JOIN clients AS c ON c.client_id = a.client_id WHERE a.account_id = :id",
        (
            "SELECT p.merchant FROM accounts AS a LEFT JOIN postings AS p "
            "ON p.account_id = a.account_id AND p.line_no = 1 WHERE a.account_id = :id"
        ),
        "SELECT COUNT(*) FROM postings WHERE account_id = :id GROUP BY account_id",
        "SELECT amount_cents FROM postings ORDER BY amount_cents DESC, account_id, line_no LIMIT 1",
        (
            "SELECT x.n FROM (SELECT account_id, COUNT(*) AS n FROM postings GROUP BY account_id) AS x "
            "WHERE x.account_id = :id"
        ),
        "SELECT value FROM ids WHERE ord = 0",
    ],
)
def test_a_sub_select_of_one_row_is_a_value(bank: SchemaSpec, inner: str) -> None:
    compile_select(f"SELECT ({inner}) AS v", bank, params=PARAMS, relations={"ids": {"value": "text"}})


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT balance_cents FROM accounts",
        "SELECT balance_cents FROM accounts WHERE client_id = :id",
        "SELECT full_name FROM clients WHERE full_name = :name",
        "SELECT amount_cents FROM postings WHERE account_id = :id",
        "SELECT value FROM ids",
        "SELECT COUNT(*) FROM postings GROUP BY account_id",
        (
            "SELECT p.line_no FROM accounts AS a JOIN postings AS p ON p.account_id = a.account_id "
            "WHERE a.account_id = :id"
        ),
        "SELECT balance_cents FROM accounts WHERE account_id = :id OR status = 'active'",
    ],
)
def test_a_sub_select_of_several_rows_is_none(bank: SchemaSpec, inner: str) -> None:
    with pytest.raises(SpecError, match="may give several rows; look it up by a unique key"):
        compile_select(f"SELECT ({inner}) AS v", bank, params=PARAMS, relations={"ids": {"value": "text"}})


@pytest.mark.parametrize(("text", "is_fixed"), [
    ("SELECT account_id FROM accounts ORDER BY account_id LIMIT 3", True),
    ("SELECT balance_cents FROM accounts ORDER BY balance_cents LIMIT 3", True),  # equal rows may change places unseen
    ("SELECT account_id, balance_cents FROM accounts ORDER BY balance_cents LIMIT 3", False),
    ("SELECT account_id, line_no FROM postings ORDER BY line_no LIMIT 3", False),
    ("SELECT line_no FROM postings WHERE account_id = :id ORDER BY line_no DESC LIMIT 3", True),
    ("SELECT full_name, email FROM clients ORDER BY email LIMIT 3", True),
    ("SELECT client_id, COUNT(*) AS n FROM accounts GROUP BY client_id ORDER BY n, client_id LIMIT 3", True),
    ("SELECT client_id, COUNT(*) AS n FROM accounts GROUP BY client_id ORDER BY n LIMIT 3", False),
    ("SELECT DISTINCT status, client_id FROM accounts ORDER BY status LIMIT 3", False),
    ("SELECT DISTINCT status, client_id FROM accounts ORDER BY client_id, status LIMIT 3", True),
    ("SELECT client_id AS x FROM clients UNION ALL SELECT account_id FROM accounts ORDER BY x LIMIT 3", True),
    ("SELECT client_id AS x, 1 AS y FROM clients UNION ALL SELECT account_id, 2 FROM accounts "
     "ORDER BY y LIMIT 3", False),
    ("SELECT a.account_id, c.full_name FROM accounts AS a JOIN clients AS c ON c.client_id = a.client_id "
     "ORDER BY a.account_id LIMIT 3", True),
    ("SELECT a.account_id, c.full_name FROM accounts AS a JOIN clients AS c ON c.client_id = a.client_id "
     "ORDER BY c.client_id LIMIT 3", False),
])  # fmt: skip
def test_a_limit_needs_a_fixed_order(bank: SchemaSpec, text: str, is_fixed: bool) -> None:
    if is_fixed:
        compile_select(text, bank, params=PARAMS)
    else:
        with pytest.raises(
            SpecError,
            match="LIMIT 3 takes rows of an order that is not fixed; ORDER BY columns that include a unique key",
        ):
            compile_select(text, bank, params=PARAMS)


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        (
            "SELECT balanc_cents FROM accounts",
            "unknown column 'balanc_cents'; did you mean balance_cents? use one of account_id, client_id, status, "
            "balance_cents, limit_cents",
        ),
        ("SELECT id FROM accounts", "unknown column 'id'; a parameter is written :id"),
        (
            "SELECT a.id FROM accounts AS a",
            "unknown column 'id' of a; use one of account_id, client_id, status, balance_cents, limit_cents",
        ),
        ("SELECT src.status FROM accounts", "src.status: no src in FROM; a let is written :src.status"),
        ("SELECT accounts.status FROM accounts AS a", "accounts.status: no accounts in FROM; in FROM stand a"),
        (
            "SELECT client_id FROM accounts JOIN clients ON accounts.client_id = clients.client_id",
            "client_id could be a column of accounts or clients; write table.column",
        ),
        (
            "SELECT :amount AS a",
            (
                "unknown parameter :amount; did you mean :amount_cents? "
                "use one of :now, :today, :id, :name, :day, :amount_cents, :src.status, :src.limit_cents"
            ),
        ),
        (
            "SELECT :src.sttus AS a",
            (
                "unknown parameter :src.sttus; did you mean :src.status? "
                "use one of :now, :today, :id, :name, :day, :amount_cents, :src.status, :src.limit_cents"
            ),
        ),
        ("SELECT :ids AS a", ":ids is a relation; read it with a sub-select: (SELECT ... FROM ids)"),
        ("SELECT 1 AS a FROM id", "unknown table 'id'; id is one value: write :id"),
        (
            "SELECT account_id FROM account",
            "unknown table 'account'; did you mean accounts? use one of clients, accounts, postings, ids",
        ),
        (
            "SELECT account_id FROM accounts WHERE status = 'frozne'",
            "accounts.status is never 'frozne'; did you mean frozen? use one of active, frozen",
        ),
        (
            "SELECT account_id FROM accounts WHERE balance_cents = :id",
            "balance_cents = :id compares cents with text; compare text with text ('...') and "
            "numbers with numbers, or cast one: CAST(x AS TEXT)",
        ),
        (
            "SELECT posted_at = :day AS a FROM postings",
            "posted_at = :day compares a date with a datetime; use date_of(datetime)",
        ),
        (
            "SELECT add_days(posted_at, 1) AS a FROM postings",
            "ADD_DAYS(posted_at, 1): posted_at is a datetime, not a date; write date_of(posted_at)",
        ),
        ("SELECT :day + 1 AS a", ":day + 1 calculates with date; use add_days or days_between"),
        (
            "SELECT COALESCE(balance_cents, 'none') AS a FROM accounts",
            "COALESCE(balance_cents, 'none') mixes text and numbers; cast one of them: CAST(x AS TEXT)",
        ),
        (
            "SELECT account_id FROM accounts WHERE status",
            "WHERE status is text, not a condition; compare it with something",
        ),
        (
            "SELECT COUNT(*) AS n FROM accounts HAVING status = 'active'",
            (
                "\"SELECT COUNT(*) AS n FROM accounts HAVING status = 'active'\" has HAVING without GROUP BY; "
                "use WHERE, or group"
            ),
        ),
        (
            "SELECT CASE WHEN status = 'active' THEN 1 END AS a, COUNT(*) AS n FROM accounts",
            "column status is neither grouped nor aggregated; add it to GROUP BY, or use MIN or MAX",
        ),
        (
            "SELECT LENGTH(SELECT status FROM accounts) AS n",
            "'SELECT status FROM accounts' stands where a value is wanted; put the SELECT into parentheses of its own",
        ),
        (
            (
                "SELECT full_name FROM clients WHERE client_id IN "
                "(SELECT a.account_id AS email FROM accounts AS a WHERE a.status = email)"
            ),
            "email could mean the output column or one further out; write table.column, or another name after AS",
        ),
        ("SELECT account_id FROM accounts ORDER BY NULL", "ORDER BY NULL is the same for every row; name the column"),
        ("SELECT account_id FROM accounts ORDER BY 1", "ORDER BY 1 is the same for every row; name the column"),
        (
            "SELECT ROW_NUMBER() OVER () AS n FROM accounts",
            "ROW_NUMBER() OVER () has no order; write OVER (ORDER BY ...)",
        ),
        (
            "SELECT SUM(balance_cents, 1) AS n FROM accounts",
            "'SUM(balance_cents, 1)': SUM takes one value; write SUM(column)",
        ),
        ("SELECT add_days(:day) AS n", "'ADD_DAYS(:day)' has 1 values; write add_days(date, n)"),
        (
            "WITH x AS (SELECT account_id FROM accounts) SELECT client_id FROM clients",
            "WITH x is never read; leave it out",
        ),
    ],
)
def test_issues_name_what_is_known(bank: SchemaSpec, text: str, issue: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile_select(
            text,
            bank,
            params=PARAMS,
            lets={"src": ["status", "limit_cents"]},
            relations={"ids": {"value": "text"}},
            file="f",
            place="p",
        )
    assert str(caught.value) == f"f: p: {issue}"


def test_all_issues_are_shown_at_once(bank: SchemaSpec) -> None:
    with pytest.raises(SpecError) as caught:
        compile_select("SELECT nope, :nope FROM accounts WHERE LENGTH(balance_cents) = 'x'", bank, file="f", place="p")
    assert [issue.problem for issue in caught.value.issues] == [
        "unknown column 'nope'",
        "unknown parameter :nope",
        "LENGTH(balance_cents) takes text",
        "LENGTH(balance_cents) = 'x' compares int with text",
    ]


def test_relations_become_a_with_query_that_merges_with_the_authors(bank: SchemaSpec) -> None:
    text = "WITH x AS (SELECT value AS v FROM ids) SELECT v FROM x WHERE v IN (SELECT account_id FROM accounts)"
    statement = compile_select(text, bank, relations={"ids": {"value": "text"}})
    assert statement.sqlite == (
        "WITH ids AS (SELECT CAST(key AS INTEGER) AS ord, CAST(value ->> '$.value' AS TEXT) AS value "
        "FROM json_each(:ids)), "
        "x AS (SELECT value AS v FROM ids) SELECT v FROM x WHERE v IN (SELECT account_id FROM accounts)"
    )
    assert statement.binds == ("ids",)


def test_lets_are_bound_flat_and_texts_are_left_alone(bank: SchemaSpec) -> None:
    statement = compile_condition(":src.status = 'a:b.c ;--' AND :today < :now", bank, lets={"src": ["status"]})
    assert statement.sqlite == "SELECT (:src__status = 'a:b.c ;--' AND :today < :now) AS holds"
    assert (statement.binds, statement.columns, statement.types) == (
        ("src__status", "today", "now"),
        ("holds",),
        ("bool",),
    )


def test_truth_is_a_number_on_duckdb(bank: SchemaSpec) -> None:
    statement = compile_select(
        "SELECT balance_cents > 0 AND NOT status = 'frozen' AS a FROM accounts ORDER BY account_id", bank
    )
    assert statement.duckdb == (
        "SELECT CAST(balance_cents > CAST(0 AS BIGINT) AND NOT status = 'frozen' AS BIGINT) AS a "
        "FROM accounts ORDER BY account_id NULLS FIRST"
    )
