"""What a sandbox is: its protocol, its limits, and the shapes of rows and changes that it gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolscale.canonical import canonical_json
from toolscale.errors import SandboxError
from toolscale.records import RowChange, SchemaSpec, ToolResult
from toolscale.sql.compiled import CompiledTool, Statement

Row = tuple[Any, ...]
Key = tuple[Any, ...]

Rows = dict[str, list[Row]]
"""Table -> rows, each in the column order of the schema."""

NetChanges = dict[tuple[str, Key], tuple[Row | None, Row | None]]
"""(table, key) -> (row before, row after); None where there was or is no row. Rows that ended as they began are
absent."""

Equality = tuple[str, tuple[str, ...]]
"""(table, columns) looked up by equality."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use."""

    vm_operations: int = 5_000_000
    """SQLite virtual machine operations of one call. Counted in steps of 1,000, so the stop is the same on every
    machine."""
    value_bytes: int = 250_000
    """The longest text that SQLite makes or stores."""
    result_bytes: int = 32_000_000
    """Characters that one statement may return."""
    database_pages: int = 250_000
    """SQLite pages of 4 KiB."""
    memory_bytes: int = 1 << 30
    """Memory of DuckDB; its process may address 3 GiB more, for code and thread stacks."""
    wall_seconds: float = 10.0
    """After so long a DuckDB statement is stopped by killing its process."""
    cpu_seconds: int = 60
    """Processor time of one episode on DuckDB."""


DEFAULT_LIMITS = Limits()


class ConstraintError(SandboxError):
    """A write broke a constraint of the schema, or a number left 64 bits. The sandbox turns it into the result of the
    call."""


class Sandbox(Protocol):
    """The rows of one environment in one engine. An episode is a transaction that is always rolled back.

    A limit that is hit raises SandboxLimitError and ends the episode.
    """

    episode: int
    """It changes with each begin and rollback: marks belong to the episode in which they were made."""

    @property
    def written(self) -> int:
        """How many writes of this episode stand: of rows on SQLite, of statements on DuckDB. Equal before and after,
        nothing was written."""

    def begin(self) -> None:
        """Begin an episode, rolling back the one in progress."""

    def rollback(self) -> None:
        """End the episode: the rows are what they were, and ids are given out from the first again."""

    def savepoint(self) -> int:
        """Mark this moment of the episode and return the mark."""

    def rollback_to(self, mark: int) -> None:
        """Go back to a mark, which stays valid; later marks are gone."""

    def call(self, tool: CompiledTool, arguments: Mapping[str, Any], *, returns: bool = True) -> ToolResult:
        """Run a tool with validated, complete arguments; if it fails the state is unchanged."""

    def net_changes(self) -> NetChanges:
        """Return how rows differ from the beginning of the episode."""

    def touched(self) -> list[tuple[str, Key]]:
        """Return the rows written in this episode."""

    def query(self, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
        """Return the rows of a SELECT on the current state."""

    def dump(self, table: str) -> list[Row]:
        """Return all rows of a table, ordered by key."""

    def state_hash(self) -> str:
        """Return the hash of all rows: equal rows, equal hash, whatever the engine."""

    def close(self) -> None:
        """Free the engine."""


def to_row_changes(schema: SchemaSpec, changes: NetChanges) -> tuple[RowChange, ...]:
    """Return net changes as records, sorted by table and key."""
    columns = {name: tuple(table.columns) for name, table in schema.tables.items()}

    def record(table: str, key: Key, before: Row | None, after: Row | None) -> RowChange:
        names = columns[table]
        return RowChange(
            table=table,
            key=key,
            before=None if before is None else dict(zip(names, before, strict=True)),
            after=None if after is None else dict(zip(names, after, strict=True)),
        )

    order = sorted(changes, key=lambda place: (place[0], canonical_json(place[1])))
    return tuple(record(table, key, *changes[table, key]) for table, key in order)


def compare_rows(schema: SchemaSpec, before: Rows, after: Rows, tables: Iterable[str]) -> NetChanges:
    """Return the net changes of `tables` by comparing two snapshots."""
    changes: NetChanges = {}
    for table in tables:
        place = key_positions(schema, table)
        old = {tuple(row[i] for i in place): row for row in before.get(table, ())}
        new = {tuple(row[i] for i in place): row for row in after.get(table, ())}
        for key in old | new:
            pair = (old.get(key), new.get(key))
            if pair[0] != pair[1]:
                changes[table, key] = pair
    return changes


def key_positions(schema: SchemaSpec, table: str) -> tuple[int, ...]:
    """Return where the primary key stands in a row of `table`."""
    names = tuple(schema.tables[table].columns)
    return tuple(names.index(name) for name in schema.tables[table].key)
