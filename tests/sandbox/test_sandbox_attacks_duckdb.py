"""What a tool that slipped past the compiler cannot do on DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_bank import NOW, ROWS, SCHEMA, SET_STOCK, let, statement, tool, write

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import ToolResult
from toolscale.sandbox.base import Limits
from toolscale.sandbox.duckdb import DuckdbSandbox
from toolscale.sandbox.state import state_hash


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckdbSandbox]:
    sandbox = DuckdbSandbox(SCHEMA, ROWS, now=NOW, limits=Limits(wall_seconds=1.5, memory_bytes=256 << 20))
    yield sandbox
    sandbox.close()


@pytest.fixture
def bank(engine: DuckdbSandbox) -> DuckdbSandbox:
    engine.begin()
    return engine


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT content FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT file FROM glob('/etc/*')",
        "SELECT * FROM request",
        "SELECT 1.5::DOUBLE",
        "PRAGMA database_list",
        "EXPLAIN SELECT 1",
        "CALL duckdb_settings()",
        "DELETE FROM counters RETURNING stock",
        "UPDATE counters SET stock = 1",
        "SELECT 1; SELECT 2",
    ],
)
def test_a_read_step_cannot(bank: DuckdbSandbox, sql: str) -> None:
    with pytest.raises(SandboxError):
        bank.call(tool("attack", "", let("found", sql, "found")), {})
    with pytest.raises(SandboxError):
        bank.query(statement(sql, ("found",)), {})
    assert bank.state_hash() == state_hash(SCHEMA, ROWS)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY accounts TO '/tmp/stolen.csv'",
        "ATTACH '/tmp/stolen.db' AS other",
        "ATTACH ':memory:' AS other",
        "INSTALL httpfs",
        "LOAD json",
        "SET threads = 8",
        "RESET lock_configuration",
        "EXPORT DATABASE '/tmp/stolen'",
        "CREATE MACRO one() AS 1",
        "CREATE TABLE more (a INTEGER)",
        "DROP TABLE accounts",
        "COMMIT",
        "ROLLBACK",
        "CHECKPOINT",
        "PREPARE p AS SELECT 1",
        "UPDATE counters SET stock = 1; COMMIT",
    ],
)
def test_a_write_step_cannot(bank: DuckdbSandbox, sql: str) -> None:
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
    assert not list(Path("/tmp").glob("stolen*"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT LENGTH(REPEAT('x', 2000000000)) AS found",
        "SELECT COUNT(*) AS found FROM range(1000000) AS a, range(1000000) AS b WHERE (a.range * b.range) % 7 = 3",
        "SELECT LENGTH(LIST(a.range)::VARCHAR) AS found FROM range(200000000) AS a",
    ],
    ids=["repeat", "join", "list"],
)
def test_a_bomb_is_stopped_and_the_next_episode_works(bank: DuckdbSandbox, sql: str) -> None:
    with pytest.raises(SandboxLimitError):
        bank.call(tool("bomb", "", let("found", sql, "found")), {})
    with pytest.raises(SandboxError, match="no episode"):
        bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6})
    bank.begin()
    assert bank.call(SET_STOCK, {"shelf": 1, "slot": 1, "stock": 6}) == ToolResult(value={})
    assert bank.net_changes() == {("counters", (1, 1)): ((1, 1, 5), (1, 1, 6))}
