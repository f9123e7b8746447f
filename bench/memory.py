"""Memory of a process and all that it started, shared pages counted once (PSS). Linux only."""

from __future__ import annotations

import subprocess
import time

import psutil

PERIOD = 0.1
"""Seconds between two looks. A look at a process of several GB takes a tenth of a second of the system's time."""


def run_measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return wall seconds and the highest sum of MB over its processes. Raises CalledProcessError.

    A sum counts if two looks, one after the other, saw it: until a new process runs its own program it shares the
    memory of the one that started it, and a single look sees that twice.
    """
    start, peak, before = time.perf_counter(), 0, 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            now = sum(map(_bytes, family(process.pid)))
            peak, before = max(peak, min(before, now)), now
            time.sleep(PERIOD)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, peak / (1 << 20)


def family(pid: int) -> list[psutil.Process]:
    """Return a process with all that it started; nothing if it has ended."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:  # it ended while we looked
        return 0
