"""A model that is asked about the dataset of a scheduled run: `consult_domain`, as the task `consult` calls it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chat_server import chat_server
from run_orders import judge_all, order
from scripted_model import use
from scripted_solver import Known, Solver, known_of, tasks_of

from toolscale.dataset.checking.recheck import verify_dataset
from toolscale.dataset.runs import run_at
from toolscale.errors import UsageError
from toolscale.models.chat import model_from
from toolscale.pipeline.consulting import consult_domain, is_consulted
from toolscale.pipeline.scheduled import assemble_domain, check_domain, collect_run, order_run


@pytest.fixture(scope="module")
def known(mock_dataset: Path) -> Known:
    return known_of(mock_dataset, tasks_of(mock_dataset))


def assembled(root: Path, **params: Any) -> str:
    run = order_run(str(root), order(params={"turns": "single", "answer": "message", **params}))
    judge_all(run)
    assemble_domain(run, "mock")
    return run


@pytest.mark.slow("tests/test_solving.py")
def test_a_run_asks_a_model_and_collects_what_it_solved(
    tmp_path: Path, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = assembled(tmp_path, attempts=2, budget=1)
    dataset = run_at(run).dataset("mock")
    lost = tasks_of(dataset)[0]
    with chat_server(reply=Solver(known, lost={lost.request})) as server:
        use(monkeypatch, server.base_url)
        told = consult_domain(run, "mock", lambda: model_from(os.environ))
        asked = len(server.asked)
    assert is_consulted(run)
    assert told["dataset"] == str(dataset)
    assert (told["solved"]["always"], told["solved"]["stopped"]) == (9, "") and told["solved"]["never"] >= 1
    assert told["usd"] == {"solve": pytest.approx(asked * 0.002)}
    assert told["usd_a_task"] == pytest.approx(asked * 0.002 / told["counts"]["accepted"], abs=1e-6)
    rejects = pq.read_table(run_at(run).rejects("mock", "mock-solvable")).to_pylist()
    assert lost.request in {row["request"] for row in rejects}
    assert {(row["task_id"], row["run_id"]) for row in rejects} == {("domain_mock.consult", order().run_id)}
    check_domain(run, "mock", {"found_share": 0.5})
    collect_run(run)
    assert verify_dataset(run_at(run).dataset()).findings == ()


def test_a_run_that_asks_for_no_attempts_needs_no_model(tmp_path: Path) -> None:
    assert not is_consulted(order_run(str(tmp_path), order(params={"attempts": 0})))
    assert not is_consulted(order_run(str(tmp_path / "older"), order()))


def test_without_a_model_it_says_so_in_one_line(tmp_path: Path) -> None:
    run = order_run(str(tmp_path), order(params={"attempts": 1}))
    with pytest.raises(UsageError, match="no model is named: set TOOLSCALE_MODEL"):
        consult_domain(run, "mock", lambda: model_from({}))
