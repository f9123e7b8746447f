"""DuckDB behind the Engine protocol: no savepoints there, so a journal of writes takes their place."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.records import SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sandbox.base import ConstraintError, Limits, Row, Rows
from toolscale.sandbox.ddl import create_tables
from toolscale.sandbox.worker_process import WorkerProcess
from toolscale.sql.compiled import Statement

LOAD_SECONDS = 300.0
ROWS_A_BATCH = 5_000


class Prepared(NamedTuple):
    """A statement with the binds it takes (DuckDB refuses others) and the tables it writes."""

    text: str
    binds: tuple[str, ...]
    tables: frozenset[str]


class Written(NamedTuple):
    """A write that succeeded."""

    prepared: Prepared
    binds: dict[str, Any]


class DuckdbEngine:
    """One worker process, started when it is needed and again after it was killed.

    Any error aborts the transaction of DuckDB; `restore` then rolls back, begins anew, and runs the journal again.
    """

    def __init__(self, schema: SchemaSpec, rows: Rows, limits: Limits):
        self._schema = schema
        self._rows = rows
        self._limits = limits
        self._worker: WorkerProcess | None = None
        self._deadline = 0.0
        self._is_aborted = False
        self._pending: list[Written] = []
        self.journal: list[Written] = []
        """The writes of successful calls, in order."""
        self.is_in_episode = False
        self._orphans = _orphan_checks(schema)

    def start(self) -> None:
        """Start and load the process, unless it runs."""
        if self._worker is not None and self._worker.is_alive:
            return
        self._worker = WorkerProcess()
        limits = self._limits
        load = {
            "do": "load",
            "ddl": create_tables(self._schema, "duckdb"),
            "inserts": _inserts(self._schema, self._rows),
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "result_bytes": limits.result_bytes,
        }
        reply = self._worker.ask(load, LOAD_SECONDS)
        if "failure" in reply:
            self.close()
            raise SandboxError(f"the rows cannot be loaded: {reply['why']}; correct the schema or the population")

    def begin(self) -> None:
        """Open the transaction of an episode."""
        self.start()
        self.refill()
        self._ask({"do": "control", "sql": "BEGIN"})
        self.is_in_episode = True

    def rollback(self) -> None:
        """End the episode, if there is one."""
        if self.is_in_episode and self._worker is not None and self._worker.is_alive:
            self.refill()
            self._ask({"do": "control", "sql": "ROLLBACK"})
        self.is_in_episode = self._is_aborted = False
        self._pending, self.journal = [], []

    def rewind(self, length: int) -> None:
        """Go back to where the journal had `length` writes."""
        kept = self.journal[:length]
        self.rollback()
        self.begin()
        for prepared, binds in kept:
            self._run(prepared, binds, reads=False)
        self.journal = kept

    def refill(self) -> None:
        """Give the next call its whole time."""
        self._deadline = time.monotonic() + self._limits.wall_seconds

    def prepare(self, statement: Statement, *, writes: bool) -> Prepared:
        """Return the text with its binds. DuckDB itself looks at the kind of the statement when it runs."""
        return Prepared(statement.duckdb, statement.binds, frozenset(table for table, _ in statement.writes))

    def read(self, prepared: Prepared, binds: Mapping[str, Any]) -> list[Row]:
        """Run a SELECT."""
        return self._run(prepared, _chosen(prepared, binds), reads=True)

    def write(self, prepared: Prepared, binds: Mapping[str, Any]) -> None:
        """Run one INSERT, UPDATE or DELETE, and look for what it left without a parent: there are no foreign keys
        here."""
        chosen = _chosen(prepared, binds)
        self._run(prepared, chosen, reads=False)
        self._pending.append(Written(prepared, chosen))
        for table in sorted(prepared.tables):
            if table in self._orphans and self._run(self._orphans[table], {}, reads=True):
                raise ConstraintError("foreign key")

    def protect(self) -> None:
        """Do nothing: the journal protects."""

    def keep(self) -> None:
        """Add the writes of the call to the journal."""
        self.journal += self._pending
        self._pending = []

    def restore(self) -> None:
        """Undo the call, if it wrote or broke the transaction."""
        if self.is_in_episode and (self._pending or self._is_aborted):
            self.rewind(len(self.journal))

    def dump(self, table: str) -> list[Row]:
        """Return all rows of a table, ordered by key."""
        spec = self._schema.tables[table]
        self.start()
        self.refill()
        text = f"SELECT {', '.join(spec.columns)} FROM {table} ORDER BY {', '.join(spec.key or spec.columns)}"
        return self._run(Prepared(text, (), frozenset()), {}, reads=True)

    def close(self) -> None:
        """Kill the process."""
        if self._worker is not None:
            self._worker.kill()
        self._worker = None
        self.is_in_episode = self._is_aborted = False
        self._pending, self.journal = [], []

    def _run(self, prepared: Prepared, binds: dict[str, Any], *, reads: bool) -> list[Row]:
        reply = self._ask({"do": "run", "sql": prepared.text, "binds": binds, "reads": reads})
        failure = reply.get("failure")
        if failure is None:
            return [tuple(row) for row in reply["rows"]]
        self._is_aborted = True
        if failure == "constraint":
            raise ConstraintError(reply["why"])
        if failure == "limit":
            raise SandboxLimitError(f"stopped by a limit ({reply['why'] or 'memory'}): {prepared.text}")
        raise SandboxError(f"DuckDB refuses a statement: {reply['why']}: {prepared.text}")

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._worker is None:
            raise SandboxError("no DuckDB process; begin an episode first")
        try:
            return self._worker.ask(request, max(0.0, self._deadline - time.monotonic()))
        except SandboxLimitError:
            self.close()
            raise


def _chosen(prepared: Prepared, binds: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {name: binds[name] for name in prepared.binds}
    except KeyError as error:
        raise SandboxError(f"no value for :{error.args[0]}: {prepared.text}") from error


def _inserts(schema: SchemaSpec, rows: Rows) -> list[tuple[str, list[Row]]]:
    """Return INSERTs that take many rows as one JSON text: a thousand times faster than one row after another."""
    found = []
    for table, spec in schema.tables.items():
        types = ["VARCHAR" if column.type in TEXT_TYPES else "BIGINT" for column in spec.columns.values()]
        values = ", ".join(f"CAST(value ->> '$[{place}]' AS {kind})" for place, kind in enumerate(types))
        text = f"INSERT INTO {table} ({', '.join(spec.columns)}) SELECT {values} FROM json_each($rows)"
        batch = [
            tuple(int(value) if isinstance(value, bool) else value for value in row) for row in rows.get(table, ())
        ]
        found += [(text, batch[start : start + ROWS_A_BATCH]) for start in range(0, len(batch), ROWS_A_BATCH)]
    return found


def _orphan_checks(schema: SchemaSpec) -> dict[str, Prepared]:
    """Return for each table with foreign keys in or out one SELECT that finds a row without its parent."""
    checks: dict[str, list[str]] = {}
    for child, spec in schema.tables.items():
        for name, column in spec.columns.items():
            if column.fk:
                parent, key = column.fk.split(".")
                text = (
                    f"SELECT 1 FROM {child} AS c WHERE c.{name} IS NOT NULL "
                    f"AND NOT EXISTS (SELECT 1 FROM {parent} AS p WHERE p.{key} = c.{name})"
                )
                for table in {child, parent}:
                    checks.setdefault(table, []).append(text)
    return {table: Prepared(" UNION ALL ".join(texts) + " LIMIT 1", (), frozenset()) for table, texts in checks.items()}
