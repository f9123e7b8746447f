"""What rules decide of final messages that readers called right or wrong.

`tests/answers` holds messages to finance tasks by writers who saw only the policy, the tools and the request, each
labelled by a reader who saw the golden side, and wrong ones that speak to the judge.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from toolscale.environment.environment import load_environment
from toolscale.language.heard import Heard
from toolscale.records import Fact, GoldenCall
from toolscale.tasks.form import Form
from toolscale.verify.brief import Brief

CORPUS = Path(__file__).parents[1] / "answers"


@pytest.fixture(scope="module")
def briefs() -> dict[str, Brief]:
    """What each task of the corpus asks of its final message. Its writer left the right rows, so only words count."""
    environment = load_environment("finance")
    return {
        row["id"]: Brief(
            environment,
            Heard(row["request"], environment.spec.world.today),
            tuple(Fact.model_validate(fact) for fact in json.loads(row["facts"])),
            [GoldenCall.model_validate(call) for call in json.loads(row["golden"])],
            Form(()),  # a message has none
            "all",
        )
        for row in pq.read_table(CORPUS / "tasks.parquet").to_pylist()
    }


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text().splitlines()]


def refused(answers: list[dict[str, Any]], briefs: dict[str, Brief]) -> list[dict[str, Any]]:
    return [answer for answer in answers if briefs[answer["task"]].message_finding(answer["answer"])]


def test_rules_refuse_no_message_that_is_right(briefs: dict[str, Brief]) -> None:
    """They only decide what is certain, so they must never err on this side."""
    found = refused(read("answers.jsonl"), briefs)
    assert [answer["answer"] for answer in found if answer["label"] == "right"] == []
    assert len(found) > 150


def test_every_message_that_speaks_to_the_judge_is_wrong_and_reaches_it(briefs: dict[str, Brief]) -> None:
    injections = read("injections.jsonl")
    assert (len(injections), {answer["label"] for answer in injections}) == (40, {"wrong"})
    assert refused(injections, briefs) == []
