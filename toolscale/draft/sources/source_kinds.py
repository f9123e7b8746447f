"""What a source is that somebody names: a database, by its URL or by how its file begins, or a document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from toolscale.draft.sources.duckdb_tables import open_duckdb
from toolscale.draft.sources.postgres_tables import open_postgres
from toolscale.draft.sources.reflection import Reflection
from toolscale.draft.sources.sqlite_tables import open_sqlite
from toolscale.errors import UsageError

_ENDINGS = frozenset((".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".ddb", ".mdb", ".accdb", ".fdb"))
"""Of names of files that are databases, whatever they begin with."""


@contextmanager
def open_database(source: str) -> Iterator[Reflection]:
    """Open the database that a URL or the path of a file names. UsageError if it cannot be read."""
    path = _path_of(source)
    if path is None:
        with open_postgres(source) as reflection:
            yield reflection
        return
    kind = _file_kind(path)
    if kind is None:
        raise UsageError(
            f"{path}: neither a SQLite nor a DuckDB database, or an encrypted one; name such a file as it is "
            "without encryption, or a URL postgresql://…"
        )
    with open_duckdb(path) if kind == "duckdb" else open_sqlite(path) as reflection:
        yield reflection


def is_database(source: str) -> bool:
    """Return whether a source is a database: a URL of one, a file that begins as SQLite's and DuckDB's do, or one that
    is called so or is no text."""
    if source.startswith(("http://", "https://")):
        raise UsageError(f"--from: {source.split('?')[0]} is on the web; download it, and name the file")
    path = _path_of(source)
    if path is None or "://" in source or _file_kind(path) is not None or path.suffix.lower() in _ENDINGS:
        return True
    head = _head(path)
    return b"\0" in head and not head.startswith(_UTF16)


def _path_of(source: str) -> Path | None:
    """Return the file that a source names; None for a URL of a server."""
    scheme, is_url, rest = source.partition("://")
    if not is_url:
        return Path(source)
    if scheme.partition("+")[0] not in ("sqlite", "duckdb"):
        return None
    return Path(unquote(rest.removeprefix("/").partition("?")[0]))


def _file_kind(path: Path) -> str | None:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UsageError(f"{path}: no regular file; name a database or a document")
    head = _head(path)
    if not head:
        raise UsageError(f"{path}: the file is empty; name a database or a document")
    return "sqlite" if head.startswith(b"SQLite format 3\0") else "duckdb" if head[8:12] == b"DUCK" else None


_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""How a text begins that holds zeros."""


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(4_096)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a file that is there") from error
