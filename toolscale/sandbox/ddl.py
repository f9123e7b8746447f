"""Tables and indexes for both engines, from one schema. The texts are kept: to load SQLAlchemy, which renders them,
takes longer than to load all else that a world needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolscale.kept import Kept
from toolscale.records import SchemaSpec, TableSpec
from toolscale.sandbox.base import Equality
from toolscale.sql.compiled import EngineName


def create_tables(schema: SchemaSpec, engine: EngineName) -> list[str]:
    """Return one CREATE TABLE for each table.

    SQLite: STRICT, WITHOUT ROWID, with foreign keys. DuckDB: without foreign keys, because there a delete of child and
    parent in one transaction breaks them. Both texts are those of the SQLite dialect; only the names of the types
    differ.
    """
    return _texts(schema, engine, ())[0]


def create_indexes(schema: SchemaSpec, equalities: Iterable[Equality] = ()) -> list[str]:
    """Return one CREATE INDEX for each look-up by equality and each foreign key that no key or longer index serves."""
    return _texts(schema, "sqlite", indexed_columns(schema, equalities))[1]


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


def _texts(schema: SchemaSpec, engine: EngineName, indexes: Sequence[Equality]) -> tuple[list[str], list[str]]:
    kept = Kept("tables", [engine, schema.model_dump_json(), list(indexes)], tuple)
    texts = kept.read()
    if texts is None:
        from toolscale.sandbox.ddl_texts import render

        texts = render(schema, engine, indexes)
        kept.write(texts)
    return texts
