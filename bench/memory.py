"""Memory of a process and all that it started, shared pages counted once (PSS). Linux only."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PERIOD = 0.1
"""Seconds between two looks. A look at a process of several GB takes a tenth of a second of the system's time."""


def run_measured(command: list[str], period: float = PERIOD) -> tuple[float, float]:
    """Run a command; return wall seconds and the highest sum of MB over its processes. Raises CalledProcessError.

    A sum counts if two looks, one after the other, saw it: until a new process runs its own program it shares the
    memory of the one that started it, and a single look sees that twice.
    """
    start, peak, before = time.perf_counter(), 0, 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now = sum(_kilobytes(pid) for pid in _family(process.pid))
            peak, before = max(peak, min(before, now)), now
            time.sleep(period)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, peak / 1024


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # it ended while we looked
            continue
        for child in found:
            yield from _family(int(child))


def _kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
