"""`toolscale solve`, `quarantine` and `decide`: a solver that is scripted here tries tasks over real HTTP."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, chat_server, said
from scripted_judge import ScriptedJudge
from scripted_model import use
from scripted_solver import Known, Solver, in_openai_form, known_of, tasks_of
from served_recording import served

from toolscale.cli import main
from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.registry import find_folder
from toolscale.pipeline import synthesize
from toolscale.pipeline.remaking import open_made
from toolscale.records import Task


@pytest.fixture(scope="module")
def tasks(few_tasks: Path) -> list[Task]:
    return tasks_of(few_tasks)


@pytest.fixture(scope="module")
def known(few_tasks: Path, tasks: list[Task]) -> Known:
    return known_of(few_tasks, tasks)


@pytest.fixture
def solver(known: Known) -> Solver:
    return Solver(dict(known))


@pytest.fixture
def server(solver: Solver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    monkeypatch.chdir(tmp_path)
    with chat_server(reply=solver) as running:
        use(monkeypatch, running.base_url)
        yield running


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))


def solved(dataset: Path) -> dict[str, tuple[int, int]]:
    rows = read_dataset(dataset).rows.tasks
    return {row["request"]: (row["solved"]["right"], row["solved"]["tries"]) for row in rows if row["solved"]}


def test_rates_stand_in_the_rows_and_a_second_run_asks_nothing(
    server: ChatServer, solver: Solver, dataset: Path, tasks: list[Task], capsys: pytest.CaptureFixture[str]
) -> None:
    solver.moody = {tasks[1].request}
    assert main(["solve", str(dataset), "--samples", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tried"], told["outcomes"], told["failed"]) == (6, {"always": 5, "sometimes": 1}, 0)
    assert solved(dataset) == {task.request: (1 if task is tasks[1] else 2, 2) for task in tasks}
    assert told["costs"][0]["stage"] == "solve"
    assert told["costs"][0]["paid_usd"] == pytest.approx(len(server.asked) * 0.002)
    assert verify_dataset(dataset).findings == ()

    asked, manifest = len(server.asked), (dataset / "manifest.json").read_bytes()
    assert main(["solve", str(dataset), "--samples", "2"]) == 0
    assert (len(server.asked), (dataset / "manifest.json").read_bytes()) == (asked, manifest)


def test_dollars_of_a_model_without_a_price_are_unknown_and_not_0(
    server: ChatServer, dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TOOLSCALE_MODEL_PRICE")
    assert main(["solve", str(dataset), "--samples", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(line["paid_usd"], line["worth_usd"]) for line in told["costs"]] == [(None, None)]
    attempts = [json.loads(line) for line in (dataset / "given" / "mock" / "attempts.jsonl").read_text().splitlines()]
    assert [attempt["usd"] for attempt in attempts] == [None] * 6
    assert "6 attempts in all, at a price that is not known." in (dataset / "README.md").read_text()
    assert verify_dataset(dataset).findings == ()

    # Of replies that were kept without a price nobody knows later on either what they were worth.
    monkeypatch.setenv("TOOLSCALE_MODEL_PRICE", "1/10")
    assert main(["solve", str(dataset), "--samples", "2", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["costs"]
    assert (line["paid_usd"], line["worth_usd"]) == (pytest.approx((line["replies"] - line["kept"]) * 0.002), None)


def as_real_models_write(answer: Answer) -> Answer:
    """The same answer thought aloud, without counts, without ids of calls, and with arguments as objects."""
    body = json.loads(answer.body)
    message = body["choices"][0]["message"]
    message["content"] = f"<think>I cannot do that. Or can I?</think>\n{message['content'] or ''}"
    for call in message.get("tool_calls", ()):
        del call["id"]
        call["function"]["arguments"] = json.loads(call["function"]["arguments"]) or None
    del body["usage"]
    return Answer(json.dumps(body).encode())


def test_what_real_models_write_is_read_and_the_rest_is_nobody_elses_loss(
    dataset: Path,
    solver: Solver,
    tasks: list[Task],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """One task is answered with a page of HTML each time, and one at first with nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("toolscale.models.transport.FIRST_WAIT", 0.001)
    page, nothing = tasks[0].request, tasks[1].request

    def reply(body: dict[str, Any]) -> Answer:
        request, last = body["messages"][1]["content"], body["messages"][-1]
        if request == page:
            return Answer(b"<html>busy</html>")
        if request == nothing and len(body["messages"]) == 2:
            return said("<think>Hm.</think>")
        told = last["role"] == "user" and "could not be read" in last["content"]
        return as_real_models_write(solver({**body, "messages": body["messages"][:2]} if told else body))

    with chat_server(reply=reply) as server:
        use(monkeypatch, server.base_url)
        assert main(["solve", str(dataset), "--tasks", "6", "--samples", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tried"], told["outcomes"]) == (5, {"always": 5})
    assert (told["failed"], told["malformed"]) == (1, 1)


def test_a_run_that_fails_says_what_it_cost_in_json_too(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = itertools.count()
    refused = Answer(b'{"error": {"message": "no such key"}}', 401)
    with chat_server(reply=lambda _: Answer(b"{}") if not next(asked) else refused) as server:
        use(monkeypatch, server.base_url)
        assert main(["solve", str(dataset), "--tasks", "1", "--samples", "1", "--json"]) == 2
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert "no such key" in told["error"] and "no such key" in err
    assert [(line["failures"], line["paid_usd"] > 0.04) for line in told["costs"]] == [(1, True)]


@pytest.mark.slow("tests/test_solving.py")
def test_a_recording_solves_again_byte_for_byte(
    server: ChatServer, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = Path(shutil.copytree(dataset, tmp_path / "again" / "mock"))
    assert main(["solve", str(dataset), "--samples", "2", "--record", "run.jsonl.gz"]) == 0
    with served(tmp_path / "run.jsonl.gz") as address:
        use(monkeypatch, address)
        assert main(["solve", str(again), "--samples", "2", "--replies", "other.sqlite"]) == 0
    assert (again / "manifest.json").read_bytes() == (dataset / "manifest.json").read_bytes()


@pytest.mark.slow("tests/test_solving.py")
def test_a_task_that_nobody_solves_goes(
    server: ChatServer, solver: Solver, dataset: Path, tasks: list[Task], capsys: pytest.CaptureFixture[str]
) -> None:
    solver.lost = {tasks[2].request}
    assert main(["solve", str(dataset), "--samples", "2"]) == 0
    assert "never solved, rejected" in capsys.readouterr().out
    rows = {row["request"]: row["failed"] for row in read_dataset(dataset).rows.rejects}
    assert [gate["gate"] for gate in rows[tasks[2].request]] == ["solvable"]
    assert verify_dataset(dataset).findings == ()


@pytest.fixture
def disputed(server: ChatServer, solver: Solver, tmp_path: Path) -> Path:
    """A dataset of a domain that lies elsewhere, of whose tasks one is in quarantine: there the solver does the deed of
    another."""
    desk = Path(shutil.copytree(find_folder("mock"), tmp_path / "desk"))
    dataset = tmp_path / "dataset"
    synthesize(desk, dataset, tasks=4, seed=1, turns="single", answer="message")
    tasks = tasks_of(dataset)
    solver.tasks = known_of(dataset, tasks)
    first, other = [task for task in tasks if task.row_changes][:2]
    assert first.row_changes != other.row_changes
    solver.tasks[first.request] = (in_openai_form(other), solver.tasks[first.request][1])
    assert main(["solve", str(dataset), "--samples", "2"]) == 0
    return dataset


@pytest.mark.slow("tests/test_solving.py")
def test_a_person_reads_what_is_in_quarantine_and_decides(disputed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["quarantine", str(disputed), "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)
    assert case["finding"].startswith("quarantined: 2 of 2 attempts agree on another end state")
    assert case["golden"] != case["agreed"]
    assert main(["decide", str(disputed), str(case["number"]), "--take", "accept", "--reason", "Misread."]) == 0
    kept = disputed / "environments" / "desk" / "decisions.jsonl"
    assert capsys.readouterr().out.startswith(f"kept in {kept}; {disputed} is made again: ")
    assert solved(disputed)[case["request"]] == (0, 2)
    assert main(["quarantine", str(disputed)]) == 0
    assert "0 tasks wait for a decision" in capsys.readouterr().out
    assert verify_dataset(disputed).findings == ()


def test_decisions_about_a_domain_that_authors_edit_are_kept_where_they_edit_it(mock_dataset: Path) -> None:
    assert open_made(mock_dataset).home == find_folder("mock")


def test_a_decision_about_another_task_is_refused_in_one_line(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decide", str(dataset), "3", "--take", "reject", "--reason", "no"]) == 2
    assert capsys.readouterr().err == (
        f"toolscale: candidate 3 of {dataset} does not wait for a decision; these do: none\n"
    )


def test_a_cap_on_dollars_stops_and_keeps_what_was_paid_for(
    server: ChatServer, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(dataset), "--samples", "2", "--max-cost", "0.05"]) == 1
    paid = len(server.asked) * 0.002
    assert "run it again with a higher MAX_COST" in capsys.readouterr().out and paid <= 0.05
    assert main(["solve", str(dataset), "--samples", "2"]) == 0
    assert len(solved(dataset)) == 6


def test_without_a_model_it_says_so_in_one_line(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TOOLSCALE_MODEL", raising=False)
    assert main(["solve", str(dataset)]) == 2
    assert capsys.readouterr().err.startswith("toolscale: no model is named: set TOOLSCALE_MODEL")


def judged_by(server: ChatServer) -> tuple[str, ...]:
    return ("--judge-endpoint", server.base_url, "--judge-model", "judge-1")


@pytest.fixture
def hedging(solver: Solver, tasks: list[Task]) -> Solver:
    """A solver that does all that is right, and says it so that rules cannot tell."""
    for task in tasks:
        calls, answer = solver.tasks[task.request]
        solver.tasks[task.request] = (calls, f"I guess it may be so: {answer}")
    return solver


def undecided(dataset: Path) -> int:
    return sum(row["solved"]["undecided"] for row in read_dataset(dataset).rows.tasks if row["solved"])


def readings_of(dataset: Path) -> list[dict[str, object]]:
    file = dataset / "given" / "mock" / "readings.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_judge_reads_what_rules_cannot_grade_and_its_verdicts_lie_in_the_dataset(
    server: ChatServer, hedging: Solver, dataset: Path, tasks: list[Task], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(dataset), "--samples", "1"]) == 0
    left = undecided(dataset)
    assert left >= 3 and readings_of(dataset) == [] and "no judge has read the message" in capsys.readouterr().out

    with chat_server(reply=ScriptedJudge()) as judge:
        asked = len(server.asked)
        assert main(["solve", str(dataset), "--samples", "1", *judged_by(judge)]) == 0
        assert f"the judge read {left} final messages" in capsys.readouterr().out
        assert (len(judge.asked), len(server.asked), undecided(dataset)) == (left, asked, 0)
        lines, manifest = readings_of(dataset), (dataset / "manifest.json").read_bytes()
        assert {(line["model"], line["verdict"]) for line in lines} == {("judge-1", "right")} and len(lines) == left
        assert main(["solve", str(dataset), "--samples", "1", *judged_by(judge)]) == 0
        assert (len(judge.asked), (dataset / "manifest.json").read_bytes()) == (left, manifest)
    assert verify_dataset(dataset).findings == ()
    assert "judge-1) read" in (dataset / "README.md").read_text()


@pytest.mark.slow("tests/test_solving.py")
def test_a_task_whose_messages_a_judge_calls_wrong_goes(
    server: ChatServer, hedging: Solver, dataset: Path, tasks: list[Task]
) -> None:
    said = hedging.tasks[tasks[1].request][1]
    with chat_server(reply=ScriptedJudge(wrong={said})) as judge:
        assert main(["solve", str(dataset), "--samples", "2", *judged_by(judge)]) == 0
    (reject,) = [row for row in read_dataset(dataset).rows.rejects if row["request"] == tasks[1].request]
    (gate,) = reject["failed"]
    assert gate["gate"] == "solvable" and "by the judge judge-1: It is wrong." in gate["finding"]
    assert verify_dataset(dataset).findings == ()


def test_a_judge_without_verdicts_is_counted_and_leaves_no_line(
    server: ChatServer, hedging: Solver, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(reply=ScriptedJudge(altered={"message": "another"})) as judge:
        assert main(["solve", str(dataset), "--tasks", "3", "--samples", "1", "--json", *judged_by(judge)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["read"], told["unread"]) == (0, undecided(dataset)) and told["unread"] > 0
    assert readings_of(dataset) == [] and verify_dataset(dataset).findings == ()


def test_a_judge_that_cannot_be_asked_is_told_before_a_model_is_paid(
    server: ChatServer, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(dataset), "--judge-endpoint", "nowhere", "--judge-model", "judge-1"]) == 2
    assert "'nowhere', the address of the judge, is not an address" in capsys.readouterr().err
    assert server.asked == []
