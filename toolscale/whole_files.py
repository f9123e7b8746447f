"""Files that are whole or absent: written under a temporary name beside their place, flushed, renamed."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file, its folders included; what a process that was killed meanwhile left of it goes. OSError if the disk
    is full or the folder cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that no other process uses, on a shared disk either, and that is not too long for a file name.
    beginning = f".{path.name[:50]}."
    temporary = path.parent / f"{beginning}{uuid4().hex}.tmp"
    _remove_abandoned(path.parent, beginning)
    try:
        with _open_locked(temporary) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        sync(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return path


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, where the file system can say so."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that may be written and not be listed
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _open_locked(path: Path) -> BinaryIO:
    """Open a new file that is locked as long as it is open: whose process lives is not abandoned."""
    while True:
        file = path.open("wb")
        with suppress(OSError):  # a disk without locks: there nothing is taken for abandoned
            fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return file
        file.close()  # taken for abandoned before it was locked


def _remove_abandoned(folder: Path, beginning: str) -> None:
    """Remove the temporary files with such names whose processes were killed: nobody holds them locked."""
    left = list[Path]()
    with suppress(PermissionError), os.scandir(folder) as entries:  # it may be written and not be listed
        left += [Path(each) for each in entries if each.name.startswith(beginning) and each.name.endswith(".tmp")]
    for path in left:
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
