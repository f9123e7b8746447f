"""Grade stored rollouts again, without a model: after a change of the rules, of the tasks, or of the rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.benchmark import Opened, open_benchmark
from eval.grading import NOBODY, RULES
from eval.lines import line_of
from eval.records import Line
from eval.storage import read_results, read_rollouts, replace_lines
from toolscale.errors import UsageError
from toolscale.records import Rollout


@dataclass(frozen=True)
class Changed:
    """A line that is graded otherwise than before."""

    task: str
    sample: int
    before: float | None
    after: float | None
    finding: str


@dataclass(frozen=True)
class Regrading:
    """What came of it."""

    lines: int
    changed: tuple[Changed, ...]
    kept: int
    """Lines whose verdict is a model's, and lines without an answer: they stay as they are."""
    gone: int
    """Lines of tasks that the benchmark does not have any more; they stay too."""


async def regrade_folder(folder: Path, *, write: bool = True) -> Regrading:
    """Grade the rollouts of a folder again, and write its lines anew if any differs.

    The benchmark is opened as the header says. UsageError if the folder holds no results, or the data of the benchmark
    are missing.
    """
    header, latest = read_results(folder)
    pairs = list(read_rollouts(folder))
    if not pairs:
        raise UsageError(f"{folder}: holds no rollouts; run the evaluation first")
    opened = open_benchmark(header.kind, header.settings, len({line.task for line in latest}))
    try:
        found, regrading = await _regrade(opened, pairs)
    finally:
        await opened.close()
    if write and found != [line for line, _ in pairs]:
        replace_lines(folder, found)
    return regrading


async def _regrade(opened: Opened, pairs: Sequence[tuple[Line, Rollout]]) -> tuple[list[Line], Regrading]:
    cases = {case.task.id: case for case in opened.cases}
    found, changed, kept, gone = [line for line, _ in pairs], list[Changed](), 0, 0
    # Tasks one after the other: what is known of the end states of one is forgotten when another one comes.
    for place in sorted(range(len(pairs)), key=lambda place: (pairs[place][0].task, place)):
        line, rollout = pairs[place]
        case = cases.get(line.task)
        if case is None or line.status == "error":
            gone, kept = gone + (case is None), kept + (case is not None)
            continue
        graded = await opened.grade(case, rollout)
        if graded.status != "scored" and line.judge not in (RULES, NOBODY):
            kept += 1
            continue
        new = line_of(opened, case, line.policy_hash, rollout, graded)
        found[place] = new.model_copy(update={"key": line.key, "task_hash": line.task_hash})
        if (new.status, new.score) != (line.status, line.score):
            changed.append(Changed(line.task, line.sample, line.score, new.score, new.finding))
    return found, Regrading(len(pairs), tuple(changed), kept, gone)
