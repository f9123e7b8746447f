"""Whatever a server does to its replies, a verb with a cap spends no more than it, by what the server itself counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import Answer, chat_server, said

from toolscale.cli import main

INPUT, OUTPUT = 1.0, 10.0
"""Dollars for a million tokens."""
CAP = 0.1

ROOT = Path(__file__).parents[2]

FAULTS: dict[str, Callable[[str], Answer]] = {
    "no usage": said,
    "usage of zeros": lambda text: said(text, usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "half a usage": lambda text: said(text, usage={"prompt_tokens": 2_000}),
    "nothing": lambda text: said(None),
    "junk": lambda text: Answer(b"<html>busy</html>"),
    "silence": lambda text: Answer(held=True),
    "half a reply": lambda text: Answer(said(text).body, cut=True),
}
VERBS = {
    "preferences": ("preferences", "--out", "words.jsonl", "--count", "60"),
    "describe": ("describe", str(ROOT / "experts" / "paper.yaml"), "--out", "experts.yaml", "--tasks", "2"),
}


def billed(asked: list[dict[str, Any]]) -> float:
    """What the server charges: every token that a request may have, though it never says so."""
    read = sum(len(json.dumps(body["messages"])) // 3 for body in asked)
    return (read * INPUT + sum(body["max_tokens"] for body in asked) * OUTPUT) / 1e6


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSCALE_MODEL_PRICE", f"{INPUT}/{OUTPUT}")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_cap_is_not_passed(verb: str, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(reply=lambda body: FAULTS[fault]("I care for a right answer.")) as server:
        model = ("--endpoint", server.base_url, "--model", "m", "--answer-deadline", "0.6")
        status = main([*VERBS[verb], *model, "--max-cost", str(CAP), "--json"])
        asked = list(server.asked)
    told = json.loads(capsys.readouterr().out)
    paid = sum(line["paid_usd"] for line in told["costs"][:2])
    assert status in (0, 1, 2) and 0 < billed(asked) <= paid + 1e-9 <= CAP + 1e-9


@pytest.mark.parametrize("fault", FAULTS)
def test_experts_that_are_asked_are_paid_from_the_same_cap(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue = yaml.safe_load((ROOT / "experts" / "paper.yaml").read_text())
    (expert, *_) = catalogue["experts"]
    with chat_server(reply=lambda body: FAULTS[fault]("42")) as server:
        expert |= {"price": {"input": INPUT, "output": OUTPUT}}
        expert["endpoint"] = {"base_url": server.base_url, "model": "one", "timeout_s": 0.3, "deadline_s": 0.6}
        Path("experts.yaml").write_text(yaml.safe_dump({**catalogue, "experts": [expert]}))
        model = ("--endpoint", server.base_url, "--model", "m", "--answer-deadline", "0.6", "--max-cost", "0.4")
        assert main(["describe", "experts.yaml", "--tasks", "6", *model, "--json"]) in (1, 2)
        asked = list(server.asked)
    costs = json.loads(capsys.readouterr().out)["costs"]
    assert costs[0]["stage"] == f"expert {expert['name']}"
    assert 0 < billed(asked) <= costs[-1]["paid_usd"] + 1e-9 <= 0.4 + 1e-9
