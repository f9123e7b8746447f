"""SQLite in memory, locked down: the connection that tools run on."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import SchemaSpec
from toolscale.sandbox.authorizer import Authorizer
from toolscale.sandbox.base import ConstraintError, Equality, Limits, Row, Rows
from toolscale.sandbox.ddl import create_indexes, create_tables
from toolscale.sandbox.trigger_log import create_log
from toolscale.sql.compiled import Statement

STEP = 4_000
UNLIMITED = 1 << 62
CHUNK = 256
HEAP_BYTES = 1 << 31
"""All SQLite connections of the process together. SQLite can only lower it, so it is no setting of one sandbox."""

CONSTRAINTS = {
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: "unique",
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: "unique",
    sqlite3.SQLITE_CONSTRAINT_ROWID: "unique",
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: "not null",
    sqlite3.SQLITE_CONSTRAINT_CHECK: "check",
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: "foreign key",
}
LIMIT_CODES = frozenset((sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM))
FAILURES = (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, UnicodeEncodeError)


class SqliteEngine:
    """One connection with the schema, its rows and the trigger log."""

    def __init__(
        self,
        schema: SchemaSpec,
        rows: Rows,
        equalities: Iterable[Equality],
        limits: Limits,
        connection: type[sqlite3.Connection] = sqlite3.Connection,
    ):
        self._limits = limits
        self._budget = limits.vm_operations // STEP
        self._left = self._budget
        self._is_protected = False
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, cached_statements=1000, check_same_thread=False, factory=connection
        )
        self._authorizer = Authorizer(schema.tables)
        # A cached statement skips the authorizer: a tool that wrote COMMIT would run ours. It cannot guess this text.
        self._secret = f"/*{secrets.token_hex(8)}*/"
        self._call, self._release = f"{self._secret}SAVEPOINT call", f"{self._secret}RELEASE call"
        self._undo = f"{self._secret}ROLLBACK TO call"
        try:
            self._load(schema, rows, equalities)
        except FAILURES as error:
            self._connection.close()
            raise SandboxError(f"the rows cannot be loaded: {error}; correct the schema or the population") from error
        self._cursor = self._connection.cursor()
        self._lock(max((len(table.columns) for table in schema.tables.values()), default=0))

    def _load(self, schema: SchemaSpec, rows: Rows, equalities: Iterable[Equality]) -> None:
        run = self._connection.execute
        for pragma in (
            "temp_store = MEMORY",
            f"max_page_count = {self._limits.database_pages}",
            f"hard_heap_limit = {HEAP_BYTES}",
        ):
            run(f"PRAGMA {pragma}")
        for text in create_tables(schema, "sqlite") + create_indexes(schema, equalities):
            run(text)
        run("BEGIN")
        for table, spec in schema.tables.items():
            marks = ", ".join("?" * len(spec.columns))
            self._connection.executemany(
                f"INSERT INTO {table} ({', '.join(spec.columns)}) VALUES ({marks})", rows.get(table, ())
            )
        run("COMMIT")
        run("PRAGMA foreign_keys = ON")  # after loading, so that rows may refer to later ones; checked as a whole
        broken = run("PRAGMA foreign_key_check").fetchone()
        if broken:
            raise sqlite3.IntegrityError(f"a row of {broken[0]} refers to a missing row of {broken[2]}")
        for text in create_log(schema):
            run(text)
        run("SELECT 1 FROM json_each('[]')").fetchall()  # declares the virtual table, which the authorizer would refuse
        run("PRAGMA trusted_schema = OFF")

    def _lock(self, widest: int) -> None:
        limits = {
            sqlite3.SQLITE_LIMIT_LENGTH: self._limits.value_bytes,
            sqlite3.SQLITE_LIMIT_SQL_LENGTH: 50_000,
            sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
            sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
            sqlite3.SQLITE_LIMIT_ATTACHED: 0,
            sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 64,
            sqlite3.SQLITE_LIMIT_COLUMN: 200,
            sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
            sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
            sqlite3.SQLITE_LIMIT_FUNCTION_ARG: max(16, widest),
            sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
        }
        for category, limit in limits.items():
            self._connection.setlimit(category, limit)
        self._connection.set_progress_handler(self._tick, STEP)
        self._connection.set_authorizer(self._authorizer)

    def _tick(self) -> bool:
        self._left -= 1
        return self._left < 0

    def refill(self) -> None:
        """Give the next call its whole budget of VM operations."""
        self._left = self._budget

    @property
    def is_in_episode(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    def control(self, text: str, values: tuple[int, ...] = ()) -> list[Row]:
        """Run a statement of the sandbox itself: one that a tool may neither run nor find in the cache."""
        self._left = UNLIMITED
        self._authorizer.in_control = True
        try:
            return self._connection.execute(self._secret + text, values).fetchall()
        finally:
            self._authorizer.in_control = False

    def rollback(self) -> None:
        """Roll everything back, if a transaction is open."""
        self._is_protected = False
        if self._connection.in_transaction:
            self.control("ROLLBACK")

    def prepare(self, statement: Statement, *, writes: bool) -> str:
        """Return the text, once the authorizer has let it pass; a read is refused if it would write."""
        text = statement.sqlite
        self._authorizer.reading = not writes
        try:
            self._connection.execute(f"EXPLAIN {text}", dict.fromkeys(statement.binds)).fetchall()
        except FAILURES as error:
            raise _translated(error, text) from error
        finally:
            self._authorizer.reading = False
        return text

    def read(self, prepared: str, binds: Mapping[str, Any]) -> list[Row]:
        """Run a SELECT."""
        try:
            rows = self._cursor.execute(prepared, binds).fetchmany(CHUNK)
            return rows if len(rows) < CHUNK else self._read_on(rows)
        except FAILURES as error:
            raise _translated(error, prepared) from error

    def _read_on(self, rows: list[Row]) -> list[Row]:
        """Fetch what is left, as long as it stays within the limit."""
        chunk, size = rows, 0
        while chunk:
            size += sum(len(value) if isinstance(value, str) else 8 for row in chunk for value in row)
            if size > self._limits.result_bytes:
                raise SandboxLimitError(f"a result is larger than {self._limits.result_bytes} bytes")
            chunk = self._cursor.fetchmany(CHUNK)
            rows += chunk if chunk is not rows else ()
        return rows

    def write(self, prepared: str, binds: Mapping[str, Any]) -> None:
        """Run one INSERT, UPDATE or DELETE."""
        try:
            self._cursor.execute(prepared, binds)
        except FAILURES as error:
            raise _translated(error, prepared) from error

    def protect(self) -> None:
        """Open the savepoint of the call."""
        if not self._is_protected:
            self._own(self._call)
            self._is_protected = True

    def keep(self) -> None:
        """Close the savepoint."""
        if self._is_protected:
            self._is_protected = False
            self._own(self._release)

    def restore(self) -> None:
        """Go back to the savepoint."""
        if self._is_protected:
            self._is_protected = False
            self._own(self._undo)
            self._own(self._release)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _own(self, text: str) -> None:
        self._authorizer.in_control = True
        try:
            self._cursor.execute(text)
        finally:
            self._authorizer.in_control = False


def _translated(error: BaseException, text: str) -> SandboxError:
    """Return our error for one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, MemoryError) or code in LIMIT_CODES:
        return SandboxLimitError(f"stopped by a limit ({str(error) or 'memory'}): {text}")
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintError(CONSTRAINTS.get(code or 0, "type"))
    if isinstance(error, OverflowError) or str(error) == "integer overflow":
        return ConstraintError("overflow")
    return SandboxError(f"SQLite refuses a statement: {error}: {text}")
