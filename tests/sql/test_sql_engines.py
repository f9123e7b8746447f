"""What compiles gives the same result on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolscale.records import ColumnType, SchemaSpec
from toolscale.sql import compile_condition, compile_select, compile_write

Run = Callable[..., tuple[Any, Any]]

PARAMS: dict[str, ColumnType] = {"id": "text", "name": "text", "amount": "cents", "day": "date", "flag": "bool", "nothing": "text", "zero": "int"}
RELATIONS: dict[str, dict[str, ColumnType]] = {"ids": {"value": "text"}, "items": {"account_id": "text", "amount_cents": "cents"}}
VALUES = {
    "id": "a1", "name": "ann Émile", "amount": 70_000, "day": "2026-01-31", "flag": 1, "nothing": None, "zero": 0, "src__balance_cents": 10_050,
    "ids": '[{"value":"a2"},{"value":"a1"},{"value":null},{"value":"a2"}]',
    "items": '[{"account_id":"a1","amount_cents":250},{"account_id":"a3","amount_cents":null},{"account_id":"a1","amount_cents":-1}]',
}  # fmt: skip

SELECTS = [
    "SELECT account_id, balance_cents, limit_cents FROM accounts ORDER BY limit_cents, account_id",
    "SELECT account_id FROM accounts ORDER BY limit_cents DESC, account_id DESC",
    "SELECT account_id FROM accounts ORDER BY limit_cents DESC NULLS FIRST, account_id",
    "SELECT account_id FROM accounts ORDER BY limit_cents NULLS LAST, account_id LIMIT 2",
    "SELECT c.full_name, COUNT(*) AS n, SUM(a.balance_cents) AS total FROM clients AS c JOIN accounts AS a ON a.client_id = c.client_id "
    "GROUP BY c.client_id, c.full_name HAVING SUM(a.balance_cents) > 0 ORDER BY c.client_id",
    "SELECT a.account_id, p.line_no, p.merchant FROM accounts AS a LEFT JOIN postings AS p ON p.account_id = a.account_id AND p.amount_cents < 0 "
    "ORDER BY a.account_id, p.line_no",
    "SELECT account_id, (SELECT SUM(p.amount_cents) FROM postings AS p WHERE p.account_id = accounts.account_id) AS total "
    "FROM accounts ORDER BY account_id",
    "SELECT account_id FROM accounts AS a WHERE EXISTS (SELECT 1 "
    "FROM postings AS p WHERE p.account_id = a.account_id AND p.merchant IS NULL) ORDER BY 1 + balance_cents, account_id",
    "SELECT account_id FROM accounts WHERE account_id NOT IN (SELECT account_id FROM postings) ORDER BY account_id",
    "SELECT account_id FROM accounts WHERE account_id IN (SELECT value FROM ids) ORDER BY account_id",
    "SELECT ord, value FROM ids ORDER BY ord",
    "SELECT i.ord, a.balance_cents - COALESCE(i.amount_cents, 0) AS rest "
    "FROM items AS i JOIN accounts AS a ON a.account_id = i.account_id ORDER BY i.ord",
    "SELECT value, ROW_NUMBER() OVER (PARTITION BY value ORDER BY ord) AS nth FROM ids ORDER BY ord",
    "SELECT account_id, line_no, SUM(amount_cents) OVER (PARTITION BY account_id ORDER BY line_no) AS running "
    "FROM postings ORDER BY account_id, line_no",
    "SELECT account_id, RANK() OVER (ORDER BY balance_cents DESC) AS place, DENSE_RANK() OVER (ORDER BY status) AS d "
    "FROM accounts ORDER BY account_id",
    "SELECT DISTINCT full_name FROM clients ORDER BY full_name",
    "SELECT COUNT(DISTINCT full_name) AS names, COUNT(other) AS n FROM (SELECT full_name, NULL AS other FROM clients) AS x",
    "SELECT account_id AS id, 'account' AS kind FROM accounts UNION ALL SELECT client_id, 'client' FROM clients ORDER BY kind, id",
    "WITH big AS (SELECT account_id, balance_cents FROM accounts WHERE balance_cents > 50) SELECT account_id "
    "FROM big ORDER BY balance_cents, account_id",
    "WITH mine AS (SELECT value AS v FROM ids) SELECT COUNT(*) AS n FROM mine WHERE v IS NOT NULL",
    "SELECT CASE WHEN balance_cents < 0 THEN 'red' WHEN balance_cents = 0 THEN 'zero' ELSE 'black' END AS colour, account_id "
    "FROM accounts ORDER BY account_id",
    "SELECT CASE status WHEN 'active' THEN 1 ELSE 0 END AS a, account_id FROM accounts ORDER BY account_id",
    "SELECT balance_cents > 50 AS rich, NOT balance_cents > 50 AS poor, (balance_cents > 50) + 1 AS n, account_id FROM accounts ORDER BY account_id",
    "SELECT SUM(is_active = 1) AS active, SUM(CASE WHEN is_active THEN 1 END) AS again, MAX(is_active) AS most FROM clients",
    "SELECT client_id FROM clients WHERE is_active AND NOT is_active = 0 OR client_id = 'c2' ORDER BY client_id",
    "SELECT client_id FROM clients WHERE LOWER(email) = LOWER('bob@X.org') OR contains_ci(full_name, 'ANN') ORDER BY client_id",
    "SELECT client_id FROM clients WHERE LOWER(full_name) = :name ORDER BY client_id",
    "SELECT balance_cents * 100000 * 1000 AS big, balance_cents - :amount AS rest, -balance_cents AS minus FROM accounts WHERE account_id = :id",
    "SELECT pct_cents(balance_cents, 150) AS fee, idiv(balance_cents, 7) AS seventh, idiv(balance_cents, :zero) AS none "
    "FROM accounts WHERE account_id = 'a2'",
    "SELECT idiv(SUM(balance_cents), COUNT(*)) AS mean, pct_cents(SUM(balance_cents), 5000) AS half FROM accounts",
    "SELECT date_of(posted_at) AS day, COUNT(*) AS n FROM postings GROUP BY date_of(posted_at) ORDER BY date_of(posted_at)",
    "SELECT client_id, days_between(born_on, :today) AS days, add_months(born_on, 12) AS next, month_of(born_on) AS m "
    "FROM clients ORDER BY client_id",
    "SELECT COALESCE(merchant, :nothing, 'none') AS m, LENGTH(merchant) AS n, account_id, line_no FROM postings ORDER BY account_id, line_no",
    "SELECT UPPER(merchant) AS m, SUBSTR(merchant, 1, 3) AS s, INSTR(merchant, 'é') AS i, account_id, line_no "
    "FROM postings ORDER BY merchant, account_id, line_no",
    "SELECT merchant IS NOT DISTINCT FROM NULL AS a, merchant = 'ABC' AS b, merchant <> 'ABC' AS c, account_id, line_no "
    "FROM postings ORDER BY account_id, line_no",
    "SELECT 'it''s ' || CAST(COUNT(*) AS TEXT) || ' ' || :id AS text, CAST('12' AS INTEGER) + 1 AS n FROM accounts",
    "SELECT least_of(limit_cents, 7) AS a, greatest_of(balance_cents, :src.balance_cents) AS b, account_id FROM accounts ORDER BY account_id",
    "SELECT account_id FROM accounts WHERE balance_cents BETWEEN -25 AND :amount AND balance_cents NOT BETWEEN 99 AND 100 ORDER BY account_id",
    "SELECT account_id FROM accounts WHERE status IN ('active', :nothing) AND balance_cents NOT IN (0, 99) ORDER BY account_id",
    "SELECT :flag AS flag, :flag = 1 AS is_one, :nothing IS NULL AS none, :flag AND 1 = 1 AS both, TRUE AS yes",
    "SELECT MIN(posted_at) AS first, MAX(merchant) AS last FROM postings WHERE posted_at >= :day AND posted_at < :now",
    "SELECT account_id, line_no FROM postings WHERE date_of(posted_at) = :day ORDER BY account_id, line_no",
    "SELECT REPLACE(merchant, 'Café', 'Cafe') AS m, NULLIF(amount_cents, -1) AS a, ABS(amount_cents) AS b, account_id, line_no "
    "FROM postings ORDER BY account_id, line_no",
    "SELECT a.account_id, b.account_id AS other "
    "FROM accounts AS a CROSS JOIN accounts AS b WHERE a.balance_cents < b.balance_cents ORDER BY a.account_id, b.account_id",
    "SELECT x.n FROM (SELECT client_id, COUNT(*) AS n "
    "FROM accounts GROUP BY client_id) AS x JOIN clients AS c ON c.client_id = x.client_id ORDER BY c.client_id",
]  # fmt: skip

WRITES = [
    "UPDATE accounts SET balance_cents = balance_cents - :amount, status = 'frozen' WHERE account_id = :id",
    "UPDATE accounts SET balance_cents = balance_cents + 1 WHERE account_id IN (SELECT value FROM ids)",
    "UPDATE accounts SET balance_cents = balance_cents + (SELECT COALESCE(SUM(i.amount_cents), 0) "
    "FROM items AS i WHERE i.account_id = accounts.account_id)",
    "UPDATE clients SET is_active = (SELECT COUNT(*) FROM accounts AS a WHERE a.client_id = clients.client_id AND a.status = 'active') > 0",
    "UPDATE clients SET born_on = add_months(born_on, -1), is_active = NOT is_active WHERE born_on < :today",
    "UPDATE postings SET merchant = NULL, posted_at = :now WHERE account_id = :id AND line_no = 3",
    "DELETE FROM postings WHERE account_id IN (SELECT value FROM ids) AND amount_cents < 0",
    "DELETE FROM accounts WHERE NOT EXISTS (SELECT 1 FROM postings WHERE postings.account_id = accounts.account_id)",
    "INSERT INTO accounts (account_id, client_id, status, balance_cents) VALUES ('a9', 'c1', 'active', :amount), ('a8', 'c2', 'frozen', -:amount)",
    "INSERT INTO postings (account_id, line_no, amount_cents, posted_at) SELECT i.account_id, i.ord + 100, COALESCE(i.amount_cents, 0), "
    ":now FROM items AS i",
    "INSERT INTO accounts (account_id, client_id, status, balance_cents) VALUES ((SELECT MAX(value) FROM ids) || 'x', 'c1', 'active', 1)",
    "WITH old AS (SELECT account_id FROM accounts WHERE status = 'frozen') DELETE FROM postings WHERE account_id IN (SELECT account_id FROM old)",
    "WITH more AS (SELECT account_id AS a FROM items) UPDATE accounts SET limit_cents = :amount * 100000 WHERE account_id IN (SELECT a FROM more)",
    "INSERT INTO accounts (account_id, client_id, status, balance_cents) WITH w AS (SELECT value AS v "
    "FROM ids WHERE ord = 0) SELECT v || '_copy', 'c1', 'active', 0 FROM w",
]  # fmt: skip


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


@pytest.mark.parametrize("text", [
    "balance_cents >= 0", "(status = 'active') = (balance_cents >= 0)", "limit_cents IS NULL OR limit_cents > balance_cents",
    "balance_cents > (SELECT COALESCE(SUM(p.amount_cents), 0) FROM postings AS p WHERE p.account_id = accounts.account_id)",
    "EXISTS (SELECT 1 FROM clients AS c WHERE c.client_id = accounts.client_id AND c.is_active)", "LENGTH(status)", "1 = 1",
])  # fmt: skip
def test_conditions_over_a_table_agree(bank: SchemaSpec, on_both: Run, text: str) -> None:
    statement = compile_condition(text, bank, table="accounts")
    assert statement.columns == ("account_id", "holds")
    one, two = on_both(statement)
    assert sorted(one) == sorted(two)
    assert len(one) == 4
