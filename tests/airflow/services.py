"""Servers for tests: real processes on free ports of loopback, each under `guard.py`, so that it ends with the test."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")


class ServiceError(AssertionError):
    """A server ended, or never began to answer. The message ends with the tail of its log."""


@dataclass
class Service:
    """One running command."""

    name: str
    log: Path
    guard: subprocess.Popen[str]
    report: dict[str, object] | None = field(default=None)

    def tail(self, lines: int = 40) -> str:
        """The last lines that the command printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def error(self, problem: str) -> ServiceError:
        return ServiceError(f"{self.name} {problem}\n--- the end of {self.log}\n{self.tail()}")

    def wait_until(self, ready: Callable[[], bool], seconds: float = 600.0) -> None:
        """Wait until `ready()`; raises with the log if the command ends or time is up."""
        end = time.monotonic() + seconds
        while not ready():
            if self.guard.poll() is not None:
                raise self.error("ended by itself")
            if time.monotonic() > end:
                raise self.error(f"was not ready after {seconds:.0f} s")
            time.sleep(0.25)

    def begin_to_stop(self) -> None:
        """Let the guard stop the command, and do not wait: several stop at once."""
        if self.guard.stdin is not None:
            self.guard.stdin.close()
            self.guard.stdin = None

    def stop(self) -> dict[str, object]:
        """Stop the command with all that it started; what the guard found (see guard.py). A second call changes
        nothing."""
        if self.report is None:
            self.begin_to_stop()
            output, _ = self.guard.communicate()
            self.report = json.loads(output)
        return self.report


@contextmanager
def running(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environ: Mapping[str, str] | None = None,
    remove: Path | None = None,
    terminal: bool = False,
) -> Iterator[Service]:
    """The command in the background for the length of the block. Raises at the end if it left a process behind.
    `terminal`: it ends by Ctrl-C."""
    options = [str(log), *(["--terminal"] if terminal else []), *(["--remove", str(remove)] if remove else [])]
    guard = subprocess.Popen(
        [sys.executable, str(GUARD), *options, "--", *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=dict(environ or os.environ),
    )
    log.touch()
    service = Service(name, log, guard)
    try:
        yield service
    finally:
        report = service.stop()
    if report["left"]:
        raise service.error(f"left processes behind: {report['left']}")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different: below those that the kernel hands out to connections, so that none
    takes one meanwhile."""
    found: set[int] = set()
    while len(found) < count:
        port = random.SystemRandom().randrange(18_000, 32_000)
        with socket.socket() as candidate, suppress(OSError):
            candidate.bind(("0.0.0.0", port))
            found.add(port)
    return sorted(found)


def listens(port: int) -> bool:
    """Does somebody listen on this port of loopback?"""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
