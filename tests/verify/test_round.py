"""The recorded round of strangers gets the grades that it got."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolscale.environment import World, load_environment, populate
from toolscale.records import Solution
from toolscale.tasks import CandidateSource
from toolscale.verify import Judge, grade_subject

ROUND = Path(__file__).parents[1] / "answers" / "round"


@pytest.fixture(scope="module")
def court() -> Iterator[tuple[CandidateSource, Judge]]:
    environment = load_environment("finance")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROUND / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("kind", "seed"), [("prose", 73110), ("prose", 73111), ("form", 73110), ("form", 73111), ("model", 40)]
)
def test_what_strangers_did_gets_the_grades_that_it_got(
    court: tuple[CandidateSource, Judge], kind: str, seed: int
) -> None:
    source, judge = court
    interaction = "form" if kind == "form" else "single"
    recorded, found = lines(f"{kind}-{seed}.grades.jsonl"), []
    for line, solution in zip(recorded, lines(f"{kind}-{seed}.jsonl"), strict=True):
        candidate, made = source.draw(seed, line["candidate"]), Solution.model_validate(solution)
        assert candidate is not None
        subject = judge.subject(candidate.model_copy(update={"interaction": interaction}))
        grade = grade_subject(subject, made.calls, made.answer)
        found.append({**line, "task": made.task, "score": grade.score, "finding": grade.finding})
    assert found == recorded
