"""The trusted process of one call: it makes the scratch folder, starts the child, reads what it prints, stops it in
time and cleans up.

A request is 8 bytes with its length, then JSON {"code", "limits"}. The answer is JSON {"stdout", "cut", "stopped",
"signal", "status", "stderr", "cpu_s", "wall_s"}, or {"broken"} if a protection failed; then no code ran. Only the
standard library is imported.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.basic_tools import namespaces
from toolscale.basic_tools.locked_child import LOCKED, run_locked

CHUNK = 1 << 16
TICK_S = 0.05
OWN, FOLDER = 0o700, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
STDERR_BYTES = 4_096
"""Of standard error, so much of the end is kept: the last line of a traceback is in it."""


@dataclass
class Heard:
    """What a pipe of the child brought."""

    keep: int
    of_the_end: bool = False
    text: bytes = b""
    size: int = 0
    """All bytes that came, kept or not."""
    open: bool = field(default=True)

    def read(self, fd: int) -> bool:
        """Read what is there now, at most one chunk; return whether anything came."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        self.open = bool(data)
        self.size += len(data)
        self.text = (self.text + data)[-self.keep :] if self.of_the_end else (self.text + data)[: self.keep]
        return bool(data)


def answer(connection: socket.socket, layers: list[str], libraries: list[str]) -> None:
    """Read one request, run it, and send the answer."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        request = json.loads(_received(connection))
    except (EOFError, OSError, ValueError):  # the parent went away
        return
    limits = request["limits"]
    scratch = namespaces.SCRATCH
    try:
        if "namespaces" in layers:
            namespaces.begin_call(limits["scratch_bytes"], limits["scratch_files"])
        else:
            scratch = _scratch_folder()
        reply = _run(connection, request["code"], limits, layers, libraries, scratch)
    except OSError as error:
        reply = {"broken": str(error)}
    finally:
        if scratch != namespaces.SCRATCH:
            with suppress(OSError):  # the answer is sent whatever is left
                remove(scratch)
    connection.sendall(json.dumps(reply).encode())


def _scratch_folder() -> str:
    """Return a new folder that the child may write to."""
    scratch = tempfile.mkdtemp(prefix="toolscale-python-")
    if os.geteuid() == 0:
        os.chown(scratch, namespaces.NOBODY, namespaces.NOBODY)
    return scratch


def remove(folder: str) -> None:
    """Remove a folder, however deep it is. Nobody may change it meanwhile. Code can nest folders deeper than a
    recursion or a path can go, so neither is used here."""
    Path(folder).chmod(OWN)
    here, within = os.open(folder, FOLDER), list[str]()
    try:
        while True:
            inner = _emptied(here)
            if inner is not None:
                os.chmod(inner, OWN, dir_fd=here)
                within.append(inner)
            elif not within:
                break
            there = os.open(".." if inner is None else inner, FOLDER, dir_fd=here)
            os.close(here)
            here = there
            if inner is None:
                os.rmdir(within.pop(), dir_fd=here)
    finally:
        os.close(here)
    Path(folder).rmdir()


def _emptied(folder: int) -> str | None:
    """Remove what is no folder, and return the first folder; None if there is none."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=folder)
    return None


def _run(
    connection: socket.socket, code: str, limits: dict[str, Any], layers: list[str], libraries: list[str], scratch: str
) -> dict[str, Any]:
    (out, to_out), (err, to_err), (locked, to_locked) = os.pipe(), os.pipe(), os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        run_locked(code, limits, layers, libraries, scratch, to_out, to_err, to_locked)
    for fd in (to_out, to_err, to_locked):
        os.close(fd)
    with os.fdopen(locked, "rb") as reader:
        told = reader.read()
    heard, complaints = Heard(limits["stdout_bytes"]), Heard(STDERR_BYTES, of_the_end=True)
    stopped: str | None = "broken"
    try:
        if told == LOCKED:
            watched = None if scratch == namespaces.SCRATCH else scratch
            stopped = _watch(connection, pid, {out: heard, err: complaints}, limits, started, watched)
    finally:
        os.kill(pid, signal.SIGKILL)  # it is not waited for yet, so the number is still its own
        _pid, ended, usage = os.wait4(pid, 0)
    if stopped == "broken":
        return {"broken": told.decode(errors="replace") or "the sandbox could not be closed"}
    cpu_s = usage.ru_utime + usage.ru_stime
    by_signal = os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else 0
    if stopped is None and by_signal == signal.SIGKILL and cpu_s >= limits["cpu_s"] / 2:
        # The kernel counts in ticks for the limit, and exactly for the figure: the two differ on a busy machine.
        stopped = "cpu"
    return {
        "stdout": heard.text.decode(errors="replace"),
        "cut": heard.size > len(heard.text),
        "stopped": stopped,
        "signal": by_signal,
        "status": os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else None,
        "stderr": complaints.text.decode(errors="replace"),
        "cpu_s": cpu_s,
        "wall_s": time.monotonic() - started,
    }


def _watch(
    connection: socket.socket,
    pid: int,
    pipes: dict[int, Heard],
    limits: dict[str, Any],
    started: float,
    scratch: str | None,
) -> str | None:
    """Read until the child ends; return the limit that it hit, if it must be stopped.

    `scratch` is a folder on disk, whose size nothing else bounds; none where it is in memory, with a size of its own.
    """
    ended = os.pidfd_open(pid)
    poll = select.poll()
    for fd in (ended, *pipes):
        poll.register(fd, select.POLLIN)
    poll.register(connection, select.POLLIN)
    for fd in pipes:
        os.set_blocking(fd, False)
    while True:
        left = limits["wall_s"] - (time.monotonic() - started)
        if left <= 0:
            return "wall"
        ready = {fd for fd, _event in poll.poll(1000 * (min(TICK_S, left) if scratch else left))}
        for fd in ready & pipes.keys():
            pipes[fd].read(fd)
            if not pipes[fd].open:
                poll.unregister(fd)
        if sum(heard.size for heard in pipes.values()) > limits["output_bytes"]:
            return "output"
        if connection.fileno() in ready:  # nothing more is ever sent: the parent hung up
            return "unwanted"
        if scratch and _too_large(scratch, limits):
            return "scratch"
        if ended in ready:
            for fd, heard in pipes.items():
                while heard.open and heard.size <= limits["output_bytes"] and heard.read(fd):
                    pass
            return None


def _too_large(scratch: str, limits: dict[str, Any]) -> bool:
    """Whether the folder holds more than it may. The child changes it meanwhile, so what is gone is not counted.

    If a folder in it cannot be read, because it is too deep for a path, its files cannot be counted: then the answer is
    True.
    """
    files, size, folders = 0, 0, [scratch]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                entries = list(found)
            files += len(entries)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    size += _size(entry)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        if files >= limits["scratch_files"] or size > limits["scratch_bytes"]:
            return True
    return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _received(connection: socket.socket) -> bytes:
    size = struct.unpack("=Q", _exactly(connection, 8))[0]
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(CHUNK, size - len(parts)))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
