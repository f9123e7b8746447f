"""A process of tau2: its output goes to a log without the key, and it ends when whoever started it ends.

It holds the lock of its folder, so that a process whose parent was killed is not joined by another one: with its output
gone, it ends at the next line that it writes. It is not shut off from the machine: whoever runs a checkout runs its
code.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
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
"""How the lines begin in which tau2 says how far it is: `Status: 3/50 complete.`"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where a process runs, and with what. `folder`: what it writes into, with its log; `key`: a secret of its
    environment that no file may keep."""

    folder: Path
    environ: Mapping[str, str]
    cwd: Path
    key: str = ""
    timeout_s: float | None = None


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

    def check(self, where: str = "", remedy: str = "") -> None:
        """Raise ProgramError, with its last line, if it failed."""
        if self.status == 0:
            return
        how = f"status {self.status}" if self.status > 0 else f"signal {-self.status}"
        raise ProgramError(f"tau2 ended with {how}{where}: {self.last or 'it says nothing'}{remedy}")


async def run_process(command: Sequence[Path | str], place: Place, say: Say) -> Ended:
    """Run a program that writes into a folder, and wait for it. ProgramError if it cannot be started, UsageError if
    another process writes there, TimeoutError if it takes longer than it may. If this call is cancelled, the process is
    ended first."""
    make_folder(place.folder)
    output = Output(place.folder / LOG, place.key, say)
    with only_writer(place.folder) as lock:
        try:
            async with asyncio.timeout(place.timeout_s), _started(command, place, lock) as (process, reader):
                await _read(reader, output)
                status = await process.wait()
        finally:
            for path in place.folder.glob(f"{HALF}*"):
                path.unlink(missing_ok=True)
            for path in place.folder.glob("*.json"):
                hide_key(path, place.key)
    return Ended(status, excerpt(output.last, place.key), output.log)


def hide_key(path: Path, key: str) -> None:
    """Take a key out of a file: servers may repeat it in an error, which tau2 keeps."""
    if len(key) >= SHORTEST_KEY and key.encode() in (content := read_file(path)):
        write_file(path, _hidden(content, key))


@asynccontextmanager
async def _started(
    command: Sequence[Path | str], place: Place, lock: int
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    """Start a process, and yield it with its output; it is ended afterwards. The pipe is ours, so that it can be closed
    whoever still holds its other end."""
    ours, its = os.pipe()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb"))
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=its,
            stderr=its,
            env=dict(place.environ),
            cwd=place.cwd,
            pass_fds=(lock,),
            start_new_session=True,  # Ctrl-C is told to it by us, once
        )
    except OSError as error:
        pipe.close()
        raise ProgramError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    finally:
        os.close(its)
    try:
        yield process, reader
    finally:
        await asyncio.shield(_end(process))
        pipe.close()


async def _read(reader: asyncio.StreamReader, output: Output) -> None:
    rest = b""
    while chunk := await reader.read(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST:
            lines, rest = [*lines, rest], b""
        if lines:
            output.take(lines)
    if rest:
        output.take([rest])


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started: as by Ctrl-C, for which tau2 keeps what is done, and then by force."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE)
    with suppress(ProcessLookupError, PermissionError):  # what it started, too
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _hidden(content: bytes, key: str) -> bytes:
    return content.replace(key.encode(), "…".encode()) if len(key) >= SHORTEST_KEY else content
