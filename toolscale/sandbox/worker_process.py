"""The parent's end of the DuckDB process: start it, ask it, kill it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from toolscale.errors import SandboxError, SandboxLimitError
from toolscale.sandbox.interrupts import uninterrupted

PROGRAM = Path(__file__).resolve().with_name("duckdb_worker.py")
"""Started as a file, not as a module: it needs nothing of this package, which takes seven times as long to load as
DuckDB."""
CHUNK = 1 << 16


class WorkerProcess:
    """One process. After `kill`, or after it was killed for taking too long, it is of no more use."""

    def __init__(self) -> None:
        with uninterrupted():
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],  # -P: the folder has a duckdb.py of its own
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "LANG": "C.UTF-8", "PYTHONUTF8": "1"},
            )
        self._unread = b""
        self._finalizer = weakref.finalize(self, _end, self._process)

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer. If none comes in time, or the process dies of its limits, it is gone and SandboxLimitError
        is raised."""
        stdin = self._process.stdin
        if stdin is None:
            raise SandboxError("the DuckDB process has no standard input")
        try:
            data = memoryview((json.dumps(request) + "\n").encode())
            while data:
                data = data[stdin.write(data) :]
            reply: dict[str, Any] = json.loads(self._read_line(time.monotonic() + seconds))
        except (BrokenPipeError, EOFError) as error:
            self.kill()
            raise SandboxLimitError(
                f"the DuckDB process ended with status {self._process.returncode}: memory or processor time"
            ) from error
        except TimeoutError as error:
            self.kill()
            raise SandboxLimitError(f"DuckDB was killed after {seconds:.1f} s") from error
        return reply

    def kill(self) -> None:
        """End the process now."""
        self._finalizer()

    def _read_line(self, deadline: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise EOFError
        parts = [self._unread]
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                part = os.read(stdout.fileno(), CHUNK)
                if not part:
                    raise EOFError
                parts.append(part)
        line, _, self._unread = b"".join(parts).partition(b"\n")
        return line


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
