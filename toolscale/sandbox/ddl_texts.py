"""CREATE TABLE and CREATE INDEX, rendered by SQLAlchemy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from toolscale.records import ColumnSpec, SchemaSpec, TableSpec
from toolscale.records.schema import TEXT_TYPES
from toolscale.sandbox.base import Equality
from toolscale.sql.compiled import EngineName

SHAPES = {"date": 10, "datetime": 19, "time": 5}


def render(schema: SchemaSpec, engine: EngineName, indexes: Sequence[Equality]) -> tuple[list[str], list[str]]:
    """Return the texts of all tables, and of indexes on these (table, columns), in the dialect of SQLite."""
    metadata, dialect = _metadata(schema, engine), sqlite.dialect()
    tables = [str(CreateTable(table).compile(dialect=dialect)).strip() for table in metadata.tables.values()]
    made = [
        Index(f"ix_{table}__{'__'.join(columns)}", *(metadata.tables[table].c[name] for name in columns))
        for table, columns in indexes
    ]
    return tables, [str(CreateIndex(index).compile(dialect=dialect)) for index in made]


def _metadata(schema: SchemaSpec, engine: EngineName) -> MetaData:
    metadata = MetaData()
    for name, table in schema.tables.items():
        columns = [_column(column, spec, engine) for column, spec in table.columns.items()]
        options: dict[str, Any] = (
            {"sqlite_strict": True, "sqlite_with_rowid": not table.key} if engine == "sqlite" else {}
        )
        Table(name, metadata, *columns, *_constraints(table, engine), **options)
    return metadata


def _column(name: str, spec: ColumnSpec, engine: EngineName) -> Column[Any]:
    is_text = spec.type in TEXT_TYPES
    # A STRICT table knows TEXT and INTEGER alone; the INTEGER of DuckDB has 32 bits.
    strict: Any = Text() if is_text else Integer()
    wide: Any = String() if is_text else BigInteger()
    return Column(
        name,
        strict if engine == "sqlite" else wide,
        primary_key=spec.pk,
        nullable=spec.nullable and not spec.pk,
        autoincrement=False,
    )


def _constraints(table: TableSpec, engine: EngineName) -> list[Any]:
    found: list[Any] = [_check(text) for text in table.check]
    for name, column in table.columns.items():
        if column.values is not None:
            found.append(_check(f"{name} IN ({', '.join(_literal(value, column) for value in column.values)})"))
        if column.type == "bool":
            found.append(_check(f"{name} IN (0, 1)"))
        if column.type in SHAPES:
            found.append(_check(f"LENGTH({name}) = {SHAPES[column.type]}"))
        if column.check:
            found.append(_check(column.check))
        if column.unique:
            found.append(UniqueConstraint(name))
        if column.fk and engine == "sqlite":
            found.append(ForeignKeyConstraint([name], [column.fk]))
    return found + [UniqueConstraint(*names) for names in table.unique]


def _check(text: str) -> CheckConstraint:
    return CheckConstraint(text.replace(":", "\\:"))  # else SQLAlchemy takes ':30' in a literal for a parameter


def _literal(value: str, column: ColumnSpec) -> str:
    return "'" + value.replace("'", "''") + "'" if column.type in TEXT_TYPES else str(int(value))
