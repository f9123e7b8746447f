"""Run a verb as a person would, but with little time and little memory: each in a process of its own, forked from one
that has loaded everything."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

START = "from tests.hostile.bounded import serve; serve()"
ROOT = Path(__file__).parents[2]
LOADED = (
    "toolscale.cli",
    "toolscale.cli.screen",
    "toolscale.cli.tallies",
    "toolscale.dataset.checking.recheck",
    "toolscale.pipeline.describing",
    "toolscale.pipeline.stages",
)
SECONDS = 60.0
"""Of processor time: far more than any case takes, far less than what hangs."""

MEGABYTES = 1_500
"""Of memory beside what is loaded."""


@dataclass(frozen=True)
class Outcome:
    """What a verb did. The status is negative if it was killed: -9 or -24 stand for time, and a MemoryError for
    memory."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on stderr."""
        return self.err.splitlines()


class Bounded:
    """The near end: `run` may be called again and again."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def run(self, *arguments: str | Path, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> Outcome:
        """Run a verb of the command line."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            asked = {
                "arguments": [os.fspath(argument) for argument in arguments],
                "folder": folder,
                "seconds": seconds,
                "megabytes": megabytes,
            }
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            out, err = (Path(folder, name).read_text(errors="backslashreplace") for name in ("out", "err"))
        return Outcome(status, out, err)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """The far end: load what the verbs load, then fork for every line."""
    for name in LOADED:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(asked, answers)
        _, waited = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(waited), file=answers, flush=True)


def _child(asked: dict[str, Any], answers: IO[str]) -> None:
    from toolscale.cli import main

    answers.close()
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(Path(asked["folder"]) / name, os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + asked["megabytes"] * 2**20,) * 2)
    seconds = int(time.process_time() + asked["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    status = 70
    with contextlib.suppress(SystemExit):
        try:
            status = main(asked["arguments"])
        except BaseException as error:  # what nobody names: the test looks for it
            import traceback

            traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
