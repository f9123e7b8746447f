"""The tool `python`: model-written code in a closed process, with nothing but the standard library.

What holds it and what does not: docs/decisions/0012-the-interpreter-is-a-sandbox.md. This is the parent's end: it
starts the zygote, hands it one connection for each call, and words the result.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolscale.basic_tools.base import BasicResult, one_text, one_text_function, refused
from toolscale.basic_tools.settings import PythonSettings
from toolscale.errors import BasicToolError

ROOT = str(Path(__file__).resolve().parents[2])
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from toolscale.basic_tools.zygote import main; main(*sys.argv[1:])"
)
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
START_SECONDS = 60.0
ERROR_CHARS = 500
WHY_STOPPED = {
    "wall": "stopped: it ran for more than {wall_s:g} seconds",
    "cpu": "stopped: it used more than {cpu_s} seconds of processor time",
    "output": "stopped: it printed more than {output_bytes:,} bytes",
    "scratch": "stopped: its files hold more than {scratch_bytes:,} bytes, or are more than {scratch_files}",
}


@dataclass(frozen=True, slots=True)
class PythonResult:
    """What code did."""

    stdout: str
    """At most `stdout_bytes` bytes, with a note where it was cut."""
    error: str | None
    """The last line of the traceback, or what stopped it; none if it ended well."""
    cpu_s: float
    wall_s: float


class PythonTool:
    """The interpreter. One object serves many calls at once, from any event loop; close it, or use it as a context
    manager."""

    name = "python"

    def __init__(self, settings: PythonSettings | None = None, *, forgo: Collection[str] = ()):
        """Start the zygote. Raises BasicToolError if this machine lacks a protection.

        `forgo` names layers (`landlock`, `namespaces`) that are not used even where they can be had: so each is tested
        alone.
        """
        self._settings = settings or PythonSettings()
        self.description = (
            "Runs Python 3 code and returns what it prints: print the result. "
            "Only the standard library is there, no network and no files, and "
            f"nothing is kept between calls. It stops after {self._settings.cpu_s} seconds of processor time."
        )
        self._limits = self._settings.model_dump(mode="json")
        self._lock = threading.Lock()
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )
        self._known: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Future[BasicResult]]] = (
            weakref.WeakKeyDictionary()
        )
        self._command = [
            self._settings.executable or sys.executable,
            "-B",
            "-P",
            "-s",
            "-S",
            "-c",
            START,
            ROOT,
            *sorted(forgo),
        ]
        self._is_closed = False
        self._start()

    def __enter__(self) -> PythonTool:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process number of the zygote, which leads a session of its own."""
        return self._process.pid

    def close(self) -> None:
        """End the zygote, and with it whatever still runs."""
        self._is_closed = True
        self._finalizer()

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, "code", "Python 3 source code.")

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Run `code`. An error of the code is in `content`, after what it printed. Code that is remembered is not run
        again."""
        code, problem = one_text(arguments, "code", self._settings.code_chars)
        if problem:
            return refused(problem)
        if not self._settings.remember:
            return await self._result(code)
        known = self._known.setdefault(asyncio.get_running_loop(), {})
        asked = known.get(code)
        if asked is None or (asked.done() and (asked.cancelled() or asked.exception() is not None)):
            if len(known) >= self._settings.remember:
                known.pop(next(iter(known)))  # the one that was asked for first
            asked = known[code] = asyncio.ensure_future(self._result(code))
        return await asyncio.shield(asked)

    async def _result(self, code: str) -> BasicResult:
        result = await self.run(code)
        told = [result.stdout.rstrip("\n")] if result.stdout.strip() else []
        told += [f"Error: {result.error}"] if result.error else []
        content = "\n".join(told) or "(It ran, and printed nothing.)"
        chosen = self._settings
        cost = result.cpu_s * chosen.price_per_second if chosen.price_per_call is None else chosen.price_per_call
        latency = result.wall_s if chosen.latency_per_call is None else chosen.latency_per_call
        return BasicResult(content, result.error, cost, latency)

    async def run(self, code: str) -> PythonResult:
        """Run code and tell what it did. If the task is cancelled, the code is killed. Raises BasicToolError if the
        sandbox is broken or closed."""
        turns = self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._settings.parallel))
        async with turns:
            reply = await self._ask(code)
        if "broken" in reply:
            raise BasicToolError(
                f"the sandbox of the tool python could not be closed, so no code was run: {reply['broken']}"
            )
        return self._worded(reply)

    async def _ask(self, code: str) -> dict[str, Any]:
        ours = self._connected()
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:  # cancelled, above all
            ours.close()
            raise
        try:
            data = json.dumps({"code": code, "limits": self._limits}).encode()
            writer.write(struct.pack("=Q", len(data)) + data)
            await writer.drain()
            reply: dict[str, Any] = json.loads(await reader.read())
        except (OSError, ValueError) as error:
            raise BasicToolError(
                "a call of the tool python got no answer: its process was killed, perhaps for want of memory"
            ) from error
        finally:
            writer.close()
        return reply

    def _connected(self) -> socket.socket:
        """Return our end of a connection to a new keeper. A zygote that was killed, as for want of memory, is
        replaced."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                if self._is_closed:
                    raise BasicToolError("the tool python is closed; open the tools again")
                try:
                    socket.send_fds(self._control, [b"!"], [theirs.fileno()])
                except OSError:
                    self._finalizer()
                    self._start()
                    socket.send_fds(self._control, [b"!"], [theirs.fileno()])
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise BasicToolError(
                    "the process of the tool python was killed twice, perhaps for want of memory"
                ) from error
            raise
        return ours

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(START_SECONDS)
        with theirs:
            self._process = _started(self._command, theirs, self._control)
        self._finalizer = weakref.finalize(self, _end, self._process, self._control, os.getpid())
        self.layers = self._layers()

    def _worded(self, reply: dict[str, Any]) -> PythonResult:
        stdout = reply["stdout"]
        if reply["cut"]:
            stdout += f"\n[cut: only the first {self._settings.stdout_bytes:,} bytes of the output are shown]\n"
        lines = [line for line in reply["stderr"].splitlines() if line.strip()]
        if reply["stopped"] is not None:
            error: str | None = WHY_STOPPED[reply["stopped"]].format(**self._limits)
        elif reply["signal"]:
            error = f"the process was ended by {_signal_name(reply['signal'])}"
        elif reply["status"]:
            error = _printable(lines[-1]) if lines else f"exit status {reply['status']}"
        else:
            error = None
        return PythonResult(stdout, error, reply["cpu_s"], reply["wall_s"])

    def _layers(self) -> tuple[str, ...]:
        """Return the layers that hold, as the zygote tells them."""
        try:
            told = self._control.recv(1 << 16)
        except OSError:
            told = b""
        reply = json.loads(told or b'{"broken": "its process does not start"}')
        if "broken" in reply:
            self.close()
            why = reply["broken"]
            raise BasicToolError(
                f"the tool python cannot run code safely here: {why}; "
                "run it elsewhere, or do not offer it (python: null)"
            )
        return tuple(reply["layers"])


def _started(command: list[str], theirs: socket.socket, ours: socket.socket) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise BasicToolError(
            f"the tool python cannot start {command[0]}: {error.strerror}; name a Python 3.11 or later as `executable`"
        ) from error


def _signal_name(number: int) -> str:
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")


def _printable(line: str) -> str:
    """Return a line of an error without control characters, cut."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in line)
    return clean if len(clean) <= ERROR_CHARS else clean[:ERROR_CHARS] + "…"


def _end(process: subprocess.Popen[bytes], control: socket.socket, owner: int) -> None:
    control.close()
    if os.getpid() != owner:  # a fork of the owner: the zygote is not its child
        return
    process.kill()
    process.wait()
