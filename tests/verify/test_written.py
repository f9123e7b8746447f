"""Requests that a model wrote for finance, recorded, are accepted and refused as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from courts import Court

from toolscale.records import WordsLine
from toolscale.tasks.words import skeleton_of, worded

WRITTEN = Path(__file__).parents[1] / "answers" / "written"
SEED = 60


@pytest.mark.slow("tests/verify/test_wording.py")
def test_words_of_a_model_are_judged_as_they_were(bank: Court) -> None:
    source, judge = bank
    recorded = [json.loads(line) for line in (WRITTEN / "requests.jsonl").read_text(encoding="utf-8").splitlines()]
    found = []
    for line in recorded:
        candidate = source.draw(SEED, line["candidate"])
        assert candidate is not None
        skeleton = skeleton_of(line["request"], judge.plan_of(candidate), judge.environment, judge.inputs(candidate))
        words = WordsLine(candidate="0" * 64, request=line["request"], style=line["style"], model="writer")
        failed = judge.judge(worded(candidate, words, skeleton)).verdict.failed
        found.append(line | {"failed": [gate.gate for gate in failed]})
    assert found == recorded
