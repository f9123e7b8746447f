"""A training process that outlives whoever started it, and that anybody may find again.

Beside its folder `OUT` lies `.OUT.process/`:

    order.json      what runs: the command, the folder in which it runs
    lock            held (flock) as long as it runs, by the process itself: alive and holding the lock are the same
    starts.jsonl    a line for each start: its number, process id, host, boot id, time
    exit.json       how the last start ended, unless it was killed with everything around it
    log.txt         what it printed
    stop            somebody stopped it: nobody but `start_training` starts it again

Whoever wants to start it takes the lock, looks, and hands the open lock to the process; so there is one at most,
however many watch. After a crash of the machine the lock is free, because no process holds it. The command speaks for
itself in OUT: a line of `metrics.jsonl` for each step, `checkpoints/`, and `done.json` when it is done; started again,
it goes on from its newest checkpoint.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolscale.dataset.storage import file_hash, make_folder, read_file, read_json, storage_errors, write_file
from toolscale.errors import DatasetError, TrainingError, TrainingInterruptedError, UsageError
from toolscale.pipeline import detached_process

log = logging.getLogger(__name__)

DONE = "done.json"
HEARTBEAT_SECONDS = 60.0
"""At least once in so many seconds a watcher logs that the process lives, and for how long there was no new step."""
LOG_LINES = 15
SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|WEBHOOK", re.IGNORECASE)
SECRET_WORDS = re.compile(r"\b(hf_|sk-)[A-Za-z0-9_-]{6,}")
PATIENCE = 100
"""Looks at a lock that somebody holds, who may only be looking too, before a folder counts as written by another."""
FOREIGN_NAMES = ("AIRFLOW", "_AIRFLOW")
"""Beginnings of environment variables that a training does not get: it does not need to know how Airflow reaches its
database."""

_ours: dict[Path, subprocess.Popen[bytes]] = {}
"""Folder -> the process that this one started there, and has to collect when it has ended."""


@dataclass(frozen=True, slots=True)
class Order:
    """What runs: the content of `order.json`."""

    command: tuple[str, ...]
    folder: str
    """Where it runs."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How the last start ended. `new`: there was none; `killed` may be started again; `detail` is for people."""

    state: Literal["new", "done", "failed", "killed"]
    detail: str = ""


def process_folder(out: Path) -> Path:
    """Return the folder in which the process that writes `out` is kept track of."""
    return out.parent / f".{out.name}.process"


def start_training(out: Path, command: Sequence[str], folder: Path) -> bool:
    """See to it that `command` runs in `folder` and writes `out`. Return whether it was started here: not if it runs
    already, or is done.

    UsageError if another command is running that writes `out`. A training that failed or was stopped is started again.
    """
    order, place = Order(tuple(command), str(folder)), make_folder(process_folder(out))
    patience = PATIENCE
    while True:
        with _free_lock(place) as lock:
            if lock is not None:
                (place / "stop").unlink(missing_ok=True)
                if _order_of(place) == order and _outcome(out).state == "done":
                    return False
                content = {"command": order.command, "folder": order.folder}
                write_file(place / "order.json", (json.dumps(content, indent=1) + "\n").encode())
                _launch(out, lock)
                return True
        if _order_of(place) == order:
            return False
        patience -= 1  # whoever holds the lock may only be looking
        if not patience:
            raise UsageError(f"another training is writing {out}; wait for it, stop it, or choose another folder")
        time.sleep(0.05)


def watch_training(out: Path, *, poll: float = 5.0, restarts: int = 3) -> dict[str, Any]:
    """Wait until the training that writes `out` is done; return what it wrote into `done.json`. `poll`: seconds between
    two looks.

    One that was killed is started again, at most `restarts` times without a new checkpoint in between; then
    TrainingInterruptedError. TrainingError, with the end of its log, if it ended by itself without a result, or if
    somebody stopped it. UsageError if nothing was ever started here.
    """
    place, news = process_folder(out), _News(out)
    if _order_of(place) is None:
        raise UsageError(f"{place} has no order.json: no training was started there")
    left, reached = restarts, _newest_checkpoint(out)
    while True:
        with _free_lock(place) as lock:
            if lock is not None:
                outcome = _outcome(out)
                if outcome.state == "done":
                    news.tell()
                    return _read_done(out)
                if (place / "stop").exists():
                    raise TrainingError(f"the run in {out} was stopped; start it again to go on from where it was")
                if outcome.state == "failed":
                    raise TrainingError(f"the run in {out} {outcome.detail}\n{log_end(place)}")
                if (newest := _newest_checkpoint(out)) != reached:
                    left, reached = restarts, newest
                if left == 0:
                    detail = (
                        f"the run in {out} {outcome.detail}, "
                        f"{restarts + 1} times without a new checkpoint; see {place / 'log.txt'}"
                    )
                    raise TrainingInterruptedError(f"{detail}\n{log_end(place)}")
                left -= 1
                log.warning(
                    "the run in %s %s; it is started again%s",
                    out,
                    outcome.detail,
                    f" from {newest}" if newest else "",
                )
                _launch(out, lock)
        news.tell()
        time.sleep(poll)


def stop_training(out: Path, *, grace: float = 30.0) -> bool:
    """Stop the training that writes `out`, and let no watcher start it again. Return whether one was running.

    It is asked by SIGTERM, and after `grace` seconds killed with everything that it started. TrainingError if it runs
    on another machine, or if even that does not end it.
    """
    place = process_folder(out)
    if not place.is_dir() or _is_free(place):
        return False
    write_file(place / "stop", b"")
    for act, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        end, asked = time.monotonic() + seconds, None
        while True:
            start = _last_start(place)  # one that has only just begun tells its number in a moment
            if start is not None and start != asked:
                if (start["host"], start["boot_id"]) != detached_process.machine():
                    raise TrainingError(f"the run in {out} runs on {start['host']}; stop it there: kill {start['pid']}")
                _signal(int(start["pid"]), act)
                asked = start
            if _is_free(place):
                return True
            if time.monotonic() >= end:
                break
            time.sleep(0.05)
    raise TrainingError(f"the run in {out} cannot be ended: a process still holds {place / 'lock'}")


def log_end(place: Path) -> str:
    """Return the last lines that the process printed, without the values of secrets and without control characters;
    empty if it printed none."""
    try:
        with (place / "log.txt").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65_536))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    for secret in sorted(
        (value for name, value in os.environ.items() if SECRET_NAMES.search(name) and len(value) > 3),
        key=len,
        reverse=True,
    ):
        text = text.replace(secret, "***")
    lines = deque((line for line in SECRET_WORDS.sub("***", text).splitlines() if line.strip()), maxlen=LOG_LINES)
    return "\n".join("".join(letter if letter.isprintable() else " " for letter in line)[:400] for line in lines)


class _News:
    """Tells of a training in the log: each new step that is seen, and that it lives."""

    def __init__(self, out: Path):
        self.out, self.line, self.since, self.told = out, "", time.monotonic(), time.monotonic()

    def tell(self) -> None:
        now, line = time.monotonic(), _last_line(self.out / "metrics.jsonl")
        if line and line != self.line:
            self.line, self.since, self.told = line, now, now
            log.info("%s", _in_words(line))
        elif now - self.told >= HEARTBEAT_SECONDS:
            self.told = now
            log.info("still running; %.0f s since the last step that was seen", now - self.since)


def _in_words(line: str) -> str:
    """Return a line of metrics as `step 12: reward 0.5, right 0.25`; figures only."""
    try:
        content = dict(json.loads(line))
    except (TypeError, ValueError):
        return "a line of metrics that is no JSON object"
    figures = {
        name: value for name, value in content.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
    step = figures.pop("step", "?")
    return f"step {step}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


def _last_line(path: Path) -> str:
    """Return the last whole line of a file; empty if there is none. A line that is being written is not whole."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65_536))
            whole = file.read().rpartition(b"\n")[0]
    except OSError:
        return ""
    return whole.rpartition(b"\n")[2].decode(errors="replace")


@contextmanager
def _free_lock(place: Path) -> Iterator[int | None]:
    """Yield the number of an open file that holds the lock of a process, or None if another holds it. Who inherits the
    file keeps the lock."""
    with storage_errors("lock", place):
        file = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with storage_errors("lock", place):
            taken = _flock(file)
        if taken:
            _collect(place)
        yield file if taken else None
    finally:
        os.close(file)


def _flock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(place: Path) -> bool:
    with _free_lock(place) as lock:
        return lock is not None


def _launch(out: Path, lock: int) -> None:
    """Start the order of `out` in a session of its own and hand it the lock."""
    place = process_folder(out)
    number = int(last["number"]) + 1 if (last := _last_start(place)) else 1
    arguments = [str(lock), str(place), str(number), file_hash(out / DONE) if (out / DONE).exists() else ""]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_NAMES)}
    # -P: the folder of that file is no place to import from.
    command = [sys.executable, "-P", detached_process.__file__, *arguments]
    with storage_errors("write", place / "log.txt"), (place / "log.txt").open("ab") as printed:
        _ours[place] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock],
            env=environ,
        )


def _collect(place: Path) -> None:
    """Collect the ended process that this one started in a folder, if there is one. The lock must be free: the process
    frees it only by ending, so this does not have to wait."""
    if (process := _ours.pop(place, None)) is not None:
        # Unless somebody removed the folder, and the lock in it, while it ran.
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)


def _signal(pid: int, act: signal.Signals) -> None:
    """Send a signal to the leader of a session, which passes SIGTERM on; to its whole group if it is gone, or to end
    it."""
    # A group that has another's number by now is none of ours, and there is nothing to end.
    with suppress(ProcessLookupError, PermissionError):
        if act == signal.SIGTERM:
            with suppress(ProcessLookupError):
                os.kill(pid, act)
                return
        os.killpg(pid, act)


def _order_of(place: Path) -> Order | None:
    content = _told_in(place / "order.json")
    return Order(tuple(content["command"]), content["folder"]) if content else None


def _told_in(path: Path) -> dict[str, Any]:
    """Return what a file of the process folder says; nothing if it is not there, or a crash has left half of it."""
    with suppress(DatasetError):
        return read_json(path, "start the training again") if path.exists() else {}
    return {}


def _last_start(place: Path) -> Mapping[str, Any] | None:
    """Return the last whole line of starts.jsonl."""
    try:
        lines = (place / "starts.jsonl").read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        with suppress(ValueError):
            return dict(json.loads(line))
    return None


def _outcome(out: Path) -> _Outcome:
    """Return how the last start ended. Only for whoever holds the lock."""
    place = process_folder(out)
    start = _last_start(place)
    if start is None:
        return _Outcome("new", "has not begun")
    ended = _told_in(place / "exit.json")
    there = (out / DONE).exists()
    if ended.get("number") != start["number"]:
        if there and file_hash(out / DONE) != start["done_before"]:
            return _Outcome("done")
        return _Outcome("killed", "was killed, or its machine went down")
    status = int(ended["status"])
    if status == 0:
        return _Outcome("done") if there else _Outcome("failed", f"ended with status 0 and wrote no {DONE}")
    if 0 < status < 128:
        return _Outcome("failed", f"ended with status {status}" + {1: " (stopped)", 2: " (bad input)"}.get(status, ""))
    return _Outcome("killed", f"was killed by signal {-status if status < 0 else status - 128}")


def _read_done(out: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(read_file(out / DONE)))
    except (ValueError, TypeError) as error:
        raise TrainingError(
            f"{out / DONE} is not a JSON object ({error}); remove it and start the training again"
        ) from error


def _newest_checkpoint(out: Path) -> str | None:
    try:
        return max((path.name for path in (out / "checkpoints").iterdir()), default=None)
    except OSError:
        return None
