"""The tables of a PostgreSQL server, by its catalogue: what a type is comes from there, not from its name."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from toolscale.draft.sources.column_types import Kind, has_cents, kind_of
from toolscale.draft.sources.declared_checks import settle_checks
from toolscale.draft.sources.reflection import (
    QUESTION_S,
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

GRACE_S = 10.0
"""Seconds that a server has on top, to say that it stopped a question; then it is taken for gone."""

_TABLES = """
SELECT n.nspname, c.relname, c.relkind::text, c.oid::bigint, n.nspname = {home} AS is_home,
       (SELECT inhparent::regclass::text FROM pg_inherits WHERE c.relispartition AND inhrelid = c.oid LIMIT 1),
       EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY NOT n.nspname = {home}, n.nspname, c.relname
"""
_COLUMNS = """
WITH RECURSIVE root(oid, base, shown) AS (
  SELECT oid, oid, NULL::text FROM pg_type WHERE typtype <> 'd'
  UNION ALL
  SELECT t.oid, root.base, COALESCE(root.shown, format_type(t.typbasetype, t.typtypmod))
  FROM pg_type t JOIN root ON t.typtype = 'd' AND t.typbasetype = root.oid
)
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       CASE WHEN a.attgenerated <> '' THEN COALESCE(pg_get_expr(d.adbin, d.adrelid), '') END,
       COALESCE(root.shown, format_type(a.atttypid, a.atttypmod)), b.typname, b.typcategory::text,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = b.oid ORDER BY e.enumsortorder)
FROM pg_attribute a JOIN root ON root.oid = a.atttypid JOIN pg_type b ON b.oid = root.base
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_CONSTRAINTS = """
SELECT c.contype::text, {columns}, c.confrelid::bigint, {others}, pg_get_constraintdef(c.oid)
FROM pg_constraint c WHERE c.conrelid = {oid} AND c.contype IN ('p', 'f', 'c') ORDER BY c.contype, c.conkey, c.conname
"""
_NAMES = """ARRAY(SELECT a.attname::text FROM unnest({numbers}) WITH ORDINALITY k(number, place)
  JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number ORDER BY k.place)"""
_UNIQUE = """
SELECT i.indexrelid::regclass::text, i.indpred IS NOT NULL OR i.indexprs IS NOT NULL, {columns}
FROM pg_index i WHERE i.indrelid = {oid} AND i.indisunique AND NOT i.indisprimary ORDER BY 1
"""


@contextmanager
def open_postgres(url: str) -> Iterator[Reflection]:
    """Open a database of a server to be read. UsageError if it cannot be reached or read."""
    engine, name, schema = _engine(url)
    try:
        with engine.connect().execution_options(no_parameters=True) as connection:  # a name may hold a %
            connection.exec_driver_sql("SET default_transaction_read_only = on")
            connection.exec_driver_sql(f"SET statement_timeout = {int(QUESTION_S * 1000)}")
            connection.exec_driver_sql("SET datestyle = 'ISO'")
            yield _reflected(connection, name, schema)
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: cannot be read ({cause_of(error)})") from error
    finally:
        engine.dispose()


def _engine(url: str) -> tuple[sa.Engine, str, str | None]:
    """Return the engine of a URL, the URL as it may be shown, and the schema that it names, as Prisma writes it."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] not in ("postgres", "postgresql"):
        raise UsageError(f"--from: no database at {scheme}://…; write postgresql://user@host/database")
    try:
        address = sa.make_url(f"postgresql+psycopg2://{rest}")
        schema = address.query.get("schema")
        address = address.difference_update_query(["schema"])
        engine = sa.create_engine(
            address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool,
            connect_args={"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5},
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--from: the driver {error.name!r} is not installed; "
            "for PostgreSQL run: pip install -r requirements-scale.txt"
        ) from error
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError(f"--from: no database at {scheme}://…; write postgresql://user@host/database") from error
    shown = address.set(query={}).render_as_string(hide_password=True)
    return engine, shown, schema if isinstance(schema, str) else None


def _reflected(connection: sa.Connection, name: str, schema: str | None) -> Reflection:
    raw: Any = connection.connection.driver_connection

    def hang_up() -> None:
        with socket.socket(fileno=socket.dup(raw.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)

    def answer(sql: str) -> Sequence[Row]:
        with deadline(hang_up, QUESTION_S + GRACE_S):
            return connection.exec_driver_sql(sql).fetchall()

    home = "CURRENT_SCHEMA()" if schema is None else "'" + schema.replace("'", "''") + "'"
    listed = answer(_TABLES.format(home=home))
    called = {oid: each if is_home else f"{space}.{each}" for space, each, _, oid, is_home, *_ in listed}
    places = {called[oid]: (oid, f"{quote(space)}.{quote(each)}") for space, each, _, oid, *_ in listed}
    notes, tables = [], list[str]()
    for _, _, kind, oid, _, whole, is_extension in listed:
        if whole is not None:
            notes.append(f"{called[oid]}: a part of {whole}, and read with it")
        elif kind in "rpf" and not is_extension:
            tables.append(called[oid])
    shown = tuple(called[oid] for *_, oid, is_home, _, _ in listed if is_home and called[oid] in tables)
    views = tuple(called[oid] for _, _, kind, oid, *_ in listed if kind in "vm")

    def read(table: str) -> FoundTable:
        oid, place = places[table]
        return _table(FoundTable(table, place), oid, called, answer)

    return Reflection(
        name, tuple(tables), shown or tuple(tables), views, tuple(notes), read, _value, answer,
        lambda error: bool(raw.closed) or connection.invalidated,
    )  # fmt: skip


def _value(column: FoundColumn) -> str:
    """Return a number as it is, all else as a short text: Python has no year 10000, and an enum no letters."""
    if column.kind in ("whole", "decimal", "real"):
        return quote(column.name)
    if column.kind == "money":
        return f"CAST({quote(column.name)} AS NUMERIC)"
    return f"SUBSTR(CAST({quote(column.name)} AS TEXT), 1, {SHORT})"


def _table(table: FoundTable, oid: int, called: dict[int, str], answer: Any) -> FoundTable:
    for column, shown, nullable, computed, based, base, category, labels in answer(_COLUMNS.format(oid=oid)):
        kind = _kind(base, category)
        table.columns.append(
            FoundColumn(
                column, shown if based == shown else f"{shown} ({based})", kind, nullable, tuple(labels),
                computed, has_cents(based),
            )
        )  # fmt: skip
    own, others = (
        _NAMES.format(numbers=f"c.{numbers}", table=f"c.{relation}")
        for numbers, relation in (("conkey", "conrelid"), ("confkey", "confrelid"))
    )
    for kind, columns, other, there, text in answer(_CONSTRAINTS.format(oid=oid, columns=own, others=others)):
        if kind == "p":
            table.key = tuple(columns)
        elif kind == "f":
            table.declared.append(FoundReference(tuple(columns), called.get(other, "another"), tuple(there)))
        else:
            check = re.sub(r"^CHECK \((.*)\)( NO INHERIT)?( NOT VALID)?$", r"\1", text, flags=re.DOTALL)
            settle_checks(table, [check], "postgres")
    indexed = _NAMES.format(numbers="(i.indkey::int2[])[0:i.indnkeyatts - 1]", table="i.indrelid")
    for index, is_partial, columns in answer(_UNIQUE.format(oid=oid, columns=indexed)):
        if is_partial:
            table.notes.append(f"{table.name}: {index} is not kept, which is unique for some rows or expressions")
        else:
            table.unique.append(tuple(columns))
    return table


_CATEGORIES: dict[str, Kind] = {"B": "bool", "E": "text", "I": "text", "S": "text"}
"""Of PostgreSQL's types: booleans, enums, addresses of networks, texts."""


def _kind(base: str, category: str) -> Kind | None:
    """Return what a column of a base type holds: numbers, days and times by their names, of which there are few."""
    if category in ("N", "D") or base == "uuid":
        return kind_of(base)
    return "text" if base == "citext" else _CATEGORIES.get(category)
