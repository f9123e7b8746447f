"""Task folders for Harbor: looked through before anything of them runs, and what Harbor's runs of them say."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Any

from toolscale.audit.found import Finding, Undecided, bad_input
from toolscale.patterns import regex
from toolscale.text_files import printable

TASK = "task.toml"
LARGEST_TASK = 1_000_000
"""Bytes of a task.toml."""
MOST_FILES, MOST_BYTES = 20_000, 2_000_000_000
"""Of one task."""
LONGEST_REASON = 300

_ASKED = regex(r"\$\{([^}:]+)(:-[^}]*)?\}")

Found = Finding | Undecided


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """One task. `name`: that of its folder."""

    name: str
    path: Path
    has_solution: bool
    asks: tuple[str, ...] = ()
    """Variables of the machine that it must be given."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one agent on a task. `rewards`: what the tests wrote, None if they wrote nothing; `error`: what
    Harbor says of the run."""

    rewards: Mapping[str, float] | None
    error: str

    @property
    def score(self) -> float:
        """The least of the rewards."""
        return min(self.rewards.values()) if self.rewards else -math.inf

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:g}" for name, value in (self.rewards or {}).items()) or "no reward"
        return f"{told} ({self.error})" if self.error else told


def read_tasks(folder: Path) -> list[TaskFolder]:
    """Return the tasks of a folder, or the one that it is. UsageError, in one line, if there are none, or if one holds
    what no task should: nothing has run then."""
    if not folder.is_dir():
        raise bad_input(folder, "", "there is no such folder", "give a folder of tasks for Harbor")
    paths = [folder] if (folder / TASK).is_file() else sorted(path.parent for path in folder.glob(f"*/{TASK}"))
    if not paths:
        remedy = f"give a task, or a folder of tasks, each with its {TASK}"
        raise bad_input(folder, "", f"it holds no task for Harbor ({TASK} is missing)", remedy)
    return [_task(path, folder) for path in paths]


def _task(path: Path, root: Path) -> TaskFolder:
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise bad_input(path, "", f"it is a link out of its folder, to {path.resolve()}", "copy the task into it")
    _check_files(path)
    file = path / TASK
    if (size := file.stat().st_size) > LARGEST_TASK:
        raise bad_input(file, "", f"it has {size:,} bytes, {LARGEST_TASK:,} at most are read", "leave the task out")
    try:
        told = tomllib.loads(file.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise bad_input(file, "", f"it is no TOML ({printable(str(error), 160)})", "mend it") from error
    solutions = [*path.glob("solution/solve.*"), *path.glob("steps/*/solution/solve.*")]
    return TaskFolder(path.name, path, bool(solutions), tuple(sorted(set(_asked(told)))))


def _asked(told: Any, within: bool = False) -> Iterator[str]:
    """Yield the variables that tables called `env` take from the machine, and have no other value for."""
    if isinstance(told, str) and within:
        yield from (name for name, default in _ASKED.findall(told) if not default)
    for name, value in told.items() if isinstance(told, Mapping) else enumerate(told if isinstance(told, list) else ()):
        yield from _asked(value, within or name == "env")


def _check_files(task: Path) -> None:
    """UsageError if a task has a link out of its folder, something that is no file, or too much."""
    inside, files, size = task.resolve(), 0, 0
    for folder, folders, names in os.walk(task):
        for path in (Path(folder, name) for name in (*folders, *names)):
            about = path.lstat()
            if S_ISLNK(about.st_mode) and not path.resolve().is_relative_to(inside):
                told = f"it is a link out of its task, to {printable(str(path.readlink()), 160)}"
                raise bad_input(path, "", told, "remove it, or put the file itself there")
            if not (S_ISLNK(about.st_mode) or S_ISDIR(about.st_mode) or S_ISREG(about.st_mode)):
                raise bad_input(path, "", "it is neither a file nor a folder", "remove it")
            files, size = files + 1, size + about.st_size
        if files > MOST_FILES or size > MOST_BYTES:
            told = f"it has {files:,} files and {size:,} bytes so far; {MOST_FILES:,} and {MOST_BYTES:,} are read"
            raise bad_input(task, "", told, "leave the task out")


def run_of(result: Mapping[str, Any]) -> Run:
    """Return what a result file of Harbor says. KeyError, TypeError, ValueError or AttributeError if it is none."""
    rewards = (result["verifier_result"] or {}).get("rewards")
    error = result["exception_info"]
    told = "" if error is None else f"{error['exception_type']}: {error['exception_message']}"
    reason = printable(" ".join(told.split()), LONGEST_REASON)
    return Run({str(name): float(value) for name, value in rewards.items()} if rewards else None, reason)


def not_run(task: TaskFolder, reason: str) -> Iterator[Found]:
    """Yield what is open of a task that Harbor cannot run."""
    yield Undecided("untouched_wins", (task.name,), reason)
    if task.has_solution:
        yield Undecided("solution_loses", (task.name,), reason)
    else:
        yield _unsolved(task)


def check_runs(task: TaskFolder, untouched: Sequence[Run], solved: Sequence[Run]) -> Iterator[Found]:
    """Yield what is wrong with a task. `untouched`: what it scores when nobody did anything; `solved`: after its own
    solution."""
    names = (task.name,)
    graded = [run for run in untouched if run.rewards]
    won = [run for run in graded if run.score >= 1]
    if won:
        yield Finding("untouched_wins", names, "reward", f"nobody did anything: {won[0]}")
    if len(graded) < len(untouched):
        yield Undecided("untouched_wins", names, _reason(untouched))
    if not task.has_solution:
        yield _unsolved(task)
    else:
        graded = [run for run in solved if run.rewards]
        if graded and all(run.score < 1 for run in graded):
            yield Finding("solution_loses", names, "reward", f"after its own solution: {graded[0]}")
        if len(graded) < len(solved):
            yield Undecided("solution_loses", names, _reason(solved))
    for who, runs in (("untouched", untouched), ("solved", solved if task.has_solution else ())):
        told = list(dict.fromkeys(str(run) for run in runs if run.rewards))
        if len({repr(sorted(run.rewards.items())) for run in runs if run.rewards}) > 1:
            yield Finding("unstable", names, "reward", f"{who}, the same run twice: {', then '.join(told)}")


def _unsolved(task: TaskFolder) -> Finding:
    told = "there is no solution/solve.sh, so nothing shows that it can be won"
    return Finding("no_solution", (task.name,), "solution", told)


def _reason(runs: Sequence[Run]) -> str:
    return next((run.error for run in runs if not run.rewards and run.error), "Harbor ran it and tells no reward")
