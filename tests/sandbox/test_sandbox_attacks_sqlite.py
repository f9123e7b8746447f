"""What a tool that slipped past the compiler cannot do on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_bank import ADD_COUNTER, NOW, ROWS, SCHEMA, SET_STOCK, let, returning, statement, tool, write

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import ToolResult
from toolscale.sandbox.authorizer import LOG_TABLE
from toolscale.sandbox.base import Limits
from toolscale.sandbox.sqlite import SqliteSandbox
from toolscale.sandbox.state import state_hash

LIMITS = Limits(vm_operations=200_000)


@pytest.fixture
def bank() -> SqliteSandbox:
    sandbox = SqliteSandbox(SCHEMA, ROWS, now=NOW, limits=LIMITS)
    sandbox.begin()
    return sandbox


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH ':memory:' AS other",
        "PRAGMA foreign_keys = OFF",
        "VACUUM INTO '/tmp/stolen.db'",
        "CREATE TABLE more (a)",
        "CREATE TRIGGER more AFTER INSERT ON counters BEGIN DELETE FROM accounts; END",
        "DROP TABLE accounts",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "SAVEPOINT call",
        "RELEASE call",
        "RELEASE mark_0",
        f"DELETE FROM {LOG_TABLE}",
        f"INSERT INTO {LOG_TABLE} (change) VALUES ('[]')",
        f"UPDATE {LOG_TABLE} SET change = '[]'",
        "DELETE FROM sqlite_master",
        "UPDATE counters SET stock = 1; UPDATE counters SET stock = 2",
        "INSERT INTO counters (shelf, slot, stock) SELECT 8, 8, random()",
    ],
)
def test_a_write_step_cannot(bank: SqliteSandbox, sql: str) -> None:
    bank.savepoint()
    bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6})
    before = bank.net_changes()
    with pytest.raises(SandboxError):
        bank.call(
            tool(
                "attack", "", write("counters", "UPDATE counters SET stock = 3 WHERE shelf = 1"), write("counters", sql)
            ),
            {},
        )
    assert bank.net_changes() == before
    bank.rollback()
    assert bank.state_hash() == state_hash(SCHEMA, ROWS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM sqlite_master",
        "SELECT COUNT(*) FROM sqlite_master",
        "SELECT COUNT(*) FROM sqlite_temp_master",
        "SELECT COUNT(*) FROM main.sqlite_schema",
        f"SELECT change FROM {LOG_TABLE}",
        f"SELECT COUNT(*) FROM {LOG_TABLE}",
        "SELECT name FROM pragma_table_info('accounts')",
        "SELECT COUNT(*) FROM pragma_database_list",
        "SELECT load_extension('/tmp/evil.so')",
        "SELECT hex(zeroblob(1000000000))",
        "SELECT randomblob(8)",
        "SELECT printf('%1000000d', 1)",
        "SELECT group_concat(account_id) FROM accounts",
        "SELECT sqlite_version()",
        "SELECT json_group_array(account_id) FROM accounts",
        "SELECT last_insert_rowid()",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
        "DELETE FROM counters RETURNING stock",
        "UPDATE counters SET stock = 1",
    ],
)
def test_a_read_step_cannot(bank: SqliteSandbox, sql: str) -> None:
    with pytest.raises(SandboxError):
        bank.call(tool("attack", "", let("found", sql, "found")), {})
    with pytest.raises(SandboxError):
        bank.query(statement(sql, ("found",)), {})
    assert bank.state_hash() == state_hash(SCHEMA, ROWS)


def test_the_statements_of_the_sandbox_are_not_found_in_the_cache(bank: SqliteSandbox) -> None:
    bank.call(ADD_COUNTER, {"shelf": 5, "slot": 5, "stock": 5})
    bank.begin()  # BEGIN, ROLLBACK, SAVEPOINT and RELEASE are all cached now
    for sql in ("BEGIN", "ROLLBACK", "SAVEPOINT call", "RELEASE call", "ROLLBACK TO call"):
        with pytest.raises(SandboxError, match="not authorized"):
            bank.call(tool("attack", "", write("counters", sql)), {})


CROSS_JOIN = "SELECT SUM(a.stock) AS found FROM counters AS a, " + ", ".join(f"counters AS c{n}" for n in range(14))


def test_a_cross_join_is_stopped_and_the_next_episode_works(bank: SqliteSandbox) -> None:
    with pytest.raises(SandboxLimitError, match="interrupted"):
        bank.call(tool("bomb", "", let("found", CROSS_JOIN, "found")), {})
    bank.begin()
    assert bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6}) == ToolResult(value={})
    assert len(bank.net_changes()) == 1


def test_a_write_that_is_stopped_leaves_nothing_and_ends_the_episode(bank: SqliteSandbox) -> None:
    bomb = tool(
        "bomb",
        "",
        write("counters", f"INSERT INTO counters (shelf, slot, stock) SELECT 50, 50, found FROM ({CROSS_JOIN}) AS x"),
    )
    with pytest.raises(SandboxLimitError):
        bank.call(bomb, {})
    assert bank.state_hash() == state_hash(SCHEMA, ROWS)
    with pytest.raises(SandboxError, match="no episode"):
        bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6})
    bank.begin()
    assert bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6}).ok


def test_the_budget_is_of_the_call_not_of_the_episode(bank: SqliteSandbox) -> None:
    half = "SELECT SUM(a.stock) AS found FROM counters AS a, " + ", ".join(f"counters AS c{n}" for n in range(8))
    costly = tool("costly", "", let("found", half, "found"))
    assert [bank.call(costly, {}).ok for _ in range(6)] == [True] * 6


def test_a_text_that_grows_by_replace_is_too_big(bank: SqliteSandbox) -> None:
    wide = "REPLACE(" * 6 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaa')" * 6
    with pytest.raises(SandboxLimitError, match="too big"):
        bank.call(tool("bomb", "", let("found", f"SELECT {wide} AS found", "found")), {})


def test_an_argument_that_is_too_big_is_a_limit(bank: SqliteSandbox) -> None:
    with pytest.raises(SandboxLimitError, match="too big"):
        bank.call(tool("long", "text", let("found", "SELECT LENGTH(:text) AS found", "found")), {"text": "x" * 300_000})


def test_a_large_result_is_stopped() -> None:
    sandbox = SqliteSandbox(SCHEMA, ROWS, now=NOW, limits=Limits(result_bytes=100_000))
    sandbox.begin()
    text = (
        "SELECT a.memo || '.' AS memo FROM (SELECT REPLACE('aaaaaaaaaa', 'a', 'bbbbbbbbbb') AS memo) AS a, "
        + ", ".join(f"counters AS c{n}" for n in range(8))
    )
    with pytest.raises(SandboxLimitError, match="larger than 100000 bytes"):
        sandbox.call(tool("bomb", "", returns=(returning("all", "rows", text, "memo"),)), {})


def test_a_full_database_is_a_limit() -> None:
    sandbox = SqliteSandbox(SCHEMA, ROWS, now=NOW, limits=Limits(database_pages=30))
    sandbox.begin()
    many = (
        "INSERT INTO counters (shelf, slot, stock) "
        "SELECT 100, ROW_NUMBER() OVER (ORDER BY a.shelf), 1 FROM counters AS a, "
        + ", ".join(f"counters AS c{n}" for n in range(9))
    )
    with pytest.raises(SandboxLimitError, match="full"):
        sandbox.call(tool("fill", "", write("counters", many)), {})
    assert sandbox.state_hash() == state_hash(SCHEMA, ROWS)


@pytest.mark.parametrize("field", ["name.secret", "name.__class__", "other"])
def test_an_error_template_reads_only_what_is_bound(bank: SqliteSandbox, field: str) -> None:
    with pytest.raises(SandboxError, match=f"names {{{field}}}"):
        bank.call(tool("attack", "name", let("x", "SELECT 1 AS a WHERE 1 = 0", "a", f"{{{field}}}")), {"name": "x"})


def test_an_error_template_knows_no_format_language(bank: SqliteSandbox) -> None:
    odd = tool("odd", "name", let("x", "SELECT 1 AS a WHERE 1 = 0", "a", "{0} {name!r} {name:>99} {name}"))
    assert bank.call(odd, {"name": "{now}"}) == ToolResult(error="{0} {name!r} {name:>99} {now}")


def test_no_file_was_written() -> None:
    assert not Path("/tmp/stolen.db").exists()
