"""The process in which tau2 runs: a script of ours under a Python of its own, whose lines are read with limits.

tau2 and its domains are somebody else's code: it gets no key of ours, has a folder of its own to write to, and ends
with us. It is not shut off from the machine: whoever audits a checkout runs its code.
"""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from toolscale.audit.found import bad_input
from toolscale.dataset.columns import UNREADABLE, load_cell
from toolscale.errors import ProgramError
from toolscale.temporary_folders import temporary_folder
from toolscale.text_files import printable

DRIVER = Path(__file__).with_name("tau2_driver.py")
LONGEST_LINE = 64_000_000
"""Bytes. The first line holds the database; that of retail has 2 MB."""
MOST_BYTES = 1_000_000_000
PROBE_S = 120.0
"""For tau2 to be imported: its libraries are large."""
PAUSE_S = 0.05

_KEPT = ("HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER")


def code_of(python: Path, checkout: Path) -> Path:
    """Return where the tau2 of a Python lies. UsageError if it is no Python, or cannot import tau2."""
    remedy = f"in {checkout}: python3.12 -m venv .venv && .venv/bin/pip install -e ., or name one with --python"
    if not python.is_file():
        raise bad_input(python, "", "there is no such Python", remedy)
    try:
        done = subprocess.run(
            [python, "-I", "-c", "import tau2.registry; print(); print(tau2.__file__)"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_S,
            env=environment_of(checkout),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {PROBE_S:g} seconds"
        raise bad_input(python, "", f"it cannot be run ({reason})", remedy) from error
    if done.returncode != 0:
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"])[-1]
        raise bad_input(python, "", f"tau2 cannot be imported there ({printable(said, 200)})", remedy)
    return Path(done.stdout.decode("utf-8", "replace").rstrip().rpartition("\n")[2])


def environment_of(checkout: Path) -> dict[str, str]:
    """Return the environment of the process: nothing secret, the data of the checkout, no prices from the web."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    told = {"TAU2_DATA_DIR": str(checkout / "data"), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONUTF8": "1"}
    return kept | told | {"PYTHONDONTWRITEBYTECODE": "1"}


def driver_lines(
    python: Path, checkout: Path, domain: str, timeout_s: float, driver: Path = DRIVER
) -> Iterator[Mapping[str, Any]]:
    """Yield what the driver prints, each line read as a JSON object. ProgramError if it fails, writes something else,
    or takes longer than `timeout_s`."""
    with temporary_folder("audit") as folder:
        process = subprocess.Popen(
            [python, "-I", str(driver), domain],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment_of(checkout),
            start_new_session=True,  # so that what it starts ends with it
        )
        assert process.stdout is not None and process.stderr is not None, "both are pipes"
        output = _Until(process.stdout.fileno(), time.monotonic() + timeout_s)
        said: deque[bytes] = deque(maxlen=20)
        listener = threading.Thread(target=_listen, args=(process.stderr.fileno(), said), daemon=True)
        listener.start()
        try:
            yield from parse_lines(io.BufferedReader(output))
            output.wait(process.pid)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
            process.stdout.close()
            listener.join(5)
            if not listener.is_alive():  # else somebody who left the group still holds the pipe
                process.stderr.close()
    if output.is_over:
        raise ProgramError(f"tau2 took longer than {timeout_s:g} seconds on {domain}; give it more with --timeout")
    if status != 0:
        text = b"".join(said).decode("utf-8", "replace").strip().splitlines() or ["it says nothing"]
        raise ProgramError(f"tau2 ended with status {status} on {domain}: {printable(text[-1])}")


def parse_lines(stream: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream, a line each. ProgramError for a line that is none, or too long."""
    total, number = 0, 0
    while line := stream.readline(LONGEST_LINE + 1):
        number, total = number + 1, total + len(line)
        if len(line) > LONGEST_LINE or total > MOST_BYTES:
            raise ProgramError(f"the driver of tau2 wrote too much: line {number} has {len(line):,} bytes or more")
        try:
            value = load_cell(line.decode())
        except UNREADABLE as error:
            shown = printable(line[:200].decode("utf-8", "replace"), 80)
            raise ProgramError(f"the driver of tau2 wrote no JSON in line {number}: {shown}") from error
        if not isinstance(value, dict):
            raise ProgramError(f"the driver of tau2 wrote no JSON object in line {number}")
        yield value


class _Until(io.RawIOBase):
    """A pipe that ends when a time has come, whoever still holds it."""

    def __init__(self, handle: int, until: float) -> None:
        self._handle, self._until = handle, until
        self.is_over = False

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there; nothing once the time has come."""
        left = self._until - time.monotonic()
        if left <= 0 or not select.select([self._handle], [], [], left)[0]:
            self.is_over = True
            return 0
        content = os.read(self._handle, len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def wait(self, process: int) -> None:
        """Wait for a process to end, and leave it to be asked how. It may still run: the time has come then."""
        while not self.is_over and not os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            time.sleep(PAUSE_S)
            self.is_over = time.monotonic() >= self._until


def _listen(handle: int, said: deque[bytes]) -> None:
    """Keep the end of what a pipe says, so that its writer never waits because nobody reads."""
    while chunk := os.read(handle, 4096):
        said.append(chunk)
