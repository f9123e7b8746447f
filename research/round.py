"""The recorded round of strangers, graded again: `python -m research.round`.

`tests/answers/round` holds tasks of finance as they were asked, what solvers did with them, and the grades that it got.
The id of a task depends on its environment, so all ids change whenever a file of finance does; `--write` writes those
of today. Grades are never written.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.records import Candidate, Solution, Verdict
from toolscale.verify.accepted import accepted_task
from toolscale.verify.graded import grade_subject
from toolscale.verify.judge import Judge

ROUND = Path(__file__).parents[1] / "tests" / "answers" / "round"
FILES = ("form-73110", "form-73111")
"""What was solved in which way, and the seed of its tasks."""


@dataclass(frozen=True)
class Line:
    """What a solver did with one task."""

    solution: dict[str, Any]
    recorded: dict[str, Any]
    """The grade that it got, with the number of the candidate."""
    found: dict[str, Any]
    """The same, as it is graded now, with the id that the task has now."""


def regraded(name: str, judge: Judge) -> list[Line]:
    """Grade a file of the round again: the tasks are those that the solvers saw, whatever would be drawn today."""
    lines = []
    files = (_lines(f"{name}{end}.jsonl") for end in ("", ".grades", ".candidates"))
    for solution, recorded, asked in zip(*files, strict=True):
        made = Solution.model_validate(solution)
        subject = judge.subject(Candidate.model_validate(asked))
        task = accepted_task(subject, Verdict(gates=()), judge.initial_state_hash)
        grade = grade_subject(subject, made.calls, made.answer)
        found = {**recorded, "task": task.id, "score": grade.score, "finding": grade.finding}
        lines.append(Line(solution, recorded, found))
    return lines


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROUND / name).read_text(encoding="utf-8").splitlines()]


def _write(name: str, lines: list[Line]) -> None:
    for file, records in (
        (f"{name}.jsonl", [{**line.solution, "task": line.found["task"]} for line in lines]),
        (f"{name}.grades.jsonl", [{**line.recorded, "task": line.found["task"]} for line in lines]),
    ):
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (ROUND / file).write_text(text, encoding="utf-8")


@click.command(help=__doc__)
@click.option(
    "--write",
    is_flag=True,
    help="Write the ids that the tasks have now, but not where a grade changed.",
)
def main(write: bool) -> None:
    environment = load_environment("finance")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    otherwise = 0
    for name in FILES:
        lines = regraded(name, judge)
        moved = [line for line in lines if line.found["task"] != line.recorded["task"]]
        changed = [line for line in lines if line.found != {**line.recorded, "task": line.found["task"]}]
        right = sum(line.found["score"] for line in lines)
        click.echo(f"{name}: {right} of {len(lines)} right, {len(changed)} graded otherwise, {len(moved)} new ids")
        for recorded, found in ((line.recorded, line.found) for line in changed):
            click.echo(f"  candidate {recorded['candidate']}: {recorded['finding']} -> {found['finding']}")
        otherwise += len(changed)
        if write and not changed:
            _write(name, lines)
    judge.close()
    sys.exit(1 if otherwise else 0)


if __name__ == "__main__":
    main()
