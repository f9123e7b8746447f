"""Tables and indexes for both engines, from one schema, through SQLAlchemy Core metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

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
from toolscale.sandbox.base import Equality

EngineName = Literal["sqlite", "duckdb"]

TEXT_TYPES = frozenset(("text", "date", "datetime", "time"))
SHAPES = {"date": 10, "datetime": 19, "time": 5}


def create_tables(schema: SchemaSpec, engine: EngineName) -> list[str]:
    """Return one CREATE TABLE for each table.

    SQLite: STRICT, WITHOUT ROWID, with foreign keys. DuckDB: without foreign keys, because there a delete of child and
    parent in one transaction breaks them. Both texts are those of the SQLite dialect; only the names of the types
    differ.
    """
    return [
        str(CreateTable(table).compile(dialect=sqlite.dialect())).strip()
        for table in _metadata(schema, engine).tables.values()
    ]


def create_indexes(schema: SchemaSpec, equalities: Iterable[Equality] = ()) -> list[str]:
    """Return one CREATE INDEX for each look-up by equality and each foreign key that no key or longer index serves."""
    metadata = _metadata(schema, "sqlite")
    texts = []
    for table, columns in indexed_columns(schema, equalities):
        index = Index(f"ix_{table}__{'__'.join(columns)}", *(metadata.tables[table].c[name] for name in columns))
        texts.append(str(CreateIndex(index).compile(dialect=sqlite.dialect())))
    return texts


def indexed_columns(schema: SchemaSpec, equalities: Iterable[Equality] = ()) -> list[Equality]:
    """Return the (table, columns) that need an index, sorted."""
    wanted = {(table, tuple(columns)) for table, columns in equalities if columns}
    wanted |= {
        (name, (column,)) for name, table in schema.tables.items() for column, spec in table.columns.items() if spec.fk
    }

    found: list[Equality] = []
    for table, columns in sorted(wanted, key=lambda place: (-len(place[1]), place)):
        serving = _unique_keys(schema.tables[table]) + [other for name, other in found if name == table]
        if not any(set(other[: len(columns)]) == set(columns) for other in serving):
            found.append((table, columns))
    return sorted(found)


def _unique_keys(table: TableSpec) -> list[tuple[str, ...]]:
    single = [(name,) for name, column in table.columns.items() if column.unique]
    return [table.key, *single, *table.unique]


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
