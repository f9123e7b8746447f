"""The tables of a DuckDB file, by DuckDB's own client (its SQLAlchemy dialect knows neither current DuckDB nor
SQLAlchemy)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from toolscale.draft.sources.column_types import has_cents, kind_of, labels_of
from toolscale.draft.sources.declared_checks import settle_checks
from toolscale.draft.sources.reflection import (
    SHORT,
    FoundColumn,
    FoundReference,
    FoundTable,
    Reflection,
    Row,
    cause_of,
    deadline,
    quote,
)
from toolscale.errors import UsageError

_HOME = "main"
"""The schema in which tables lie unless somebody says otherwise."""


@contextmanager
def open_duckdb(path: Path) -> Iterator[Reflection]:
    """Open a DuckDB file to be read. UsageError if it cannot be read."""
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            yield _reflected(connection, str(path))
    except duckdb.Error as error:
        raise UsageError(f"{path}: cannot be read ({cause_of(error)})") from error


def _reflected(connection: duckdb.DuckDBPyConnection, name: str) -> Reflection:
    def answer(sql: str, *values: Any) -> Sequence[Row]:
        with deadline(connection.interrupt):
            return connection.execute(sql, values or None).fetchall()

    places = {
        table if schema == _HOME else f"{schema}.{table}": (schema, table)
        for schema, table in answer(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary "
            "AND database_name = CURRENT_DATABASE() ORDER BY schema_name <> ?, 1, 2",
            _HOME,
        )
    }
    views = answer(
        "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND database_name = CURRENT_DATABASE()"
    )
    home = tuple(each for each, (schema, _) in places.items() if schema == _HOME)

    def read(table: str) -> FoundTable:
        return _table(table, *places[table], answer)

    return Reflection(
        name, tuple(places), home or tuple(places),
        tuple(view if schema == _HOME else f"{schema}.{view}" for schema, view in views),
        (), read, _value, answer, _is_fatal,
    )  # fmt: skip


_FATAL = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.ConnectionException)


def _is_fatal(error: Exception) -> bool:
    """Return whether an error is of the file, not of a question: a sum that does not fit has no class of its own."""
    return isinstance(error, _FATAL) or type(error) is duckdb.Error


def _value(column: FoundColumn) -> str:
    """Return a number as it is, all else as a short text: Python has no day before the year 1, and moments of a zone
    want a library."""
    if column.kind in ("whole", "decimal", "real"):
        return quote(column.name)
    return f"SUBSTR(CAST({quote(column.name)} AS VARCHAR), 1, {SHORT})"


def _table(name: str, schema: str, table: str, answer: Any) -> FoundTable:
    found = FoundTable(name, f"{quote(schema)}.{quote(table)}")
    here = "database_name = CURRENT_DATABASE() AND schema_name = ? AND table_name = ?"
    for column, kind, nullable, is_generated, expression in answer(
        "SELECT column_name, data_type, is_nullable, is_generated, generation_expression FROM duckdb_columns() "
        f"WHERE {here} ORDER BY column_index",
        schema, table,
    ):  # fmt: skip
        found.columns.append(
            FoundColumn(
                column, kind, kind_of(kind), nullable, labels_of(kind),
                (expression or "") if is_generated else None, has_cents(kind),
            )
        )  # fmt: skip
    for kind, text, columns, other, others in answer(
        "SELECT constraint_type, constraint_text, constraint_column_names, referenced_table, referenced_column_names "
        f"FROM duckdb_constraints() WHERE {here} ORDER BY constraint_index",
        schema, table,
    ):  # fmt: skip
        if kind == "PRIMARY KEY":
            found.key = tuple(columns)
        elif kind == "UNIQUE":
            found.unique.append(tuple(columns))
        elif kind == "FOREIGN KEY" and other:
            there = other if schema == _HOME else f"{schema}.{other}"
            found.declared.append(FoundReference(tuple(columns), there, tuple(others or ())))
        elif kind == "CHECK":
            check = re.sub(r"^CHECK\s*\((.*)\)$", r"\1", text, flags=re.DOTALL)
            settle_checks(found, [check], "duckdb")
    for index, expressions in answer(
        f"SELECT index_name, expressions FROM duckdb_indexes() WHERE {here} AND is_unique AND NOT is_primary",
        schema, table,
    ):  # fmt: skip
        columns = _indexed(expressions or "", [each.name for each in found.columns])
        if columns:
            found.unique.append(columns)
        else:
            found.notes.append(f"{name}: {index} is not kept, which is unique for some rows or expressions")
    return found


def _indexed(expressions: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of an index, which DuckDB tells as `[a, '"b c"']`; none if it is of expressions."""
    by_text = {form: name for name in columns for form in (name, quote(name), f"'{quote(name)}'")}
    parts = [part.strip() for part in expressions.strip("[]").split(", ")]
    return tuple(by_text[part] for part in parts) if all(part in by_text for part in parts) else ()
