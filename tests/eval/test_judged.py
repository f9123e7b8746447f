"""Final messages that rules cannot grade, in an evaluation: a judge reads them, and none goes without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, chat_server
from scripted_judge import ScriptedJudge
from scripted_solver import Solver, known_of, tasks_of

from eval.cli import main
from eval.records import Line, Settings
from eval.regrading import regrade_folder
from eval.running import Wanted, run_benchmark
from eval.storage import read_results
from toolscale.models.judging import JudgeSettings

Evaluated = Callable[..., list[Line]]
"""(judge, how long its answer may take) -> the lines of the run."""


@pytest.fixture
def evaluated(mock_dataset: Path, tmp_path: Path) -> Evaluated:
    """Evaluate a solver that does all that is right, and says it so that rules cannot tell."""
    known = known_of(mock_dataset, tasks_of(mock_dataset))
    solver = Solver({request: (calls, f"I guess: {answer}") for request, (calls, answer) in known.items()})

    def solved(body: dict[str, Any]) -> Answer:
        """The wishes of the user stand beside the request."""
        system, user, *rest = body["messages"]
        request = next(request for request in known if request in user["content"])
        return solver({**body, "messages": [system, {**user, "content": request}, *rest]})

    def run(judge: ChatServer, deadline_s: float = 5) -> list[Line]:
        with chat_server(reply=solved) as server:
            wanted = Wanted(
                kind="familiar",
                settings=Settings(data=(str(mock_dataset),)),
                out=tmp_path,
                policies=(("hedging", "model"),),
                environ={"TOOLSCALE_MODEL": "m", "OPENAI_BASE_URL": server.base_url},
                judge=JudgeSettings(endpoint=judge.base_url, model="judge-1", deadline_s=deadline_s),
                replies=tmp_path / "replies.sqlite",
                tasks=4,
                baselines=False,
            )
            asyncio.run(run_benchmark(wanted))
        return read_results(tmp_path / "familiar" / "m")[1]

    return run


def test_a_judge_reads_what_rules_cannot_grade_and_regrading_needs_none(evaluated: Evaluated, tmp_path: Path) -> None:
    with chat_server(reply=ScriptedJudge()) as judge:
        lines = evaluated(judge)
        asked = len(judge.asked)
        assert evaluated(judge) == lines and len(judge.asked) == asked
    read = [line for line in lines if line.judge == "judge-1"]
    assert {(line.status, line.score) for line in lines} == {("scored", 1.0)} and len(read) >= 2
    assert read[0].finding == "by the judge judge-1: It is right."
    assert asyncio.run(regrade_folder(tmp_path / "familiar" / "m")).changed == ()
    assert read_results(tmp_path / "familiar" / "m")[1] == lines


def test_a_judge_without_a_verdict_is_an_error_that_is_tried_again_and_no_wrong_answer(evaluated: Evaluated) -> None:
    flawed = ScriptedJudge(altered={"message": "another"})
    with chat_server(reply=flawed) as judge:
        lost = [line for line in evaluated(judge) if line.status == "error"]
    assert lost and {line.score for line in lost} == {None}
    assert "undecided: the judge gave no verdict: judge messages: the model 'judge-1' wrote" in lost[0].finding


def test_a_judge_that_is_busy_is_an_error_at_first_and_a_verdict_later(evaluated: Evaluated) -> None:
    with chat_server(Answer(b"{}", status=429)) as judge:
        assert [line for line in evaluated(judge, 0.5) if line.status == "error"]
    with chat_server(reply=ScriptedJudge()) as judge:
        assert {(line.status, line.score) for line in evaluated(judge)} == {("scored", 1.0)}


def test_without_a_judge_messages_end_a_run_at_its_start(
    mock_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "familiar", "--data", str(mock_dataset), "--out", str(tmp_path), "--no-baselines"]
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("eval: --data: ") and "make them with --answer form, or name a judge" in line
    assert list(tmp_path.iterdir()) == []
