"""A second process that replays golden calls: started anew, in another time zone and with another hash seed, on rows
populated again from the spec.

It reads one numbered list of calls a line and answers with the number and the fingerprint of their results and row
changes. The judge asks before it runs the other gates and reads the answer after them, so that both work at the same
time.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolscale.canonical import canonical_json, content_hash
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SandboxError
from toolscale.records import GoldenCall
from toolscale.sandbox.base import NetChanges
from toolscale.sandbox.interrupts import uninterrupted

ROOT = str(Path(__file__).resolve().parents[2])
START = "import sys; sys.path.insert(0, sys.argv[1]); from toolscale.verify.replica import main; main(*sys.argv[2:5])"
"""With -P: the folder that somebody works in may hold a `toolscale` of its own, or another module of our names."""
ZONES = ("Pacific/Kiritimati", "America/Adak")


class Replica:
    """The near end: starts the process with the first question."""

    def __init__(self, folder: Path, seed: int, scale: int = 1) -> None:
        self._command = [sys.executable, "-P", "-c", START, ROOT, str(folder), str(seed), str(scale)]
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0

    def ask(self, calls: Sequence[GoldenCall]) -> int:
        """Begin to replay calls; return the number of the question. Raises SandboxError if the other process broke."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        self._asked += 1
        try:
            process.stdin.write(json.dumps([self._asked, [[call.name, call.arguments] for call in calls]]) + "\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            raise self._ended(process) from error
        return self._asked

    def answer(self, number: int) -> str:
        """Return the fingerprint of what the other process got, passing over earlier questions that nobody waited for.
        Raises SandboxError."""
        process = self._process
        assert process is not None and process.stdout is not None, "nothing was asked"
        for line in process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer["number"] == number:
                return str(answer["fingerprint"])
        raise self._ended(process)

    def _ended(self, process: subprocess.Popen[str]) -> SandboxError:
        return SandboxError(
            f"the replica process ended with status {process.wait()}; run `{' '.join(self._command)}` to see why"
        )

    def _start(self) -> subprocess.Popen[str]:
        here = os.environ.get("TZ", "UTC")
        package_root = str(Path(__file__).parents[2])
        environment = {
            **os.environ,
            "TZ": next(zone for zone in ZONES if zone != here),
            "PYTHONHASHSEED": "4242" if os.environ.get("PYTHONHASHSEED") != "4242" else "2424",
            "PYTHONPATH": os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH", "")])),
        }
        with uninterrupted():
            return subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.stdin is not None and self._process.stdout is not None:
            with contextlib.suppress(BrokenPipeError):  # it ended before it read all
                self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            self._process = None


def fingerprint(results: list[Any], net: NetChanges) -> str:
    """The hash of the results of an episode and its net row changes."""
    return content_hash(
        [results, sorted([canonical_json([place, before, after]) for place, (before, after) in net.items()])]
    )


def replayed(world: World, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Make calls on a fresh reset and return their fingerprint."""
    world.reset()
    results: list[Any] = []
    for name, arguments in calls:
        result = world.call(name, arguments)
        results.append(result.value if result.error is None else {"error": result.error})
    return fingerprint(results, world.net_changes())


def main(folder: str, seed: str, scale: str) -> None:
    """Answer on standard output until the input ends: the far end, for a folder, a seed and a scale."""
    environment = load_environment(Path(folder))
    world = World(environment, populate(environment, int(seed), int(scale)))
    with contextlib.suppress(BrokenPipeError):  # whoever asked has gone
        for line in sys.stdin:
            number, calls = json.loads(line)
            print(canonical_json({"number": number, "fingerprint": replayed(world, calls)}), flush=True)
