"""Files that are either whole or absent: written under a temporary name beside their place, flushed, renamed.

A place on an object store (`places.open_place`) needs no temporary name: an object appears whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from toolscale.errors import StorageError, ToolScaleError, UsageError

LOCK = "lock"
"""The lock file in every work folder. Only the process that holds the lock writes in the folder."""


def write_file(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all, its folders included. StorageError, in one line, if the disk is full or the
    folder cannot be written."""
    if not isinstance(path, Path):
        with storage_errors("write", path):
            path.write_bytes(content)
        return path
    # A name that no other process uses, on a shared disk either, and that is not too long for a file name.
    temporary = path.parent / f".{path.name[:50]}.{uuid4().hex}.tmp"
    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    return path


def read_file(path: Path) -> bytes:
    """Return the content of a file; StorageError if it cannot be read."""
    with storage_errors("read", path):
        return path.read_bytes()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    with storage_errors("read", path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path) -> Path:
    """Make a folder, parents included; nothing happens if it is there."""
    with storage_errors("make the folder", path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def make_work_folder(out: Path, suffix: str) -> Path:
    """Make the hidden folder beside `out` in which it is prepared, and return it.

    UsageError, before any work is done, if `out` is a mount point, which cannot be renamed, or if something that is not
    ours is in the way: what lies in a work folder is removed at the end.
    """
    work = out.parent / f".{out.name}.{suffix}"
    if out.is_mount():
        raise UsageError(f"{out} is a mount point, which cannot be replaced; choose a folder inside it")
    if work.is_symlink() or (work.exists() and not work.is_dir()):
        raise UsageError(f"{work} is in the way: it is no folder; remove it, or choose another place")
    if work.is_dir() and any(work.iterdir()) and not (work / LOCK).is_file():
        raise UsageError(f"{work} is in the way: it holds files that are not ours; move it, or choose another place")
    return make_folder(work)


def replace_folder(new: Path, old: Path, aside: Path) -> None:
    """Put the folder `new` where `old` is. Between the two renames `old` is missing; it is never half of each."""
    with storage_errors("replace", old):
        if old.exists():
            old.rename(aside)
        new.rename(old)
        if aside.exists():
            shutil.rmtree(aside)


def remove_folder(path: Path) -> None:
    """Remove a folder and all that is in it; nothing happens if it is not there."""
    with storage_errors("remove", path):
        if not isinstance(path, Path):
            path.fs.rm(path.path, recursive=True) if path.exists() else None
        elif path.exists():
            shutil.rmtree(path)


def remove_file(path: Path) -> None:
    """Remove a file; nothing happens if it is not there."""
    with storage_errors("remove", path):
        path.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files, whose names begin with a dot, that a killed process left anywhere in a folder."""
    with storage_errors("clean", folder):
        for path in folder.rglob(".*"):
            path.unlink()


@contextmanager
def only_writer(folder: Path) -> Iterator[int]:
    """Hold the lock of a folder; a process that inherits the descriptor holds it too. UsageError at once if another
    process holds it; the lock of a killed process is free."""
    path = folder / LOCK
    with ExitStack() as held:
        with storage_errors("lock", folder):  # not what the caller does with the lock: its errors are its own
            file = held.enter_context(path.open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                there = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
            except BlockingIOError:
                there = False
            if not there:  # or whoever held it has removed it with the folder since we opened it
                raise UsageError(f"another run is writing {folder}; wait for it, or choose another --out")
        yield file.fileno()


@contextmanager
def storage_errors(act: str, path: Path) -> Iterator[None]:
    """Turn what the operating system, or the driver of an object store, says into one line that names the file."""
    try:
        yield
    except ToolScaleError:
        raise
    except Exception as error:
        if isinstance(path, Path) and not isinstance(error, OSError):
            raise  # drivers of object stores raise errors of their own; on a local path that is a bug of ours
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise StorageError(
            f"cannot {act} {path}: {reason.lower()}; free space or choose a place that can be written"
        ) from error
