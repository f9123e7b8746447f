"""The recorded round of strangers gets the grades that it got."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from courts import Court

from toolscale.records import Solution
from toolscale.verify import grade_subject

ROUND = Path(__file__).parents[1] / "answers" / "round"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROUND / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("kind", "seed"), [("prose", 73110), ("prose", 73111), ("form", 73110), ("form", 73111), ("model", 40)]
)
def test_what_strangers_did_gets_the_grades_that_it_got(bank: Court, kind: str, seed: int) -> None:
    source, judge = bank
    interaction = "form" if kind == "form" else "single"
    recorded, found = lines(f"{kind}-{seed}.grades.jsonl"), []
    for line, solution in zip(recorded, lines(f"{kind}-{seed}.jsonl"), strict=True):
        candidate, made = source.draw(seed, line["candidate"]), Solution.model_validate(solution)
        assert candidate is not None
        subject = judge.subject(candidate.model_copy(update={"interaction": interaction}))
        grade = grade_subject(subject, made.calls, made.answer)
        found.append({**line, "task": made.task, "score": grade.score, "finding": grade.finding})
    assert found == recorded
