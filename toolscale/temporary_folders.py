"""Folders for a while, under the temporary folder of the system. What a killed process left there is removed by the
next one that needs such a folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolscale.errors import StorageError

PREFIX = "toolscale."
LOCK, INSIDE = "lock", "folder"
"""What lies in each: a file that its process holds locked for as long as it lives, and the folder that is used."""


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield an empty folder that is removed afterwards. `purpose` is part of its name. StorageError, in one line, if
    none can be made."""
    try:
        root = Path(tempfile.gettempdir())
        _remove_abandoned(root)
        made, lock = _make(root, purpose)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StorageError(
            f"cannot make a temporary folder: {reason}; free space, or set TMPDIR to a folder that can be written"
        ) from error
    try:
        yield made / INSIDE
    finally:
        _remove(made)
        os.close(lock)


def _make(root: Path, purpose: str) -> tuple[Path, int]:
    """Return a new folder and its lock."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}.", dir=root))
        lock = os.open(made / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with suppress(BlockingIOError, FileNotFoundError):  # taken for abandoned before it was locked: then another one
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (made / INSIDE).mkdir()
            return made, lock
        os.close(lock)


def _remove_abandoned(root: Path) -> None:
    for made in root.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is in use, or somebody else's, or gone
            if made.is_symlink() or made.stat().st_uid != os.getuid():
                continue
            lock = os.open(made / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(made)
            finally:
                os.close(lock)


def _remove(made: Path) -> None:
    """Remove a folder, its lock last: without one, nobody would take it for abandoned."""
    shutil.rmtree(made / INSIDE, ignore_errors=True)
    if not (made / INSIDE).exists():
        shutil.rmtree(made, ignore_errors=True)
