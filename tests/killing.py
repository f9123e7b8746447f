"""Something that is done in a process which is killed just before one of its changes on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir"})


def in_a_fork(act: Callable[[], Any]) -> int:
    """Start a process that does something and ends with status 0, or 1 if it fails; return its id."""
    if child := os.fork():
        return child
    status = 1
    try:
        act()
        status = 0
    finally:
        os._exit(status)


def killed_at(step: int, act: Callable[[], Any], folder: Path | None = None) -> bool:
    """Do something in a process that is killed just before its n-th change of a folder, or of `folder` with the files
    that it opens there to write. Return whether it came so far."""

    def is_change(event: str, arguments: tuple[Any, ...]) -> bool:
        if event not in CHANGES and not (event == "open" and folder is not None and arguments[2] & WRITES):
            return False
        path = arguments[0]  # one that is not absolute lies in a folder that is being removed
        absolute = isinstance(path, str | Path) and Path(path).is_absolute()
        return (event != "open" and not absolute) or folder is None or (absolute and Path(path).is_relative_to(folder))

    def die_there() -> None:
        left = [step]

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if is_change(event, arguments):
                if not left[0]:
                    os._exit(9)
                left[0] -= 1

        sys.addaudithook(hook)
        act()

    status = os.waitstatus_to_exitcode(os.waitpid(in_a_fork(die_there), 0)[1])
    assert status in (0, 9)
    return status == 9


def kills(prepare: Callable[[int], Path], act: Callable[[Path], Any], every: int = 1) -> Iterator[Path]:
    """Yield folders that `prepare` made, in which `act` was killed: before its first change, before its second (or so
    many later, `every`), and so on; last of all one in which it came to its end."""
    step, killed = 0, True
    while killed:
        folder = prepare(step)
        killed = killed_at(step, lambda folder=folder: act(folder), folder)
        yield folder
        step += every


def held(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, hidden ones too; none if it is not there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
