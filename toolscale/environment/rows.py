"""Whether rows fit their schema: types, allowed values, keys, references and checks, each fault with its row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolscale.environment.moments import is_date, is_datetime, is_time
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import ColumnSpec, SchemaSpec
from toolscale.sql.statements import compile_condition

FILE = "population.yaml"
_LARGEST = 2**53


def fault(value: Any, column: ColumnSpec) -> str | None:
    """Return why the value does not fit the column, or None."""
    if value is None:
        return None if column.nullable else "not allowed: the column is not nullable"
    kind = column.type
    if kind in ("int", "cents", "bool"):
        if type(value) is not int or abs(value) > _LARGEST:
            return f"not a whole number ({kind})"
        return "not 0 or 1 (bool)" if kind == "bool" and value not in (0, 1) else None
    if type(value) is not str:
        return f"not text ({kind})"
    if kind == "date":
        return None if is_date(value) else "not a date YYYY-MM-DD"
    if kind == "time":
        return None if is_time(value) else "not a time of day HH:MM, from 00:00 to 23:59"
    if kind == "datetime":
        return None if is_datetime(value) else "not a datetime YYYY-MM-DDTHH:MM:SS"
    return (
        f"not one of {', '.join(column.values)}" if column.values is not None and value not in column.values else None
    )


def check_rows(
    schema: SchemaSpec,
    rows: Mapping[str, Sequence[tuple[Any, ...]]],
    connection: sqlite3.Connection,
    clock: Mapping[str, str],
) -> None:
    """Raise SpecError with the first fault of each kind of each table. `connection` holds the same rows."""
    issues: list[SpecIssue] = []
    for name in schema.tables:
        issues += _value_issues(schema, name, rows[name])
        issues += _unique_issues(schema, name, rows[name])
        issues += _reference_issues(schema, name, rows)
        issues += _check_issues(schema, name, connection, clock)
    if issues:
        raise SpecError(issues)


def _value_issues(schema: SchemaSpec, name: str, rows: Sequence[tuple[Any, ...]]) -> Iterator[SpecIssue]:
    for position, (column, spec) in enumerate(schema.tables[name].columns.items()):
        for row in rows:
            problem = fault(row[position], spec)
            if problem:
                shown = f"row {_shown_key(schema, name, row)}: {row[position]!r} is {problem}"
                yield SpecIssue(
                    FILE,
                    f"{name}.{column}",
                    shown,
                    "correct the batch, the plant or the derive statement that makes it",
                )
                break


def _unique_issues(schema: SchemaSpec, name: str, rows: Sequence[tuple[Any, ...]]) -> Iterator[SpecIssue]:
    table = schema.tables[name]
    order = list(table.columns)
    sets = [table.key, *((column,) for column, spec in table.columns.items() if spec.unique), *table.unique]
    for columns in sets:
        positions = [order.index(column) for column in columns]
        seen: set[tuple[Any, ...]] = set()
        for row in rows:
            value = tuple(row[position] for position in positions)
            if None in value:
                continue
            if value in seen:
                yield SpecIssue(
                    FILE,
                    f"{name}.{', '.join(columns)}",
                    f"two rows have {', '.join(map(repr, value))}",
                    "make the values unique",
                )
                break
            seen.add(value)


def _reference_issues(
    schema: SchemaSpec, name: str, rows: Mapping[str, Sequence[tuple[Any, ...]]]
) -> Iterator[SpecIssue]:
    for position, (column, spec) in enumerate(schema.tables[name].columns.items()):
        if spec.fk is None:
            continue
        parent, target = spec.fk.split(".")
        there = list(schema.tables[parent].columns).index(target)
        known = {row[there] for row in rows[parent]}
        dangling = [row for row in rows[name] if row[position] is not None and row[position] not in known]
        if dangling:
            shown = (
                f"row {_shown_key(schema, name, dangling[0])}: {dangling[0][position]!r} "
                f"is not a {spec.fk} ({len(dangling)} such rows)"
            )
            yield SpecIssue(FILE, f"{name}.{column}", shown, f"use parent: or ref: {parent}")


def _check_issues(
    schema: SchemaSpec, name: str, connection: sqlite3.Connection, clock: Mapping[str, str]
) -> Iterator[SpecIssue]:
    table = schema.tables[name]
    checks = [
        (f"tables.{name}.columns.{column}.check", spec.check) for column, spec in table.columns.items() if spec.check
    ]
    checks += [(f"tables.{name}.check[{number}]", text) for number, text in enumerate(table.check)]
    for place, text in checks:
        statement = compile_condition(text, schema, table=name, place=place, file="schema.yaml")
        for *key, holds in connection.execute(statement.sqlite, clock):
            if holds == 0:
                yield SpecIssue(
                    FILE,
                    name,
                    f"row {', '.join(map(str, key))} breaks the check {text!r}",
                    "correct the batch or the check",
                )
                break


def _shown_key(schema: SchemaSpec, name: str, row: tuple[Any, ...]) -> str:
    order = list(schema.tables[name].columns)
    return ", ".join(str(row[order.index(column)]) for column in schema.tables[name].key)
