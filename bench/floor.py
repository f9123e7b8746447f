"""The floor of judging: the SQLite statements that it executes, and nothing else.

Candidates are judged once on connections that write down every statement with its bound values, begin, rollback and
savepoints included. Then exactly these run again on bare connections to the same rows: no authorizer, no limits, no
Python in between but a loop. Expressions of plans are computed on a connection without tables. They are no statements
of the sandbox, so they are not in the floor.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from bench.reference import alongside
from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Candidate, ToolCall
from toolscale.sandbox.base import Rows
from toolscale.sandbox.ddl import create_indexes, create_tables
from toolscale.sandbox.trigger_log import create_log
from toolscale.verify.judge import Judge
from toolscale.verify.states import EndState, EndStates

ROUNDS = 9
"""Times that the statements are run, each between two looks at how slow the machine is. The median counts."""

Executed = tuple[int, str, Any]
"""(number of the connection, text, bound values)."""


@dataclass(frozen=True)
class Floor:
    """What the sandbox executes for one candidate, and the seconds of the processor that this takes alone."""

    statements: float
    seconds: float
    slowness: float
    """Of the machine while they were measured: see bench/reference.py."""


class UnsharedStates(EndStates):
    """End states of lists that are each run from a reset: what the gates ask for, before anything is shared."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._kept: dict[tuple[tuple[str, str], ...], EndState] = {}

    def forget(self) -> None:
        """Drop what was kept."""
        self._kept.clear()
        super().forget()

    def run_ahead(self, lists: Iterable[Sequence[ToolCall]]) -> None:
        """Nothing: every list is run when it is asked for."""

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        """Run the calls from a reset, once."""
        key = tuple((call.name, repr(call.arguments)) for call in calls)
        if key not in self._kept:
            super().forget()
            self._kept[key] = super().of(calls)
        return self._kept[key]


class WatchedCursor(sqlite3.Cursor):
    """Writes down what it executes."""

    def execute(self, sql: str, parameters: Any = (), /) -> WatchedCursor:
        """Execute a statement and write it down."""
        connection = self.connection
        assert isinstance(connection, WatchedConnection)
        WatchedConnection.executed.append((connection.number, sql, copy(parameters)))
        super().execute(sql, parameters)
        return self


class WatchedConnection(sqlite3.Connection):
    """A connection that writes down all its statements. All connections write into one list, so that the order is
    kept."""

    opened: ClassVar[list[WatchedConnection]] = []
    executed: ClassVar[list[Executed]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.number = len(WatchedConnection.opened)
        WatchedConnection.opened.append(self)

    def cursor(self, factory: Any = WatchedCursor) -> Any:
        """Return a cursor that writes down."""
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement and write it down."""
        cursor: sqlite3.Cursor = self.cursor().execute(sql, parameters)
        return cursor


def measure_floor(
    environment: Environment, scale: int, candidates: list[Candidate], states: type[EndStates] = EndStates
) -> Floor:
    """Judge the candidates, without the sampled auditor, and time their statements alone. Raises RuntimeError if the
    two write different rows."""
    rows = populate(environment, 0, scale)
    executed, written = _watch(environment, rows, scale, candidates, states)
    bare = [_open_bare(environment, rows) for _ in written]
    before = [connection.total_changes for connection in bare]
    cursors = [connection.cursor() for connection in bare]
    run = [(cursors[number], text, values) for number, text, values in executed]
    _execute(run)  # prepares them all
    found = [connection.total_changes - start for connection, start in zip(bare, before, strict=True)]
    if found != written:
        raise RuntimeError(
            f"the bare connections wrote {found} rows, the judge's {written}: these are not its statements"
        )
    rounds = [alongside(lambda: _timed(run)) for _ in range(ROUNDS)]
    for connection in bare:
        connection.close()
    seconds = statistics.median(taken for taken, _ in rounds)
    scaled = statistics.median(taken / slow for taken, slow in rounds)
    return Floor(len(run) / len(candidates), seconds / len(candidates), seconds / scaled)


def _timed(run: list[tuple[sqlite3.Cursor, str, Any]]) -> float:
    start = time.process_time()
    _execute(run)
    return time.process_time() - start


def _watch(
    environment: Environment, rows: Rows, scale: int, candidates: list[Candidate], states: type[EndStates]
) -> tuple[list[Executed], list[int]]:
    """Return what judging the candidates executes once all is prepared, and how many rows it writes on each
    connection."""
    WatchedConnection.opened.clear()
    judge = Judge(
        environment, rows, scale=scale, audit_share=0, replica=False, states=states, connection=WatchedConnection
    )
    for candidate in candidates:  # tools are prepared when they are first called
        judge.judge(candidate)
    for world in (judge.world, judge.reader):
        world.reset()
    before = [connection.total_changes for connection in WatchedConnection.opened]
    WatchedConnection.executed.clear()
    for candidate in candidates:
        judge.judge(candidate)
    executed = list(WatchedConnection.executed)
    written = [
        connection.total_changes - start for connection, start in zip(WatchedConnection.opened, before, strict=True)
    ]
    judge.close()
    return executed, written


def _open_bare(environment: Environment, rows: Rows) -> sqlite3.Connection:
    """Open the same rows, indexes and triggers, inside a transaction as the sandbox is between two candidates."""
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=1000)
    schema = environment.schema
    for text in (
        "PRAGMA temp_store = MEMORY",
        *create_tables(schema, "sqlite"),
        *create_indexes(schema, sorted(environment.equalities)),
    ):
        connection.execute(text)
    connection.execute("BEGIN")
    for table, spec in schema.tables.items():
        connection.executemany(
            f"INSERT INTO {table} VALUES ({', '.join('?' * len(spec.columns))})", rows.get(table, ())
        )
    connection.execute("COMMIT")
    for text in ("PRAGMA foreign_keys = ON", *create_log(schema), "BEGIN"):
        connection.execute(text)
    return connection


def _execute(run: list[tuple[sqlite3.Cursor, str, Any]]) -> None:
    for cursor, text, values in run:
        try:
            cursor.execute(text, values).fetchall()
        except sqlite3.IntegrityError:  # a call that a constraint refused, there and here
            continue
