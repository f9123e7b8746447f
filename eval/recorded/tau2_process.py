"""A process of tau2: its output goes to a log without the key, and it ends when whoever started it ends.

It holds the lock of its folder, so that a process whose parent was killed is not joined by another one: with its output
gone, it ends at the next line that it writes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolscale.dataset.storage import make_folder, only_writer, read_file, storage_errors, write_file
from toolscale.errors import ProgramError
from toolscale.models.completion import excerpt

LOG = "tau2.log"
GRACE = 20.0
"""Seconds until a process that is asked to end is killed."""
LONGEST = 1 << 20
"""Bytes of one line of its output."""
SHORTEST_KEY = 6
"""Letters of a key that is looked for in files: what is shorter is no secret."""
HALF = ".results_"
"""How the names begin of files that a killed tau2 leaves half written."""
PROGRESS = "Status: "
"""How the lines begin in which tau2 says how far it is."""

Say = Callable[[str], None]


@dataclass
class Output:
    """What a process has said. `last`: its last line that says something."""

    log: Path
    key: str
    say: Say
    last: str = ""

    def take(self, lines: Sequence[bytes]) -> None:
        """Write lines to the log."""
        texts = [_hidden(line, self.key).decode("utf-8", "replace").rstrip() for line in lines]
        with storage_errors("write", self.log), self.log.open("a", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in texts)
        for text in texts:
            self.last = text if any(letter.isalnum() for letter in text) else self.last
            if text.startswith(PROGRESS):
                self.say(text)


@dataclass(frozen=True)
class Ended:
    """How a process ended. `status`: below 0, the signal that killed it."""

    status: int
    last: str
    log: Path

    def check(self) -> None:
        """Raise ProgramError, with its last line, if it failed."""
        if self.status == 0:
            return
        how = f"status {self.status}" if self.status > 0 else f"signal {-self.status}"
        said = self.last or "it says nothing"
        raise ProgramError(f"tau2 ended with {how}: {said}; {self.log} has all of it, and the same command goes on")


async def run_process(
    program: Path, arguments: Sequence[str], folder: Path, environ: Mapping[str, str], key: str, say: Say, cwd: Path
) -> Ended:
    """Run a program of tau2 that writes into a folder, and wait for it. ProgramError if it cannot be started,
    UsageError if another process writes there. If this call is cancelled, the process is ended first."""
    make_folder(folder)
    output = Output(folder / LOG, key, say)
    with only_writer(folder) as lock:
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(environ),
                cwd=cwd,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C is told to it by us, once
            )
        except OSError as error:
            raise ProgramError(f"{program} cannot be started: {error.strerror or error}") from error
        try:
            await _read(process, output)
            status = await process.wait()
        finally:
            await asyncio.shield(_end(process))
            for path in folder.glob(f"{HALF}*"):
                path.unlink(missing_ok=True)
            for path in folder.glob("*.json"):
                hide_key(path, key)
    return Ended(status, excerpt(output.last, key), output.log)


def hide_key(path: Path, key: str) -> None:
    """Take a key out of a file: servers may repeat it in an error, which tau2 keeps."""
    if len(key) >= SHORTEST_KEY and key.encode() in (content := read_file(path)):
        write_file(path, _hidden(content, key))


async def _read(process: asyncio.subprocess.Process, output: Output) -> None:
    assert process.stdout is not None, "its output is a pipe"
    rest = b""
    while chunk := await process.stdout.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST:
            lines, rest = [*lines, rest], b""
        if lines:
            output.take(lines)
    if rest:
        output.take([rest])


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started: as by Ctrl-C, for which tau2 keeps what is done, and then by force."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _hidden(content: bytes, key: str) -> bytes:
    return content.replace(key.encode(), "…".encode()) if len(key) >= SHORTEST_KEY else content
