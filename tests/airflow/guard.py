"""Run one command for a test, and end it with everything that it started as soon as standard input closes.

`python guard.py LOG [--terminal] [--remove FOLDER] -- command …`. The test holds the other end of the pipe: it closes
when the test is done, and also when the test run is interrupted or killed, so that no server outlives its tests. The
command gets SIGINT (a clean stop of every server that we start; with `--terminal` its whole process group gets it, as
from Ctrl-C), then SIGKILL. Without `--terminal` it comes every few seconds: a Python handler that raises SystemExit
loses it where it interrupts a callback of a weak reference, as in Airflow's scheduler. The one line on standard output
is JSON: the exit status, and what was still running after the clean stop.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

CLEAN_STOP_SECONDS = 90.0
AGAIN_SECONDS = 15.0
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends: none can slip away into a session of its own."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def alive() -> list[psutil.Process]:
    """All descendants, zombies reaped and left out."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                if process.ppid() == os.getpid():
                    os.waitpid(process.pid, os.WNOHANG)
            else:
                found.append(process)
        except (psutil.NoSuchProcess, ChildProcessError):
            continue
    return found


def wait_until_none(seconds: float) -> list[psutil.Process]:
    """Wait for all descendants to end; those that are left after `seconds`."""
    end = time.monotonic() + seconds
    while (left := alive()) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def stop(child: subprocess.Popen[bytes], *, terminal: bool) -> None:
    """Ask the command to end, and wait until it did or time is up: then it is among those that are left."""
    end = time.monotonic() + CLEAN_STOP_SECONDS
    if terminal:
        os.killpg(child.pid, signal.SIGINT)
    while child.poll() is None and (left := end - time.monotonic()) > 0:
        if not terminal:
            child.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            child.wait(left if terminal else min(left, AGAIN_SECONDS))


def words(process: psutil.Process) -> str:
    """The command line of a process, for a failure message."""
    try:
        return " ".join(process.cmdline())[:200] or process.name()
    except psutil.NoSuchProcess:
        return "gone"


def main() -> None:
    options, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    adopt_orphans()
    # A handler is not inherited, but being ignored is, from whoever runs the tests in the background.
    signal.signal(signal.SIGINT, lambda *_: None)
    with Path(options[0]).open("ab") as log:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    while not select.select([sys.stdin], [], [], 0.2)[0]:  # readable means closed: nothing is ever written
        if child.poll() is not None:
            break
    ended_by_itself = child.poll()
    if ended_by_itself is None:
        stop(child, terminal="--terminal" in options)
    left = wait_until_none(5.0)
    report = {"ended_by_itself": ended_by_itself, "status": child.poll(), "left": [words(process) for process in left]}
    while left:
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        left = wait_until_none(1.0)
    if "--remove" in options:
        shutil.rmtree(options[options.index("--remove") + 1])
    with suppress(BrokenPipeError):  # the tests were killed: nobody reads
        os.write(sys.stdout.fileno(), json.dumps(report).encode())


if __name__ == "__main__":
    main()
