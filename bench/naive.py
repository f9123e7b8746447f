"""The same checks done the obvious way: copy the database file for each replay, make all calls, hash all tables."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash
from toolscale.environment.world import World
from toolscale.records import ToolCall
from toolscale.sandbox.base import ConstraintError, Row
from toolscale.sandbox.ddl import create_indexes, create_tables
from toolscale.sandbox.steps import Interpreter
from toolscale.sql.compiled import Statement
from toolscale.verify.states import EndState, EndStates


class FileEngine:
    """SQLite on a file, without log and without limits."""

    connection: sqlite3.Connection

    def prepare(self, statement: Statement, *, writes: bool) -> str:
        """Take the text as it is."""
        return statement.sqlite

    def read(self, prepared: str, binds: Mapping[str, Any]) -> list[Row]:
        """Run a SELECT."""
        return self.connection.execute(prepared, binds).fetchall()

    def write(self, prepared: str, binds: Mapping[str, Any]) -> None:
        """Run a write."""
        try:
            self.connection.execute(prepared, binds)
        except sqlite3.IntegrityError as error:
            raise ConstraintError(str(error)) from error

    def protect(self) -> None:
        """Begin a savepoint."""
        self.connection.execute("SAVEPOINT call")

    def keep(self) -> None:
        """Nothing to keep: the file is thrown away."""

    def restore(self) -> None:
        """Go back to before the call."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK TO call")


class NaiveStates(EndStates):
    """End states as hashes of the whole database."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._folder = Path(
            tempfile.mkdtemp(prefix="toolscale-bench-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        )
        self._base = self._folder / "base.sqlite"
        environment = world.environment
        connection = sqlite3.connect(self._base)
        for text in create_tables(environment.schema, "sqlite") + create_indexes(
            environment.schema, sorted(environment.equalities)
        ):
            connection.execute(text)
        for table, spec in environment.schema.tables.items():
            connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(spec.columns))})", world.sandbox.dump(table)
            )
        connection.commit()
        connection.close()
        self._engine = FileEngine()
        self._interpreter = Interpreter(self._engine, environment.spec.world.now)

    def run_ahead(self, lists: Iterable[Sequence[ToolCall]]) -> None:
        """Nothing: every list is run when it is asked for."""

    def writes(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """All calls: nobody has shown that reads change nothing."""
        return tuple(calls)

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        """Run the calls on a fresh copy of the file and hash every table."""
        copy = self._folder / "copy.sqlite"
        shutil.copyfile(self._base, copy)
        self._engine.connection = sqlite3.connect(copy, isolation_level=None, cached_statements=1000)
        self._interpreter.occurrences = {}
        errors = []
        for call in calls:
            tool, prepared = self.world.prepare(call.name, call.arguments)
            errors.append(str(prepared) if tool is None else self._interpreter.call(tool, prepared, returns=True).error)  # type: ignore[arg-type]
        tables = {}
        for table, spec in self.world.environment.schema.tables.items():
            shown = ", ".join(name for name, column in spec.columns.items() if not column.volatile)
            tables[table] = self._engine.connection.execute(
                f"SELECT {shown} FROM {table} ORDER BY {', '.join(spec.key)}"
            ).fetchall()
        self._engine.connection.close()
        return EndState(frozenset([content_hash(tables)]), tuple(errors), frozenset())

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder)
