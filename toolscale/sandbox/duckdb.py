"""The auditor: the same tools on DuckDB, in a process that can be killed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import SchemaSpec, ToolResult
from toolscale.sandbox.arguments import ArgumentError
from toolscale.sandbox.base import DEFAULT_LIMITS, Equality, Key, Limits, NetChanges, Row, Rows, compare_rows
from toolscale.sandbox.duckdb_engine import DuckdbEngine
from toolscale.sandbox.state import state_hash
from toolscale.sandbox.steps import Interpreter, Occurrences
from toolscale.sql.compiled import CompiledTool, Statement


class DuckdbSandbox:
    """A Sandbox on DuckDB: some hundred times slower than SQLite, and independent of it."""

    def __init__(
        self,
        schema: SchemaSpec,
        rows: Rows,
        *,
        now: str,
        equalities: Iterable[Equality] = (),
        limits: Limits = DEFAULT_LIMITS,
    ):
        """Start the process and load `rows`; `equalities` are of no use here. Raises SandboxError if the schema refuses
        the rows."""
        self.schema = schema
        self._rows = rows
        self._engine = DuckdbEngine(schema, rows, limits)
        self._interpreter = Interpreter(self._engine, now)
        self._marks: list[tuple[int, Occurrences]] = []
        self.episode = 0
        self._engine.start()

    @property
    def written(self) -> int:
        """How many statements wrote in this episode."""
        return len(self._engine.journal)

    def begin(self) -> None:
        """Begin an episode, rolling back the one in progress; start the process again if it was killed."""
        self.rollback()
        self._engine.begin()

    def rollback(self) -> None:
        """End the episode, if there is one."""
        self.episode += 1
        self._engine.rollback()
        self._marks.clear()
        self._interpreter.occurrences = {}

    def savepoint(self) -> int:
        """Mark this moment of the episode and return the mark."""
        self._require_episode()
        self._marks.append((len(self._engine.journal), self._interpreter.occurrences))
        return len(self._marks) - 1

    def rollback_to(self, mark: int) -> None:
        """Go back to a mark, which stays valid; later marks are gone. Runs the writes up to the mark again."""
        self._require_episode()
        if not 0 <= mark < len(self._marks):
            raise SandboxError(f"mark {mark} is not of this episode, or was rolled back over")
        del self._marks[mark + 1 :]
        length, self._interpreter.occurrences = self._marks[mark]
        self._engine.rewind(length)

    def call(self, tool: CompiledTool, arguments: Mapping[str, Any], *, returns: bool = True) -> ToolResult:
        """Run a tool with validated, complete arguments; if it fails the state is unchanged."""
        self._require_episode()
        self._engine.refill()
        try:
            return self._interpreter.call(tool, arguments, returns=returns)
        except SandboxLimitError:
            self._abandon()
            raise

    def net_changes(self) -> NetChanges:
        """Return how rows differ from the beginning of the episode, by comparing the tables that were written."""
        tables = sorted({table for written in self._engine.journal for table in written.prepared.tables})
        now = {table: self._engine.dump(table) for table in tables}
        return compare_rows(self.schema, self._rows, now, tables)

    def touched(self) -> list[tuple[str, Key]]:
        """Return the rows that differ, sorted: unlike SQLite's log, a comparison sees neither order nor rows written to
        what they were."""
        return sorted(self.net_changes())

    def query(self, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
        """Return the rows of a SELECT on the current state, inside an episode or not."""
        self._engine.start()
        self._engine.refill()
        try:
            return self._engine.read(self._engine.prepare(statement, writes=False), self._interpreter.binds(values))
        except ArgumentError as error:
            raise SandboxError(f"a value of the query cannot be bound: {error}") from error
        except SandboxLimitError:
            self._abandon()
            raise
        except SandboxError:
            self._engine.restore()
            raise

    def dump(self, table: str) -> list[Row]:
        """Return all rows of a table, ordered by key."""
        return self._engine.dump(table)

    def state_hash(self) -> str:
        """Return the hash of all rows."""
        return state_hash(self.schema, {table: self.dump(table) for table in self.schema.tables})

    def close(self) -> None:
        """Kill the process."""
        self._engine.close()

    def _abandon(self) -> None:
        """End the episode in which a limit was hit, with the process: what an allocation failure left behind is not
        trusted."""
        self._engine.close()
        self.rollback()

    def _require_episode(self) -> None:
        if not self._engine.is_in_episode:
            raise SandboxError("no episode; begin one first (a limit that was hit ends it)")
