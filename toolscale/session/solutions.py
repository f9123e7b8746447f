"""Recorded solutions, graded: one JSON object a line with `task`, `calls` and `answer`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolscale.errors import SandboxLimitError, UsageError
from toolscale.models.thoughts import spoken
from toolscale.records import Grade, Solution
from toolscale.rollout.calls import read_arguments
from toolscale.session.playable import Playable
from toolscale.session.transcript import over_limit
from toolscale.strict_json import read_record


@dataclass(frozen=True)
class Graded:
    """A solution with its grade. `line` counts from 1."""

    line: int
    solution: Solution
    grade: Grade


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be graded, and why."""

    line: int
    problem: str


def grade_solutions(playable: Playable, lines: Iterable[str]) -> Iterator[Graded | BadLine]:
    """Grade every line, in order, by rules.

    Empty lines are passed over. If a line cannot be graded, the others are graded all the same.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _graded(playable, number, line)
            except UsageError as error:
                yield BadLine(number, str(error))


def _graded(playable: Playable, number: int, line: str) -> Graded:
    try:
        solution = read_record(Solution, line)
    except ValueError as error:
        raise UsageError(f"{error}; a line has task, calls and answer") from error
    solution = solution.model_copy(update={"answer": spoken(solution.answer).text})
    task = playable.task(solution.task)
    domain = playable.domain(task)
    for place, call in enumerate(solution.calls):
        if call.name not in domain.environment.tools:
            raise UsageError(
                f"task {task.id[:12]} has no tool {call.name!r}; the tools are {', '.join(domain.environment.tools)}"
            )
        if (fault := read_arguments(call.arguments)[1]) is not None:
            raise UsageError(f"calls.{place}: {fault}")
    try:
        return Graded(number, solution, domain.grade(task, solution.calls, solution.answer))
    except SandboxLimitError as error:
        return Graded(number, solution, over_limit(error))
