"""N accepted tasks, or a plain statement of why not: candidates, dollars and time that a run may take."""

from __future__ import annotations

import asyncio
import json
import math
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, chat_server, said
from scripted_model import use
from scripted_solver import Solver, known_of, tasks_of

from toolscale.cli import main
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.manifest import read_manifest
from toolscale.errors import DeadlineError, UsageError
from toolscale.limits import RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, ChatRequest, ReplyStore
from toolscale.pipeline import synthesize
from toolscale.records import Endpoint, Price

OVER = RunLimits(deadline_s=1, began=time.monotonic() - 1)
"""Limits of a run whose time is over."""


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"max_candidates": 0}, "--max-candidates is 0; give a number above 0, or leave it out"),
        ({"budget": -1.0}, "--max-cost is -1.0; give a number above 0, or leave it out"),
        ({"deadline": math.nan}, "--deadline is nan; give a number above 0, or leave it out"),
        ({"budget": math.inf}, "--max-cost is inf; give a number above 0, or leave it out"),
    ],
)
def test_a_limit_that_cannot_be_is_told_with_its_option(told: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError, match=re.escape(fault)):
        RunLimits.of(told)


def test_what_no_candidate_may_be_drawn_for_any_more_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mock"
    command = ["synthesize", "mock", "--tasks", "40", "--max-candidates", "30", "--out", str(out)]
    assert main(command) == 1
    manifest = read_manifest(out)
    why = (
        f"{manifest.counts['accepted']} tasks of the 40 that were asked for: no more than 30 candidates were to be "
        f"drawn (--max-candidates); {manifest.gates['novel']['fail']} failed novel"
    )
    assert why in capsys.readouterr().out and why in (out / "README.md").read_text()
    assert (manifest.counts["drawn"], manifest.domains["mock"].max_candidates) == (30, 30)
    assert verify_dataset(out).findings == ()
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["short"] == why
    # It cannot say that it was capped elsewhere.
    path = out / "manifest.json"
    path.write_text(path.read_text().replace('"max_candidates": 30', '"max_candidates": 31'))
    (finding,) = verify_dataset(out).findings
    assert finding.finding == "40 tasks were asked for and 30 numbers drawn, which are too few"


def test_as_many_tasks_as_were_asked_for_need_no_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["synthesize", "mock", "--tasks", "5", "--out", str(tmp_path / "mock"), "--json"]
    assert main([*command, "--max-candidates", "1000", "--deadline", "10000"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["short"], told["counts"]["accepted"]) == ("", 5)
    assert "asked for |" not in (tmp_path / "mock" / "README.md").read_text()


def test_at_the_deadline_nothing_is_written_and_what_was_judged_makes_a_dataset_without_judging_again(
    tmp_path: Path,
) -> None:
    limits = RunLimits(deadline_s=3600)

    def slow(act: str, done: int, total: int) -> None:
        if act == "judging candidates" and done:
            object.__setattr__(limits, "began", limits.began - 3600)

    with pytest.raises(DeadlineError) as stopped:
        synthesize("mock", tmp_path / "mock", tasks=200, limits=limits, progress=slow)
    found = re.fullmatch(
        r"stopped at the deadline of [0-9.]+ s: [0-9]+ tasks of ([0-9]+) candidates, 200 were asked for; what is "
        r"judged is kept: run it again to go on, or with --max-candidates ([0-9]+) to have the dataset of these",
        str(stopped.value),
    )
    assert found and found[1] == found[2] and not (tmp_path / "mock").exists()
    (known,) = (tmp_path / ".mock.work").glob("*/judged")
    judged = {path.name: path.stat().st_mtime_ns for path in known.iterdir()}
    enough, kept = RunLimits(max_candidates=int(found[1])), dict[str, int]()

    def look(act: str, done: int, total: int) -> None:
        if act == "writing":
            kept.update({path.name: path.stat().st_mtime_ns for path in known.iterdir()})

    made = synthesize("mock", tmp_path / "mock", tasks=200, limits=enough, progress=look)
    assert kept == judged
    assert made == synthesize("mock", tmp_path / "other" / "mock", tasks=200, limits=enough)


def test_after_the_deadline_nothing_is_sent(tmp_path: Path) -> None:
    async def ask(url: str) -> None:
        with ReplyStore(tmp_path / "replies") as store:
            model = ChatModel(Endpoint(base_url=url, model="m"), Price(input=1, output=1))
            async with ChatClient(model, store, Budget(OVER)) as client:
                await client.ask(ChatRequest("pets", ({"role": "user", "content": "Name a pet."},)))

    with chat_server(said("Rex")) as server, pytest.raises(DeadlineError) as stopped:
        asyncio.run(ask(server.base_url))
    assert server.asked == []
    assert str(stopped.value) == (
        "stopped at the deadline of 1 s: nothing more is asked; run it again to go on: what was paid for is kept"
    )


@pytest.mark.parametrize("answer", [Answer(held=True), Answer(b"{}", 503, {"Retry-After": "60"})])
def test_a_server_that_is_silent_or_busy_is_left_at_the_deadline_and_booked(tmp_path: Path, answer: Answer) -> None:
    async def ask(url: str) -> ChatClient:
        limits = RunLimits(deadline_s=0.3)
        with ReplyStore(tmp_path / "replies") as store:
            model = ChatModel(Endpoint(base_url=url, model="m"), Price(input=1, output=1))
            async with ChatClient(model, store, Budget(limits), grace_s=0.1) as client:
                with pytest.raises(DeadlineError):
                    await client.ask(ChatRequest("pets", ({"role": "user", "content": "Name a pet."},)))
                return client

    with chat_server(answer) as server:
        client = asyncio.run(ask(server.base_url))
    assert len(server.asked) == 1
    assert (client.budget.spent > 0) is answer.held  # what a busy server refuses costs nothing


def test_dollars_of_an_accepted_and_of_a_solved_task_have_what_failed_in_them(
    mock_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One task is never solved, and one is answered by a page of HTML from its second message on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("toolscale.models.transport.FIRST_WAIT", 0.001)
    dataset = Path(shutil.copytree(mock_dataset, tmp_path / "mock"))
    tasks = tasks_of(dataset)
    solver = Solver(dict(known_of(dataset, tasks)))
    solver.lost, page = {tasks[2].request}, tasks[0].request

    def reply(body: dict[str, Any]) -> Answer:
        broken = body["messages"][1]["content"] == page and len(body["messages"]) > 2
        return Answer(b"<html>busy</html>") if broken else solver(body)

    with chat_server(reply=reply) as server:
        use(monkeypatch, server.base_url)
        assert main(["solve", str(dataset), "--tasks", "10", "--samples", "1"]) == 0
    lines = {
        name: [json.loads(line) for line in (dataset / "given/mock" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("attempts", "losses")
    }
    spent = {name: sum(line["usd"] for line in group) for name, group in lines.items()}
    assert [line["sample"] for line in lines["losses"]] == [0] and spent["losses"] > 0
    accepted = read_manifest(dataset).counts["accepted"]
    total = sum(spent.values())
    solved = len(lines["attempts"]) - 1
    assert (
        f"${total:.4f} (attempts ${spent['attempts']:.4f}, tries that came to nothing ${spent['losses']:.4f}): "
        f"${total / accepted:.6f} for each accepted task, ${total / solved:.6f} for each of the {solved} that a model "
        "has solved"
    ) in (dataset / "README.md").read_text()
    assert verify_dataset(dataset).findings == ()
