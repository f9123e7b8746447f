"""The tables of somebody's database as they are: columns, keys and references, and a way to ask for figures."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from toolscale.draft.sources.column_types import Kind
from toolscale.errors import UsageError
from toolscale.text_files import printable

QUESTION_S = 20.0
"""Seconds that one question to the database may take."""

SHORT = 200
"""Letters of a text that are read."""

Row = Sequence[Any]


@dataclass
class FoundColumn:
    """A column as the database declares it."""

    name: str
    type: str
    """As the database writes it: `NUMERIC(10, 2)`."""
    kind: Kind | None
    """What it holds; None for what no domain can hold."""
    nullable: bool = True
    labels: tuple[str, ...] = ()
    """The only values that it may have, in their order, where its type says so."""
    computed: str | None = None
    """The expression that the database computes it by; empty where that cannot be read."""
    has_cents: bool = False
    """Whether it is declared with two decimals."""


@dataclass(frozen=True)
class FoundReference:
    """A foreign key as the database declares it."""

    columns: tuple[str, ...]
    table: str
    others: tuple[str, ...] = ()
    """Columns of the other table; none if it is its key."""


@dataclass
class FoundTable:
    """A table as the database declares it."""

    name: str
    place: str
    """As a query names it."""
    columns: list[FoundColumn] = field(default_factory=list)
    key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    declared: list[FoundReference] = field(default_factory=list)
    """All its foreign keys."""
    references: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Column -> (table, column), of the references that a schema here can have."""
    notes: list[str] = field(default_factory=list)
    """What of it cannot be kept, a line each."""

    def column(self, name: str) -> FoundColumn | None:
        """Return a column by its name; capitals do not count where none has exactly this name."""
        exact = [each for each in self.columns if each.name == name]
        return next(iter(exact or [each for each in self.columns if each.name.lower() == name.lower()]), None)


@dataclass
class Reflection:
    """A database: what tables it has, how each is read, and how it is asked."""

    name: str
    """Where it is, without a password."""
    tables: tuple[str, ...]
    """Tables that may be chosen."""
    shown: tuple[str, ...]
    """Those that are taken where nobody chooses."""
    views: tuple[str, ...]
    notes: tuple[str, ...]
    """What of it is not among the tables, a line each."""
    read: Callable[[str], FoundTable]
    """A table by its name. UsageError if the database cannot say."""
    value: Callable[[FoundColumn], str]
    """An expression for the value of a column: a number, or a short text."""
    answer: Callable[[str], Sequence[Row]]
    is_fatal: Callable[[Exception], bool]
    """Whether nothing more can be asked after an error."""

    def attempt(self, sql: str) -> tuple[Sequence[Row] | None, str]:
        """Return the rows of a query, or None and why the database refuses it. UsageError if nothing more can be
        asked of it."""
        try:
            return self.answer(sql), ""
        except Exception as error:  # drivers raise what they like for a value that Python cannot hold
            if self.is_fatal(error):
                raise UsageError(f"{self.name}: cannot be read ({cause_of(error)})") from error
            return None, cause_of(error)

    def ask(self, sql: str) -> Sequence[Row]:
        """Return the rows of a query. UsageError if the database refuses it."""
        rows, cause = self.attempt(sql)
        if rows is None:
            raise UsageError(f"{self.name}: does not answer {sql[:120]!r} ({cause})")
        return rows


def quote(name: str) -> str:
    """Return a name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def cause_of(error: Exception) -> str:
    """Return what a driver says of an error, in one line."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return printable(lines[0] if lines else type(error).__name__, 200)


@contextmanager
def deadline(interrupt: Callable[[], None], seconds: float = QUESTION_S) -> Iterator[None]:
    """Interrupt a question that takes longer than it may."""
    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def sqlite_deadline(connection: sqlite3.Connection) -> Iterator[None]:
    """Interrupt a question to SQLite that takes longer than it may."""
    end = time.monotonic() + QUESTION_S
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
