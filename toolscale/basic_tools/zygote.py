"""The process that the interpreter's calls are forked from: clean, small, without a secret, already cut off from files
and network.

It is started with an empty environment and a socket as standard input, over which the parent sends one connection for
each call. A call is two processes: a keeper, which is trusted and may still kill and delete, and the child that runs
the code (`locked_child`).

The parent learns at the start which layers hold: {"layers": [...]} or {"broken": "..."}. Only the standard library is
imported.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from toolscale.basic_tools import landlock, namespaces, seccomp
from toolscale.basic_tools.keeper import answer
from toolscale.basic_tools.locked_child import become_nobody
from toolscale.basic_tools.system_calls import MACHINE

ZONES = "/usr/share/zoneinfo"
LOADED = (
    "bisect", "calendar", "cmath", "collections", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "hashlib", "heapq", "inspect", "io", "itertools", "json", "lzma", "math", "operator",
    "pprint", "random", "re", "sqlite3", "statistics", "string", "textwrap", "time", "traceback", "typing",
    "unicodedata", "zlib", "zoneinfo",
)  # fmt: skip
"""Modules that are there at once. Some need libraries of the system, which code could not load later."""


class BrokenError(Exception):
    """A protection cannot be had on this machine; nothing may run."""


def main(own_folder: str, *forgone: str) -> None:
    """Serve calls until the parent closes the socket. `own_folder` is where this package was imported from; code must
    not find it.

    `forgone` are layers that are not used even where they can be had.
    """
    control = socket.socket(fileno=os.dup(0))
    os.umask(0o022)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt of the terminal is the parent's affair
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a keeper
    sys.path[:] = [path for path in sys.path if path != own_folder and Path(path).is_dir()]
    for name in LOADED:
        with suppress(ImportError):  # some builds of Python lack one or the other
            importlib.import_module(name)
    libraries = outermost([*sys.path, *filter(os.path.isdir, [ZONES])])
    try:
        layers = protect(libraries, forgone)
    except (BrokenError, OSError) as error:
        control.send(json.dumps({"broken": str(error)}).encode())
        return
    control.send(json.dumps({"layers": layers}).encode())
    serve(control, layers, libraries)


def serve(control: socket.socket, layers: list[str], libraries: list[str]) -> None:
    """Fork a keeper for every connection that comes."""
    while True:
        data, received, _flags, _address = socket.recv_fds(control, 1, 1)
        if not data:
            return
        if received and os.fork() == 0:
            control.close()
            end_after(partial(answer, socket.socket(fileno=received[0]), layers, libraries))
        for number in received:
            os.close(number)


def protect(libraries: list[str], forgone: Sequence[str] = ()) -> list[str]:
    """Enter namespaces if they can be had, and return the layers that will hold. Raises BrokenError where too few
    would."""
    if MACHINE not in seccomp.AUDIT_ARCH:
        raise BrokenError("it needs Linux on x86_64 or aarch64")
    if problem := tried(lambda: seccomp.install(seccomp.filter_program(os.getpid()))):
        raise BrokenError(f"seccomp cannot be used ({problem})")
    layers = ["seccomp"]
    if "landlock" not in forgone and landlock.version() >= landlock.LEAST_VERSION:
        layers.append("landlock")
    problem = "forgone" if "namespaces" in forgone else tried(lambda: rehearse(libraries))
    if not problem:
        namespaces.enter(libraries)
        layers.append("namespaces")
    elif "landlock" not in layers:
        raise BrokenError(
            f"nothing keeps it from files: namespaces cannot be used ({problem}), "
            "and Landlock (Linux 6.2 or later) neither"
        )
    elif problem := tried(lambda: read_as_nobody(libraries)):
        raise BrokenError(f"code cannot run as an ordinary user: {problem}")
    return layers


def rehearse(libraries: list[str]) -> None:
    """Do once what the namespaces of a call need."""
    namespaces.enter(libraries)
    namespaces.begin_call(1 << 20, 16)
    read_as_nobody(libraries)


def read_as_nobody(libraries: list[str]) -> None:
    """Check that the user as whom the code will run can list the library folders, under the names that they have now.
    Raises OSError if not."""
    try:
        become_nobody()
    except OSError as error:
        raise OSError(f"root may not become another user ({error.strerror}); start it as an ordinary user") from error
    for folder in libraries:
        try:
            list(Path(folder).iterdir())
        except OSError as error:
            raise OSError(
                f"Python's library {folder} cannot be read ({error.strerror}); name another Python as `executable`"
            ) from error


def tried(step: Callable[[], None]) -> str:
    """Return what is wrong with a step, done in a process that ends at once; nothing, if it can be done."""
    read, write = os.pipe()

    def attempt() -> None:
        try:
            step()
        except OSError as error:
            os.write(write, str(error).encode())
        else:
            os.write(write, b"done")

    if os.fork() == 0:
        end_after(attempt)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        told = reader.read().decode()
    return "" if told == "done" else told or "the process ended"


def end_after(work: Callable[[], None]) -> NoReturn:
    """Work, then end this process, whatever happens: it must never go on as its parent."""
    try:
        work()
    finally:
        os._exit(0)


def outermost(folders: Iterable[str]) -> list[str]:
    """Return the folders that lie in no other one of them."""
    found: list[str] = []
    for folder in sorted({os.path.abspath(folder) for folder in folders}):  # noqa: PTH100 - a link stays a link: Python looks for this very name
        if not any(folder.startswith(other + "/") for other in found):
            found.append(folder)
    return found
