"""What names mean inside a statement: columns with their origin, sources in FROM, bound values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolscale.records import ColumnType, SchemaSpec, TableSpec
from toolscale.sql.compiled import Column

Place = tuple[str, str]
"""(alias of a source, column) within one SELECT."""


@dataclass(frozen=True, slots=True)
class Info:
    """What is known about a value: its type, the base column it is a copy of, the parameter it is a copy of."""

    type: ColumnType | None = None
    base: Column | None = None
    parameter: str | None = None


UNKNOWN = Info()


@dataclass(slots=True)
class Source:
    """One element of FROM: a base table, a relation, a WITH query or a sub-select."""

    alias: str
    columns: Mapping[str, Info]
    table: str | None = None
    """The base table."""
    relation: str | None = None
    """The bound relation."""
    keys: tuple[frozenset[str], ...] = ()
    """Sets of columns that tell its rows apart, NULLs included."""
    nullable_keys: tuple[frozenset[str], ...] = ()
    """Sets of columns that tell rows apart when none of them is NULL."""
    is_used: bool = False


@dataclass(slots=True)
class Query:
    """What a SELECT gives."""

    names: list[str | None]
    infos: list[Info]
    keys: tuple[frozenset[str], ...] = ()
    is_single: bool = False
    """At most one row, whatever the database holds."""
    is_ordered: bool = False
    """Its ORDER BY leaves nothing open (or there is at most one row)."""
    limit: int | None = None
    is_single_without_limit: bool = False


@dataclass(slots=True)
class Scope:
    """Where a name is looked up: the sources of one SELECT, then those of the SELECTs around it."""

    sources: dict[str, Source] = field(default_factory=dict)
    outer: Scope | None = None
    queries: Mapping[str, Query] = field(default_factory=dict)
    """WITH queries that can be read here."""
    aliases: frozenset[str] = frozenset()
    """Names given to output columns with AS."""


@dataclass(frozen=True, slots=True)
class Names:
    """All names that a statement may use besides the tables: bound values in flat form, and relations."""

    values: Mapping[str, Info] = field(default_factory=dict)
    relations: Mapping[str, Mapping[str, Info]] = field(default_factory=dict)


def shown(flat: str) -> str:
    """Return a flat name as an author writes it: `src__status` is `:src.status`."""
    return ":" + flat.replace("__", ".", 1)


def table_source(alias: str, name: str, schema: SchemaSpec) -> Source:
    """Return a base table as a source."""
    table = schema.tables[name]
    columns = {column: Info(spec.type, (name, column)) for column, spec in table.columns.items()}
    strict, loose = table_keys(table)
    return Source(alias, columns, table=name, keys=strict, nullable_keys=loose)


def table_keys(table: TableSpec) -> tuple[tuple[frozenset[str], ...], tuple[frozenset[str], ...]]:
    """Return the unique sets of columns of a table: those without, and those with a nullable column."""
    sets = [
        frozenset(table.key),
        *(frozenset((name,)) for name, column in table.columns.items() if column.unique),
        *map(frozenset, table.unique),
    ]
    is_strict = [
        columns <= set(table.key) or not any(table.columns[name].nullable for name in columns if name in table.columns)
        for columns in sets
    ]
    strict = tuple(columns for columns, fits in zip(sets, is_strict, strict=True) if columns and fits)
    return strict, tuple(columns for columns, fits in zip(sets, is_strict, strict=True) if columns and not fits)
