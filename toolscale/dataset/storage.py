"""Files that are either whole or absent: written under a temporary name beside their place, flushed, renamed.

A place on an object store (`places.open_place`) needs no temporary name: an object appears whole.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from toolscale.errors import DatasetError, StorageError, ToolScaleError, UsageError
from toolscale.whole_files import sync, write_whole

LOCK = "lock"
"""The lock file in every work folder. Only the process that holds the lock writes in the folder. It is there before
anything else, and goes last: it says that the folder is ours."""

REPLACED = "replaced"
"""In a work folder, what was in the place until the new folder takes it."""


def write_file(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all, its folders included. StorageError, in one line, if the disk is full or the
    folder cannot be written."""
    with storage_errors("write", path):
        if isinstance(path, Path):
            return write_whole(path, content)
        path.write_bytes(content)
        return path


def read_file(path: Path) -> bytes:
    """Return the content of a file; StorageError if it cannot be read."""
    with storage_errors("read", path):
        return path.read_bytes()


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the object in a JSON file of ours. DatasetError, with the remedy, if a crash or somebody left none there;
    StorageError if the file cannot be read."""
    try:
        value = json.loads(read_file(path))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DatasetError(f"{path} holds no JSON object, or half of one; {remedy}")
    return value


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    with storage_errors("read", path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path) -> Path:
    """Make a folder, parents included; nothing happens if it is there."""
    with storage_errors("make the folder", path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def work_folder(out: Path, suffix: str) -> Iterator[Path]:
    """Yield the hidden folder beside `out` in which it is prepared, held by its lock, and remove it at the end. After a
    failure it stays: the next run goes on from it.

    UsageError, before any work is done, if `out` is a mount point, which cannot be renamed, or if something that is not
    ours is in the way, or another process writes there.
    """
    place = out.resolve()
    work = _work_of(place, suffix)
    with storage_errors("prepare", out):
        if place.is_mount():
            raise UsageError(f"{out} is a mount point, which cannot be replaced; choose a folder inside it")
        if work.is_symlink() or (work.exists() and not work.is_dir()):
            raise UsageError(f"{work} is in the way: it is no folder; remove it, or choose another place")
        if work.is_dir() and any(work.iterdir()) and not (work / LOCK).is_file():
            raise UsageError(
                f"{work} is in the way: it holds files that are not ours; move it, or choose another place"
            )
    with only_writer(make_folder(work)):
        put_back(work / REPLACED, place)
        yield work
        remove_work_folder(work)


def remove_work_folder(work: Path) -> None:
    """Remove a work folder whose lock is held."""
    with storage_errors("remove", work):
        for path in work.iterdir():
            if path.name != LOCK:
                path.unlink() if path.is_file() else remove_folder(path)
        (work / LOCK).unlink()
        with suppress(OSError):  # somebody has begun to write there
            work.rmdir()


def replace_folder(new: Path, old: Path, aside: Path) -> None:
    """Put the folder `new` where `old` is. Between the two renames `old` is missing; it is never half of each, and a
    process that is killed there leaves it `aside`, for `put_back`."""
    with storage_errors("replace", old):
        sync_folder(new)
        if old.exists():
            remove_folder(aside)
            old.rename(aside)
        try:
            new.rename(old)
        except OSError:
            put_back(aside, old)
            raise
        sync(old.parent)
        remove_folder(aside)


def sync_folder(folder: Path) -> None:
    """Wait until all of a folder is on the disk: its rename must not come before what it stands for."""
    for path in [*folder.rglob("*"), folder]:
        sync(path)


def put_back(aside: Path, old: Path) -> None:
    """Put a folder back that a killed process had taken away, to put another one in its place."""
    with storage_errors("put back", old):
        if aside.is_dir() and not old.exists():
            aside.rename(old)


def clear_work_folder(out: Path, suffix: str) -> None:
    """Remove the work folder of `out` that a killed process left, if it did, where there is nothing to go on with."""
    if _work_of(out.resolve(), suffix).is_dir():
        with work_folder(out, suffix):
            pass


def put_back_replaced(out: Path, suffix: str) -> None:
    """As `put_back`, from the work folder of `out`. UsageError if a process is just writing there."""
    place = out.resolve()
    work = _work_of(place, suffix)
    if (work / REPLACED).is_dir() and not place.exists():
        with only_writer(work):
            put_back(work / REPLACED, place)


def _work_of(place: Path, suffix: str) -> Path:
    return place.parent / f".{place.name}.{suffix}"


def remove_folder(path: Path) -> None:
    """Remove a folder and all that is in it; nothing happens if it is not there.

    It is renamed first, so that a process that is killed leaves no half of it in its place; that half goes with the
    next call.
    """
    with storage_errors("remove", path):
        if not isinstance(path, Path):
            path.fs.rm(path.path, recursive=True) if path.exists() else None
            return
        half = path.parent / f".{path.name}.removed"
        if half.exists():
            shutil.rmtree(half)
        if path.is_symlink():
            path.unlink()  # not what it leads to
        elif path.exists():
            path.rename(half)
            shutil.rmtree(half)


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
        remedy = "free space or choose a place that can be written"
        if getattr(error, "errno", None) == errno.ENAMETOOLONG:
            remedy = "choose a shorter name"
        raise StorageError(f"cannot {act} {path}: {reason.lower()}; {remedy}") from error
