"""The tables of somebody's database as they are: columns, keys and references, and a way to ask for figures.

SQLite and servers are read through SQLAlchemy, DuckDB by its own client (its SQLAlchemy dialect knows neither current
DuckDB nor SQLAlchemy). The database is opened to be read, and each question has a time limit.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from toolscale.errors import UsageError

QUESTION_S = 20.0
"""Seconds that one question to the database may take."""

SHORT = 200
"""Letters of a text that are read."""

Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Rows of an SQL query."""


@dataclass
class FoundColumn:
    """A column as the database declares it."""

    name: str
    type: str
    """As the database writes it: `NUMERIC(10, 2)`."""
    nullable: bool = True


@dataclass
class FoundTable:
    """A table as the database declares it."""

    name: str
    columns: list[FoundColumn] = field(default_factory=list)
    key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    references: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Column -> (table, column), of foreign keys of one column."""


@dataclass
class Reflection:
    """The tables of a database, and a way to ask it."""

    name: str
    """Where it is, without a password."""
    tables: list[FoundTable]
    typeless: bool
    """Whether a column may hold values of any type, as in SQLite."""
    ask: Ask
    """Rows of a query in which names are quoted with `quote`. UsageError if the database refuses, or is too slow."""

    def short(self, column: FoundColumn) -> str:
        """Return an expression for the value of a column of which texts are cut short."""
        name = self.quote(column.name)
        if self.typeless:
            return f"CASE WHEN TYPEOF({name}) IN ('text', 'blob') THEN SUBSTR({name}, 1, {SHORT}) ELSE {name} END"
        return f"SUBSTR({name}, 1, {SHORT})" if re.search(r"CHAR|TEXT|CLOB|STRING", column.type) else name

    @staticmethod
    def quote(name: str) -> str:
        """Return a name as SQL takes it, whatever it holds."""
        return '"' + name.replace('"', '""') + '"'


@contextmanager
def open_database(source: str) -> Iterator[Reflection]:
    """Open the database that a URL or the path of a file names. UsageError if it cannot be read."""
    if "://" in source and not source.startswith(("sqlite://", "duckdb://")):
        yield from _server(source)
        return
    path = Path(source.removeprefix("sqlite:///").removeprefix("duckdb:///"))
    kind = _file_kind(path)
    if kind is None:
        raise UsageError(f"{path}: neither a SQLite nor a DuckDB database; name such a file, or a URL postgresql://…")
    yield from _duckdb(path) if kind == "duckdb" else _sqlite(path)


def is_database(source: str) -> bool:
    """Return whether a source is a database: a URL of one, or a file that begins as SQLite's and DuckDB's do."""
    if source.startswith(("http://", "https://")):
        raise UsageError(f"--from: {source.split('?')[0]} is on the web; download it, and name the file")
    return "://" in source or _file_kind(Path(source)) is not None


def _file_kind(path: Path) -> str | None:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UsageError(f"{path}: no regular file; name a database or a document")
    try:
        with path.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a file that is there") from error
    return "sqlite" if head.startswith(b"SQLite format 3\0") else "duckdb" if head[8:12] == b"DUCK" else None


def _sqlite(path: Path) -> Iterator[Reflection]:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    yield from _reflected(sa.create_engine("sqlite://", creator=connect, poolclass=sa.StaticPool), str(path))


def _server(url: str) -> Iterator[Reflection]:
    try:
        address = sa.make_url(url)
        if address.drivername == "postgresql":
            address = address.set(drivername="postgresql+psycopg2")
        engine = sa.create_engine(address, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--from: the driver {error.name!r} is not installed; "
            "for PostgreSQL run: pip install -r requirements-scale.txt"
        ) from error
    except SQLAlchemyError as error:
        shown = url.split("://", 1)[0]
        raise UsageError(f"--from: no database at {shown}://…; write postgresql://user@host/database") from error
    yield from _reflected(engine, address.render_as_string(hide_password=True))


def _reflected(engine: sa.Engine, name: str) -> Iterator[Reflection]:
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(sa.text(f"SET statement_timeout = {int(QUESTION_S * 1000)}"))
                connection.execute(sa.text("SET default_transaction_read_only = on"))
            raw: Any = connection.connection.driver_connection
            inspector = sa.inspect(connection)
            tables = [_table(inspector, table) for table in inspector.get_table_names()]

            def ask(sql: str) -> Sequence[Sequence[Any]]:
                with _deadline(raw if isinstance(raw, sqlite3.Connection) else None):
                    return connection.exec_driver_sql(sql).fetchall()

            yield Reflection(name, tables, engine.dialect.name == "sqlite", _told(name, ask))
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:  # an error may quote bytes of the file
        cause = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise UsageError(f"{name}: cannot be read ({cause[:200]})") from error
    finally:
        engine.dispose()


def _told(name: str, ask: Ask) -> Ask:
    def asked(sql: str) -> Sequence[Sequence[Any]]:
        try:
            return ask(sql)
        except (SQLAlchemyError, sqlite3.Error, duckdb.Error, UnicodeDecodeError) as error:
            cause = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise UsageError(f"{name}: does not answer {sql[:120]!r} ({cause[:200]})") from error

    return asked


@contextmanager
def _deadline(connection: sqlite3.Connection | duckdb.DuckDBPyConnection | None) -> Iterator[None]:
    """Interrupt a question that takes longer than it may."""
    if connection is None:
        yield
    elif isinstance(connection, sqlite3.Connection):
        end = time.monotonic() + QUESTION_S
        connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        try:
            yield
        finally:
            connection.set_progress_handler(None, 0)
    else:
        timer = threading.Timer(QUESTION_S, connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _table(inspector: sa.Inspector, name: str) -> FoundTable:
    columns = [
        FoundColumn(found["name"], str(found["type"]).upper(), bool(found.get("nullable", True)))
        for found in inspector.get_columns(name)
    ]
    references = {}
    for key in inspector.get_foreign_keys(name):
        if len(key["constrained_columns"]) == 1 and len(key["referred_columns"]) == 1:
            references[key["constrained_columns"][0]] = (key["referred_table"], key["referred_columns"][0])
    unique = [tuple(filter(None, each["column_names"])) for each in inspector.get_unique_constraints(name)]
    return FoundTable(
        name, columns, tuple(inspector.get_pk_constraint(name)["constrained_columns"]), unique, references
    )


def _duckdb(path: Path) -> Iterator[Reflection]:
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:

            def ask(sql: str) -> Sequence[Sequence[Any]]:
                with _deadline(connection):
                    return connection.execute(sql).fetchall()

            found: dict[str, FoundTable] = {}
            for table, column, kind, nullable in ask(
                "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
                "WHERE table_name IN (SELECT table_name FROM duckdb_tables() WHERE NOT internal) "
                "ORDER BY table_name, column_index"
            ):
                found.setdefault(table, FoundTable(table)).columns.append(FoundColumn(column, kind, nullable))
            for table, kind, columns, other, others in ask(
                "SELECT table_name, constraint_type, constraint_column_names, referenced_table, "
                "referenced_column_names FROM duckdb_constraints() ORDER BY constraint_index"
            ):
                _constrain(found[table], kind, tuple(columns), other, tuple(others or ()))
            yield Reflection(str(path), list(found.values()), False, _told(str(path), ask))
    except duckdb.Error as error:
        raise UsageError(f"{path}: cannot be read ({str(error).splitlines()[0][:200]})") from error


def _constrain(
    table: FoundTable, kind: str, columns: tuple[str, ...], other: str | None, others: tuple[str, ...]
) -> None:
    if kind == "PRIMARY KEY":
        table.key = columns
    elif kind == "UNIQUE":
        table.unique.append(columns)
    elif kind == "FOREIGN KEY" and other and len(columns) == 1:
        table.references[columns[0]] = (other, others[0])
