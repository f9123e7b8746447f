"""`toolscale draft --candidates`: of several first replies, the one that covers most is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, chat_server, said
from scripted_model import PRICE, TEXTS, block, reply, use

from toolscale.cli import main
from toolscale.draft.candidates import calls_of, rank
from toolscale.environment.environment import load_environment
from toolscale.records import DraftCandidate

SOUND = yaml.safe_load(TEXTS["intents.yaml"])["intents"]


def score(
    sample: int, coverage: float, findings: int, sequences: int, words: int, *, kept: bool = False
) -> DraftCandidate:
    return DraftCandidate(
        part=1, sample=sample, coverage=coverage, findings=findings, sequences=sequences, words=words, kept=kept
    )


SCORES = {
    "tools": [score(0, 0.6667, 0, 1, 9), score(1, 0.7778, 1, 2, 10, kept=True)],
    "intents": [score(0, 0.375, 0, 1, 36), score(1, 1.0, 2, 3, 57, kept=True)],
}


def model(body: dict[str, Any]) -> Answer:
    """Its first tools only postpone, its first intents are two; asked again, it writes all, with a fault."""
    prompt = str(body["messages"][-1]["content"])
    if "Write `toolset.yaml`" in prompt and "seed" not in body:
        tools = [each for each in yaml.safe_load(TEXTS["toolset.yaml"])["tools"] if each["name"] == "postpone_loan"]
        acts = {"postpone_loan": yaml.safe_load(TEXTS["language.yaml"])["acts"]["postpone_loan"]}
        return said(block("toolset.yaml", {"tools": tools}) + block("language.yaml", {"acts": acts}), usage=PRICE)
    if "Write in `intents.yaml`" in prompt and "seed" not in body:
        return said(block("intents.yaml", {"intents": SOUND[:2]}), usage=PRICE)
    return reply(body)


@pytest.mark.slow("tests/draft/test_proposals.py")
def test_of_several_first_replies_the_one_that_covers_most_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["draft", "Library!", "--intents", "6", "--rounds", "3", "--no-phrase", "--candidates", "2", "--in"]
    with chat_server(reply=model) as server:
        use(monkeypatch, server.base_url)
        assert main([*arguments, "a", "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert main([*arguments, "b"]) == 0
        out = capsys.readouterr().out
    steps = {step["name"]: step for step in made["steps"]}
    assert {name: step["candidates"] for name, step in steps.items() if step["candidates"]} == {
        name: [each.model_dump(mode="json") for each in scores] for name, scores in SCORES.items()
    }
    assert (steps["tools"]["findings"], steps["intents"]["dropped"]) == ([1, 0], ["complain"])
    assert made["costs"][-1]["paid_usd"] == pytest.approx(13 * 0.006)
    drafted = load_environment(tmp_path / "a" / "library").spec.world.drafted
    assert drafted is not None and drafted.candidates == {name: tuple(scores) for name, scores in SCORES.items()}
    assert drafted.total.replies == len(server.asked) == 13
    assert "  candidate 2: covers 78 %, 1 findings, 2 new sequences of calls, 10 new words; kept\n" in out


def test_candidates_are_compared_by_coverage_then_findings_then_novelty_then_their_order() -> None:
    ordered = [
        score(0, 0.9, 5, 1, 10), score(1, 0.8, 0, 9, 99), score(2, 0.8, 1, 4, 50), score(3, 0.8, 1, 3, 60),
        score(4, 0.8, 1, 3, 60),
    ]  # fmt: skip
    mixed = [ordered[number] for number in (3, 0, 4, 2, 1)]
    assert sorted(mixed, key=rank, reverse=True) == ordered


def test_calls_are_read_from_any_plan_and_from_what_is_none() -> None:
    plan = [
        {"each": "loan", "do": [{"closed": {"close_loan": {}}}]},
        {"if": "x", "then": [{"paid": {"pay": {}}}], "else": [{"find": "loan"}]},
        "no step",
    ]
    assert [*calls_of(plan), *calls_of("none")] == ["close_loan", "pay"]
