"""The page of evaluations: what checkpoints got right, what the gate said, the trend, and reports in a sandbox."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scheduled_runs import HOSTILE
from test_pages import pages
from toolscale_ui.data_folder import DataFolder
from toolscale_ui.evaluations import PAGE_EVALUATIONS, Evaluations, Gate, Right

from toolscale.pipeline.evaluating import accept_checkpoint


def policy(share: float, cost: float | None = 0.01) -> dict[str, Any]:
    accuracy = {"value": share, "low": max(share - 0.1, 0), "high": min(share + 0.1, 1), "tasks": 40}
    return {"tasks": 40, "accuracy": accuracy, "cost": None if cost is None else {"value": cost}}


def write_evaluation(
    data: Path, name: str, finished: str = "", verdict: str | None = None, **benchmarks: dict[str, Any]
) -> None:
    folder = data / "evaluations" / name
    for benchmark, figures in benchmarks.items():
        (folder / benchmark).mkdir(parents=True)
        (folder / benchmark / "done.json").write_text(json.dumps(figures))
        (folder / benchmark / "report.html").write_text(f"<title>{name} on {benchmark}</title>")
    if finished:
        verdicts = {} if verdict is None else dict.fromkeys(benchmarks, verdict)
        word = {"finished": finished, "checkpoint": f"/t/{name}/model", "passed": verdict != "worse"}
        (folder / "gate.json").write_text(json.dumps({**word, "verdicts": verdicts}))


@pytest.fixture
def evaluated(data: Path) -> Path:
    """Two finished evaluations, the second refused, and one that the gate has not seen."""
    golden = policy(1.0, None)
    write_evaluation(data, "monday", "2026-11-16T05:00:00+00:00", heldout={"trained": policy(0.5), "golden": golden})
    write_evaluation(
        data,
        "tuesday",
        "2026-11-17T05:00:00+00:00",
        "worse",
        heldout={"trained": policy(0.25), "accepted": policy(0.5)},
    )
    write_evaluation(data, "wednesday", heldout={"trained": policy(0.75)})
    return data


def open_evaluations(data: Path) -> Evaluations:
    return Evaluations(DataFolder(str(data), listing_seconds=0))


def test_evaluations_are_listed_newest_first_with_the_trend_of_those_that_the_gate_has_seen(evaluated: Path) -> None:
    page = open_evaluations(evaluated).page(1)
    wednesday, tuesday, monday = page.evaluations
    assert (wednesday.name, wednesday.gate, tuesday.gate and tuesday.gate.passed) == ("wednesday", None, False)
    assert monday.gate == Gate("2026-11-16T05:00:00+00:00", "/t/monday/model", True, {})
    (benchmark,) = monday.benchmarks
    assert benchmark.policies == {"trained": Right(0.5, 0.4, 0.6, 40, 0.01), "golden": Right(1.0, 0.9, 1.0, 40, None)}
    (trend,) = page.trends
    assert trend.words == (
        "Right answers on heldout over 2 evaluations, the oldest first: from 50.0 % to 25.0 %; "
        "1 marked as worse than the one accepted before"
    )
    assert [refused for *_, refused in trend.dots] == [True]


def test_the_page_shows_figures_the_word_of_the_gate_and_reports(evaluated: Path) -> None:
    text = pages(evaluated).get("/evaluations").text
    told = ("3 evaluations", "✓ accepted", "✗ refused", "no word of the gate yet", "50.0 %", "40.0 to 60.0", "0.0100")
    assert [words for words in told if words not in text] == []
    assert "report?evaluation=tuesday&amp;benchmark=heldout" in text


def test_without_evaluations_the_page_says_where_they_come_from(data: Path) -> None:
    text = pages(data).get("/evaluations").text
    assert "No evaluation yet" in text and "evaluate_orchestrator" in text


def test_a_report_is_shown_in_a_sandbox_and_nothing_else_is(evaluated: Path) -> None:
    client = pages(evaluated)
    answer = client.get("/report?evaluation=monday&benchmark=heldout")
    assert (answer.status_code, answer.text) == (200, "<title>monday on heldout</title>")
    policy_of = answer.headers["content-security-policy"]
    assert policy_of.endswith("; sandbox") and "script-src" not in policy_of
    for place in ("evaluation=../runs&benchmark=heldout", "evaluation=monday&benchmark=../heldout", ""):
        assert client.get(f"/report?{place}").status_code == 404


@pytest.mark.parametrize(
    "content", ["", "[", "[]", '{"trained": 1}', '{"trained": {"tasks": 1, "accuracy": {"value": 7}}}', "[" * 100_000]
)
def test_figures_that_cannot_be_read_are_named_and_the_rest_is_shown(content: str, evaluated: Path) -> None:
    (evaluated / "evaluations/tuesday/heldout/done.json").write_text(content)
    (evaluated / "evaluations/monday/gate.json").write_text(content)
    text = pages(evaluated).get("/evaluations").text
    assert "evaluations/tuesday/heldout/done.json: not the figures of a benchmark" in text
    gate = next(each for each in open_evaluations(evaluated).page(1).evaluations if each.name == "monday")
    assert (gate.gate, gate.problem) == (None, "evaluations/monday/gate.json: not the word of a gate")
    assert re.sub("<wbr>", "", text).count(gate.problem) == 1
    assert "3 evaluations" in text and "75.0 %" in text


def test_hostile_names_are_shown_and_do_nothing(data: Path) -> None:
    name = HOSTILE.replace("/", "|")
    write_evaluation(data, name, HOSTILE, **{name: {HOSTILE: policy(0.5), "trained": policy(0.5)}})
    text = pages(data).get("/evaluations").text
    assert "<script>alert" not in text and "<img" not in text and "{{ 7*7 }}" in text


def test_many_evaluations_have_pages(data: Path) -> None:
    for number in range(PAGE_EVALUATIONS + 1):
        write_evaluation(data, f"e{number:02}", f"2026-11-16T05:00:{number:02}+00:00", heldout={"trained": policy(0.5)})
    client = pages(data)
    assert "Page 1 of 2" in client.get("/evaluations").text
    assert "e00" in client.get("/evaluations?page=2").text
    assert [each.name for each in open_evaluations(data).page(2).evaluations] == ["e00"]


def test_what_the_pipeline_writes_is_what_the_page_reads(tmp_path: Path) -> None:
    write_evaluation(tmp_path, "night", heldout={"trained": policy(0.5)})
    out = tmp_path / "evaluations" / "night" / "heldout"
    plan = {"benchmark": "heldout", "out": str(out), "checkpoint": "/t/model", "accepted": None, "report": "r"}
    accept_checkpoint(str(tmp_path), [plan], tmp_path)
    (evaluation,) = open_evaluations(tmp_path).page(1).evaluations
    assert evaluation.gate is not None
    assert (evaluation.gate.checkpoint, evaluation.gate.passed) == ("/t/model", True)
