"""What took long to make, kept in the user's cache folder, so that the next process need not make it again.

    ~/.cache/toolscale/environment-3f….pickle      a SHA-256 of what follows, and the pickled value

A value is known by everything that it depends on: what it was made of, the code of this package, the interpreter and
the libraries. Nothing is read that another user could have written, or whose hash differs. The folder may be removed at
any time.
"""

from __future__ import annotations

import os
import pickle
import platform
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Generic, TypeVar
from uuid import uuid4

from platformdirs import user_cache_path

from toolscale.canonical import content_hash
from toolscale.package_code import code_hash

Made = TypeVar("Made")

LIBRARIES = ("pydantic", "pyyaml", "sqlalchemy", "sqlglot")
"""Those whose versions decide what is made."""

A_DAY = 86_400.0
MOST_FILES = 64
"""Of one kind; the one that was not read for longest goes first. An environment takes half a megabyte."""

_DIGEST = sha256().digest_size


class Kept(Generic[Made]):
    """The place of one value: of some `kind`, and made of a `source`, which is a value that JSON can hold."""

    def __init__(self, kind: str, source: object, of: type[Made]) -> None:
        name = f"{kind}-{content_hash([source, code_hash(), _versions()])[:40]}.pickle"
        self._path = user_cache_path("toolscale", appauthor=False) / name
        self._of = of

    def read(self) -> Made | None:
        """Return the value, or None if none is kept."""
        content = _read(self._path)
        if content is None:
            return None
        with suppress(OSError):
            os.utime(self._path)
        made = pickle.loads(content)
        return made if isinstance(made, self._of) else None

    def write(self, made: Made) -> None:
        """Keep the value. Where the cache folder cannot be written, it is made again next time."""
        _write(self._path, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))


@cache
def _versions() -> list[str]:
    return [platform.python_version(), *map(version, LIBRARIES)]


def _read(path: Path) -> bytes | None:
    """Return the pickled value, if it is ours and whole."""
    try:
        with path.open("rb") as file:
            for about in (os.fstat(file.fileno()), path.parent.stat()):
                if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    return None
            digest, content = file.read(_DIGEST), file.read()
    except OSError:
        return None
    return content if sha256(content).digest() == digest else None


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and remove the oldest of too many."""
    temporary = path.with_name(f".{path.stem}.{uuid4().hex}.tmp")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(sha256(content).digest() + content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        kind = path.stem.rpartition("-")[0]
        kept = sorted(path.parent.glob(f"{kind}-*.pickle"), key=lambda other: other.stat().st_mtime)
        left = [other for other in path.parent.glob(".*.tmp") if other.stat().st_mtime < path.stat().st_mtime - A_DAY]
        for old in (*kept[:-MOST_FILES], *left):  # what killed processes left, too
            old.unlink(missing_ok=True)
