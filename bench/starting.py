"""How long commands take that do little: processor seconds of the whole process, most of which are imports."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from toolscale.pipeline import synthesize
from toolscale.session.playable import Playable

TASKS, TRIES = 32, 5
AT_ONCE, ONE_TASK, ALL_GATES, SERVED = 0.25, 0.8, 1.0, 1.2
"""Seconds at most: of what only tells, of what opens a task, of what also loads every gate, and of what also loads
the library `mcp` (0.4 of it). The domain was compiled when its dataset was made.
"""


def measure_starts(domain: str) -> dict[str, tuple[float, float]]:
    """Return command -> (seconds, the most that is promised), each the median of several processes."""
    with TemporaryDirectory(prefix="toolscale-bench-") as folder:
        place, dataset, session = Path(folder), Path(folder) / domain, Path(folder) / "session"
        synthesize(domain, dataset, tasks=TASKS)
        playable = Playable(dataset)
        task = playable.task(playable.ids[0])
        playable.close()
        (place / "solutions.jsonl").write_text(
            json.dumps({"task": task.id, "calls": [], "answer": '{"done": "none"}'}) + "\n"
        )
        call = '{"name": "calculate", "arguments": {"expression": "1 + 1"}}'
        commands: dict[str, tuple[list[str | Path], float]] = {
            "--version": (["--version"], AT_ONCE),
            "--help": (["--help"], AT_ONCE),
            "play, the view": (["play", dataset, task.id, "--session", session], ONE_TASK),
            "play --call": (["play", dataset, "--session", session, "--call", call], ONE_TASK),
            "show": (["show", dataset, task.id], ONE_TASK),
            "serve": (["serve", dataset, task.id, "--session", session], SERVED),
            "grade": (["grade", dataset, place / "solutions.jsonl"], ALL_GATES),
        }
        return {
            name: (_seconds([str(word) for word in words], place), most) for name, (words, most) in commands.items()
        }


def _seconds(words: list[str], folder: Path) -> float:
    taken = []
    for _ in range(TRIES + 1):  # the first one compiles what was not compiled yet
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-m", "toolscale", *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL
        )
        after = os.times()
        if done.returncode:
            raise RuntimeError(f"toolscale {' '.join(words)}: {done.stderr.decode()}")
        taken.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(taken[1:])
