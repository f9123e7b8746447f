"""The executor: SQLite in memory, a trigger log, one transaction an episode and one savepoint a call that writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import SchemaSpec, ToolResult
from toolscale.sandbox.arguments import ArgumentError
from toolscale.sandbox.base import DEFAULT_LIMITS, Equality, Key, Limits, NetChanges, Row, Rows
from toolscale.sandbox.sqlite_engine import SqliteEngine
from toolscale.sandbox.state import state_hash
from toolscale.sandbox.steps import Interpreter, Occurrences
from toolscale.sandbox.trigger_log import TriggerLog
from toolscale.sql.compiled import CompiledTool, Statement


@dataclass(frozen=True, slots=True)
class Mark:
    """What a savepoint must remember besides the rows."""

    occurrences: Occurrences
    logged: int


class SqliteSandbox:
    """A Sandbox on SQLite."""

    def __init__(
        self,
        schema: SchemaSpec,
        rows: Rows,
        *,
        now: str,
        equalities: Iterable[Equality] = (),
        limits: Limits = DEFAULT_LIMITS,
        connection: type[sqlite3.Connection] = sqlite3.Connection,
    ):
        """Load `rows` and lock the engine; a class of `connection` may watch what runs. Raises SandboxError if the
        schema refuses the rows."""
        self.schema = schema
        self._engine = SqliteEngine(schema, rows, equalities, limits, connection)
        self._interpreter = Interpreter(self._engine, now)
        self._log = TriggerLog(schema, self._engine.control)
        self._marks: list[Mark] = []
        self.episode = 0
        self._readable: set[str] = set()

    @property
    def written(self) -> int:
        """How many rows were written in this episode, again included."""
        self._log.read()
        return self._log.length

    def begin(self) -> None:
        """Begin an episode, rolling back the one in progress."""
        self.rollback()
        self._engine.control("BEGIN")

    def rollback(self) -> None:
        """End the episode, if there is one."""
        self.episode += 1
        self._engine.rollback()
        self._log.forget()
        self._marks.clear()
        self._interpreter.occurrences = {}

    def savepoint(self) -> int:
        """Mark this moment of the episode and return the mark."""
        self._require_episode()
        self._log.read()  # once, not again for each way that leads on from here
        mark = len(self._marks)
        self._engine.control(f"SAVEPOINT mark_{mark}")
        self._marks.append(Mark(self._interpreter.occurrences, self._log.length))
        return mark

    def rollback_to(self, mark: int) -> None:
        """Go back to a mark, which stays valid; later marks are gone."""
        self._require_episode()
        if not 0 <= mark < len(self._marks):
            raise SandboxError(f"mark {mark} is not of this episode, or was rolled back over")
        self._engine.control(f"ROLLBACK TO mark_{mark}")
        del self._marks[mark + 1 :]
        self._interpreter.occurrences = self._marks[mark].occurrences
        self._log.forget(self._marks[mark].logged)

    def call(self, tool: CompiledTool, arguments: Mapping[str, Any], *, returns: bool = True) -> ToolResult:
        """Run a tool with validated, complete arguments; if it fails the state is unchanged."""
        engine = self._engine
        if not engine.is_in_episode:
            raise SandboxError("no episode; begin one before a call (a limit that was hit ends it)")
        engine.refill()
        self._log.is_behind = True
        try:
            return self._interpreter.call(tool, arguments, returns=returns)
        except SandboxLimitError:
            self.rollback()
            raise

    def net_changes(self) -> NetChanges:
        """Return how rows differ from the beginning of the episode."""
        return self._log.net_changes()

    def touched(self) -> list[tuple[str, Key]]:
        """Return the rows written in this episode in order of first touch, those written to what they were included."""
        return self._log.touched()

    def query(self, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
        """Return the rows of a SELECT on the current state, inside an episode or not."""
        self._engine.refill()
        try:
            if statement.sqlite not in self._readable:
                self._readable.add(self._engine.prepare(statement, writes=False))
            return self._engine.read(statement.sqlite, self._interpreter.binds(values))
        except ArgumentError as error:
            raise SandboxError(f"a value of the query cannot be bound: {error}") from error
        except SandboxLimitError:
            self.rollback()
            raise

    def dump(self, table: str) -> list[Row]:
        """Return all rows of a table, ordered by key."""
        spec = self.schema.tables[table]
        return self._engine.control(
            f"SELECT {', '.join(spec.columns)} FROM {table} ORDER BY {', '.join(spec.key or spec.columns)}"
        )

    def state_hash(self) -> str:
        """Return the hash of all rows."""
        return state_hash(self.schema, {table: self.dump(table) for table in self.schema.tables})

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()

    def _require_episode(self) -> None:
        if not self._engine.is_in_episode:
            raise SandboxError("no episode; begin one first")
