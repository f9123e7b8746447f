"""A second opinion on compiled statements: what SQLite itself says they touch, whether DuckDB binds them, and how
SQLite would run them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from toolscale.errors import SpecIssue
from toolscale.records import SchemaSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sql.compiled import Column, CompiledTool, Statement
from toolscale.sql.macros import SQLITE_FUNCTIONS

Placed = tuple[str, Statement]
"""(place, statement)."""

_TEXTS = re.compile(r"'(?:[^']|'')*'")
_SOURCES = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO) (\w+)(?: AS (\w+))?")
_BOUNDED = re.compile(r"\bLIMIT \d+\Z")
_SCAN = re.compile(r"SCAN (\w+)(?! VIRTUAL)\b|SEARCH (\w+) USING AUTOMATIC")


def audit_tools(
    tools: Iterable[CompiledTool], schema: SchemaSpec, *, small: Collection[str] = (), file: str = "toolset.yaml"
) -> list[SpecIssue]:
    """Return what the engines have against the tools: sets of columns that disagree, texts that do not bind, scans
    without an index.

    `small` names tables that may be scanned, because they never grow.
    """
    tools = list(tools)
    statements = [placed for tool in tools for placed in statements_of(tool)]
    connection = memory_database(schema, {equality for tool in tools for equality in tool.equalities})
    try:
        issues = second_opinion(statements, schema, connection, file=file)
        issues += lint_scans(statements, schema, connection, small=small, file=file)
    finally:
        connection.close()
    return issues + bind_on_duckdb(statements, schema, file=file)


def statements_of(tool: CompiledTool) -> Iterator[Placed]:
    """Yield every statement of a tool with its place."""
    for step in tool.steps:
        if step.statement is not None:
            yield step.place, step.statement
    for part in tool.returns:
        yield f"{tool.spec.name}.returns.{part.name}", part.statement


def memory_database(schema: SchemaSpec, equalities: Iterable[tuple[str, tuple[str, ...]]] = ()) -> sqlite3.Connection:
    """Return an empty SQLite database with the tables, keys and look-up indexes of a schema, and nothing that would
    read or write by itself."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for name, table in schema.tables.items():
        columns = ", ".join(
            f"{column} {'TEXT' if spec.type in TEXT_TYPES else 'INTEGER'}" for column, spec in table.columns.items()
        )
        unique = [(column,) for column, spec in table.columns.items() if spec.unique] + list(table.unique)
        keys = "".join(f", UNIQUE ({', '.join(key)})" for key in unique)
        primary = f", PRIMARY KEY ({', '.join(table.key)})" if table.key else ""
        connection.execute(f"CREATE TABLE {name} ({columns}{primary}{keys}){' WITHOUT ROWID' if primary else ''}")
        for column, spec in table.columns.items():
            if spec.fk:
                connection.execute(f"CREATE INDEX ix_{name}__{column} ON {name} ({column})")
    for number, (name, names) in enumerate(sorted(set(equalities))):
        connection.execute(f"CREATE INDEX ix_{number} ON {name} ({', '.join(names)})")
    # The first use of json_each declares its table, which looks like a write to an authorizer.
    connection.execute("SELECT 1 FROM json_each('[]')").fetchall()
    return connection


def second_opinion(
    statements: Iterable[Placed], schema: SchemaSpec, connection: sqlite3.Connection, *, file: str = "toolset.yaml"
) -> list[SpecIssue]:
    """Compare what the compiler says a statement reads and writes with what SQLite's authorizer sees; each difference
    is an issue."""
    watch = _Watch()
    issues: list[SpecIssue] = []
    connection.set_authorizer(watch)
    try:
        for number, (place, statement) in enumerate(statements):
            watch.clear()
            try:
                # The number keeps the text apart from that of an equal statement, which would be cached and not asked
                # about again.
                connection.execute(
                    f"EXPLAIN /*{number}*/ {statement.sqlite}", dict.fromkeys(statement.binds)
                ).fetchall()
            except sqlite3.Error as error:
                issues.append(
                    SpecIssue(file, place, f"SQLite refuses {statement.source!r}: {error}", "correct the statement")
                )
                continue
            issues += [
                SpecIssue(file, place, problem, "write it in simpler SQL: a statement must be understood alike by all")
                for problem in _differences(statement, watch, schema)
            ]
    finally:
        connection.set_authorizer(None)
    return issues


def bind_on_duckdb(statements: Iterable[Placed], schema: SchemaSpec, *, file: str = "toolset.yaml") -> list[SpecIssue]:
    """Let DuckDB plan every statement on empty tables; what it refuses is an issue."""
    import duckdb  # only audits need it, and it is slow to load

    settings: dict[str, Any] = {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "threads": 1,
    }
    connection = duckdb.connect(":memory:", config=settings)
    issues = []
    try:
        for name, table in schema.tables.items():
            columns = ", ".join(
                f"{column} {'VARCHAR' if spec.type in TEXT_TYPES else 'BIGINT'}"
                for column, spec in table.columns.items()
            )
            connection.execute(f"CREATE TABLE {name} ({columns})")
        for place, statement in statements:
            try:
                connection.execute(f"EXPLAIN {statement.duckdb}", dict.fromkeys(statement.binds) or None).fetchall()
            except duckdb.Error as error:
                problem = f"DuckDB refuses {statement.source!r}: {str(error).splitlines()[0]}"
                issues.append(SpecIssue(file, place, problem, "correct the statement; types must agree"))
    finally:
        connection.close()
    return issues


def lint_scans(
    statements: Iterable[Placed],
    schema: SchemaSpec,
    connection: sqlite3.Connection,
    *,
    small: Collection[str] = (),
    file: str = "toolset.yaml",
) -> list[SpecIssue]:
    """Return an issue for each table that SQLite would read from end to end, unless it is small or the statement ends
    in a LIMIT.

    `connection` holds the tables with all indexes.
    """
    issues = []
    for place, statement in statements:
        plain = _TEXTS.sub("''", statement.sqlite)
        if _BOUNDED.search(plain):
            continue
        tables: dict[str, set[str]] = {}
        for name, alias in _SOURCES.findall(plain):
            tables.setdefault(alias or name, set()).add(name)
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement.sqlite}", dict.fromkeys(statement.binds)):
            found = _SCAN.match(str(row[3]))
            scanned = tables.get(found[1] or found[2], set()) & set(schema.tables) if found else set()
            for name in sorted(scanned - set(small)):
                remedy = (
                    "compare a column of it with = (an index is made for that), "
                    "or end the statement with LIMIT and a constant"
                )
                issues.append(SpecIssue(file, place, f"every row of {name} is read by {statement.source!r}", remedy))
    return list(dict.fromkeys(issues))


class _Watch:
    """An authorizer that allows everything and writes down what it was asked."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget."""
        self.reads: set[Column] = set()
        self.writes: set[Column] = set()
        self.others: list[str] = []

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> int:
        """Note one action."""
        if action == sqlite3.SQLITE_READ:
            self.reads.add((first or "", second or ""))
        elif action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE):
            self.writes.add((first or "", "*"))
        elif action == sqlite3.SQLITE_UPDATE:
            self.writes.add((first or "", second or ""))
        elif action == sqlite3.SQLITE_FUNCTION:
            if second not in SQLITE_FUNCTIONS:
                self.others.append(f"function {second}")
        elif action != sqlite3.SQLITE_SELECT:
            self.others.append(f"action {action} {first or ''}".strip())
        return sqlite3.SQLITE_OK


def _differences(statement: Statement, watch: _Watch, schema: SchemaSpec) -> Iterator[str]:
    if watch.others:
        yield f"SQLite would do what no tool may do ({', '.join(sorted(set(watch.others)))})"
    reads = {(table, column) for table, column in watch.reads if table in schema.tables and column}
    announced = {table for table, _ in watch.reads if table in schema.tables}
    expected = {(table, column) for table, column in statement.reads if column != "*"}
    foreign = sorted(
        {table for table, column in watch.reads if table not in schema.tables and table != "json_each" and column}
    )
    if foreign:
        yield f"SQLite would read {', '.join(foreign)}"
    if reads != expected or not {table for table, _ in statement.reads} <= announced:
        yield f"SQLite reads {_listed(reads)}, we understood {_listed(set(statement.reads))}"
    if watch.writes != statement.writes:
        yield f"SQLite writes {_listed(watch.writes)}, we understood {_listed(set(statement.writes))}"


def _listed(columns: set[Column]) -> str:
    return ", ".join(".".join(column) for column in sorted(columns)) or "nothing"
