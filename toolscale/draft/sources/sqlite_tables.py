"""The tables of a SQLite file, by what SQLite itself says of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from toolscale.draft.sources.column_types import has_cents, kind_of
from toolscale.draft.sources.declared_checks import settle_checks
from toolscale.draft.sources.reflection import (
    SHORT,
    FoundColumn,
    FoundReference,
    FoundTable,
    Reflection,
    Row,
    cause_of,
    quote,
    sqlite_deadline,
)
from toolscale.errors import UsageError

_FATAL = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PROTOCOL,
})  # fmt: skip
"""Errors of the file, not of a question."""

LONGEST = 64_000_000
"""Bytes of a value, whatever a column computes."""

_VIRTUAL, _STORED = 2, 3
"""What `table_xinfo` calls columns that are computed."""


@contextmanager
def open_sqlite(path: Path) -> Iterator[Reflection]:
    """Open a SQLite file to be read. UsageError if it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            # trusted_schema stays on: off, one column AS (json_extract(…)) makes all tables unreadable, and without
            # extensions no function does anything but compute.
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            connection.execute("PRAGMA cell_size_check = ON")
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield _reflected(connection, str(path))
    except (sqlite3.Error, UnicodeDecodeError) as error:  # an error may quote bytes of the file
        raise UsageError(f"{path}: cannot be read ({cause_of(error)})") from error


def _reflected(connection: sqlite3.Connection, name: str) -> Reflection:
    def answer(sql: str, *values: Any) -> Sequence[Row]:
        with sqlite_deadline(connection):
            return connection.execute(sql, values).fetchall()

    found = answer("SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY name")
    kinds = {each: kind for each, kind in found if not each.lower().startswith("sqlite_")}
    notes, tables = [], []
    for table, kind in kinds.items():
        if kind == "virtual" and (cause := _unreadable(connection, table)):
            notes.append(f"{table}: left out, it cannot be read ({cause})")
        elif kind in ("table", "virtual"):
            tables.append(table)
    if inner := [table for table, kind in kinds.items() if kind == "shadow"]:
        notes.append(f"{', '.join(inner)}: left out, in which SQLite keeps virtual tables")
    views = tuple(table for table, kind in kinds.items() if kind == "view")

    def read(table: str) -> FoundTable:
        return _table(table, answer)

    return Reflection(name, tuple(tables), tuple(tables), views, tuple(notes), read, _value, answer, _is_fatal)


def _is_fatal(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _FATAL


def _unreadable(connection: sqlite3.Connection, table: str) -> str:
    """Return why a virtual table cannot be read, as of a module that is not there; empty if it can."""
    try:
        connection.execute(f"SELECT 1 FROM {quote(table)} LIMIT 1").fetchall()
    except sqlite3.Error as error:
        if _is_fatal(error):
            raise
        return cause_of(error)
    return ""


def _value(column: FoundColumn) -> str:
    name = quote(column.name)
    return f"CASE WHEN TYPEOF({name}) IN ('text', 'blob') THEN SUBSTR({name}, 1, {SHORT}) ELSE {name} END"


def _table(name: str, answer: Any) -> FoundTable:
    table = FoundTable(name, quote(name))
    ((sql,),) = answer("SELECT sql FROM sqlite_master WHERE name = ? AND type = 'table'", name) or ((None,),)
    computed, checks = _declared(sql or "")
    key: dict[int, str] = {}
    for column, declared, filled, at, hidden in answer(
        'SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid', name
    ):
        if hidden not in (0, _VIRTUAL, _STORED):
            continue
        shown = declared.upper().removesuffix("GENERATED ALWAYS").strip()
        table.columns.append(
            FoundColumn(
                column, shown or "no type", kind_of(shown, "any") if shown != "BIT" else "bool", not filled,
                computed=computed.get(column.lower(), "") if hidden else None, has_cents=has_cents(shown),
            )
        )  # fmt: skip
        if at:
            key[at] = column
    table.key = tuple(column for _, column in sorted(key.items()))
    table.declared = [*_references(answer, name)]
    settle_checks(table, checks, "sqlite")
    for index, partial in answer(
        "SELECT name, partial FROM pragma_index_list(?) WHERE \"unique\" AND origin <> 'pk'", name
    ):
        columns = [each for (each,) in answer("SELECT name FROM pragma_index_info(?) ORDER BY seqno", index)]
        if partial or None in columns:
            table.notes.append(f"{name}: {index} is not kept, which is unique for some rows or expressions")
        else:
            table.unique.append(tuple(columns))
    return table


def _references(answer: Any, name: str) -> Iterator[FoundReference]:
    """Yield the foreign keys of a table in the order in which they are written, which SQLite turns round."""
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, other, column, there in answer(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq', name
    ):
        keys.setdefault(number, []).append((column, other, there))
    for parts in keys.values():
        others = tuple(there for _, _, there in parts if there is not None)
        yield FoundReference(tuple(column for column, _, _ in parts), parts[0][1], others)


def _declared(sql: str) -> tuple[dict[str, str], list[str]]:
    """Return the expressions of computed columns, and the checks, that a `CREATE TABLE` has. SQLite takes any word for
    a type, so only the words before parentheses are looked for."""
    computed, checks = dict[str, str](), list[str]()
    try:
        tokens = sqlglot.tokenize(sql, read="sqlite")
    except SqlglotError:
        return computed, checks
    depth, column = 0, ""
    for number, (token, following) in enumerate(pairwise(tokens)):
        if depth == 1 and tokens[number - 1].text in ("(", ","):
            column = token.text.lower()
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth != 1 or following.text != "(" or token.text.upper() not in ("CHECK", "AS"):
            continue
        inner = sql[following.end + 1 : tokens[_closing(tokens, number + 1)].start].strip()
        if token.text.upper() == "CHECK":
            checks.append(inner)
        else:
            computed[column] = inner
    return computed, checks


def _closing(tokens: Sequence[Token], opening: int) -> int:
    """Return the place of the parenthesis that closes another."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].text, 0)
        if depth == 0:
            return place
    return len(tokens) - 1
