"""The recorded round of strangers gets the grades that it got."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from courts import Court

from toolscale.records import Candidate, Solution
from toolscale.verify.graded import grade_subject

ROUND = Path(__file__).parents[1] / "answers" / "round"


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROUND / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["form-73110", "form-73111"])
def test_what_strangers_did_gets_the_grades_that_it_got(bank: Court, name: str) -> None:
    """The tasks are those that the solvers saw, whatever would be drawn today."""
    solutions, recorded, tasks = (read(f"{name}{end}.jsonl") for end in ("", ".grades", ".candidates"))
    assert [line["task"] for line in solutions] == [line["task"] for line in recorded]
    made = [Solution.model_validate(line) for line in solutions]
    subjects = [bank[1].subject(Candidate.model_validate(line)) for line in tasks]
    grades = [grade_subject(subject, one.calls, one.answer) for subject, one in zip(subjects, made, strict=True)]
    assert [(grade.score, grade.finding) for grade in grades] == [(line["score"], line["finding"]) for line in recorded]
