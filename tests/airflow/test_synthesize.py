"""The nightly DAG through the real scheduler: the bytes of `make dataset`, rejects that are no failures, a gate that
is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from homes import ROOT, AirflowHome, LiveAirflow

from tests.test_prune import made
from toolscale.dataset.places import files_in
from toolscale.dataset.runs import run_name
from toolscale.environment.registry import discover

DAG = "synthesize_dataset"


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files_in(folder)}


def products(airflow: AirflowHome, run_id: str) -> Path:
    return Path(airflow.data) / "runs" / run_name(run_id)


@pytest.fixture(scope="module")
def ready_home(airflow_home: AirflowHome) -> AirflowHome:
    """A home with a metadata database and pools, for commands."""
    subprocess.run([ROOT / "scripts" / "airflow-setup"], env=airflow_home.environ, check=True)
    return airflow_home


@pytest.mark.slow("tests/airflow/test_synthesize.py")
def test_airflow_dags_test_makes_the_dataset_of_make_dataset(ready_home: AirflowHome, mock_dataset: Path) -> None:
    conf = json.dumps({"domains": ["mock"], "tasks": 10, "turns": "single", "answer": "message", "publish": "never"})
    done = subprocess.run(
        ["airflow", "dags", "test", DAG, "--conf", conf], env=ready_home.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    (run,) = (Path(ready_home.data) / "runs").iterdir()
    assert contents(run / "dataset") == contents(mock_dataset)


@pytest.mark.slow("tests/airflow/test_synthesize.py")
@pytest.mark.parametrize(("keep", "stays"), [("1", False), ("all", True)])
def test_old_runs_go_when_told_and_a_number_that_is_none_fails_no_run(
    ready_home: AirflowHome, tmp_path: Path, keep: str, stays: bool
) -> None:
    home = ready_home.with_settings(TOOLSCALE_KEEP=keep, TOOLSCALE_DATA=str(tmp_path))
    old = made(tmp_path, 1)
    conf = json.dumps({"domains": ["mock"], "tasks": 4, "publish": "never"})
    done = subprocess.run(
        ["airflow", "dags", "test", DAG, "--conf", conf], env=home.environ, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    assert old.products.exists() == stays == ("TOOLSCALE_KEEP is 'all'; give the number of runs to keep" in said)
    assert (
        len([run for run in (tmp_path / "runs").iterdir() if (run / "dataset" / "manifest.json").exists()]) == 1 + stays
    )


@pytest.mark.slow("tests/airflow/test_synthesize.py")
def test_airflow_dags_test_of_a_domain_that_does_not_exist_fails(ready_home: AirflowHome) -> None:
    done = subprocess.run(
        ["airflow", "dags", "test", DAG, "--conf", '{"domains": ["mok"]}'],
        env=ready_home.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"Invalid input for param domains: 'mok' is not one of {sorted(discover())}" in done.stdout + done.stderr


@pytest.mark.slow("tests/airflow/test_publish.py")
def test_the_scheduler_makes_the_dataset_of_make_dataset_and_leaves_no_scratch(
    live_airflow: LiveAirflow, mock_dataset: Path
) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag(DAG)
    run_id = admin.trigger(
        DAG, {"domains": ["mock"], "tasks": 10, "turns": "single", "answer": "message", "publish": "never"}
    )
    admin.wait(DAG, run_id)

    states = {(task["task_id"], task["rendered_map_index"]): task["state"] for task in admin.tasks(DAG, run_id)}
    unchosen = tuple(f"domain_{domain}." for domain in discover() if domain != "mock")
    mine = {task: state for task, state in states.items() if not task[0].startswith(unchosen)}
    assert mine == {
        ("order", None): "success",
        ("choose", None): "success",
        ("domain_mock.build", None): "success",
        ("domain_mock.plan", None): "success",
        ("domain_mock.judge", "mock-000"): "success",
        ("domain_mock.plan_more", None): "success",
        ("domain_mock.top_up", "mock-001"): "success",
        ("domain_mock.assemble", None): "success",
        ("domain_mock.consult", None): "skipped",
        ("domain_mock.quality_gate", None): "success",
        ("collect", None): "success",
        ("close", None): "success",
        ("prune", None): "skipped",
    }
    others = [
        (task["state"], task["try_number"]) for task in admin.tasks(DAG, run_id) if task["task_id"].startswith(unchosen)
    ]
    assert set(others) == {("skipped", 0)}  # nobody started a process for them
    assert contents(products(live_airflow.home, run_id) / "dataset") == contents(mock_dataset)
    assert not (Path(live_airflow.home.data) / "scratch" / run_name(run_id)).exists()
    told = admin.xcom(DAG, run_id, "collect")
    assert (told["domains"], told["counts"]["accepted"], told["publish"]) == (["mock"], 10, "never")
    assert "mock: kill_rate = 1.0 (threshold" in admin.log(DAG, run_id, "domain_mock.quality_gate")


@pytest.mark.slow("tests/test_runs.py")
def test_a_gate_that_is_not_passed_is_red_at_once_is_reported_and_keeps_what_can_be_cleared(
    live_airflow: LiveAirflow, alerts: tuple[str, list[dict[str, Any]]]
) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag(DAG)
    run_id = admin.trigger(DAG, {"domains": ["mock"], "tasks": 60, "turns": "single", "publish": "auto"})  # it has 41
    admin.wait(DAG, run_id, "failed")

    tasks = {
        task["task_id"]: (task["state"], task["try_number"])
        for task in admin.tasks(DAG, run_id)
        if not task["task_id"].startswith("domain_finance.")
    }
    assert (tasks["domain_mock.quality_gate"], tasks["collect"], tasks["close"]) == (
        ("failed", 1),
        ("upstream_failed", 0),
        ("success", 1),
    )
    log = admin.log(DAG, run_id, "domain_mock.quality_gate")
    assert "QualityError" in log and "mock: found_share is 0.6833, at least" in log
    told = (
        "mock: found_share is 0.6833, at least 0.95 is wanted "
        "(of the tasks that were asked for, the share that was found)"
    )
    assert [post for post in alerts[1] if post["run_id"] == run_id] == [
        {
            "text": f"{DAG}.domain_mock.quality_gate failed in {run_id}: {told}",
            "dag_id": DAG,
            "run_id": run_id,
            "task_id": "domain_mock.quality_gate",
            "map_index": -1,
        }
    ]
    assert alerts[0] not in log
    quality = json.loads((products(live_airflow.home, run_id) / "mock" / "quality.json").read_text())
    assert (quality["passed"], quality["figures"]["found_share"]) == (False, 0.6833)
    rejects = {
        path.stem: pq.read_table(path).num_rows
        for path in (products(live_airflow.home, run_id) / "mock" / "rejects").iterdir()
    }
    assert rejects["novel"] > 0 and "mock-000" in rejects
    assert (Path(live_airflow.home.data) / "scratch" / run_name(run_id)).is_dir()


def test_what_the_form_must_not_send_is_refused(live_airflow: LiveAirflow) -> None:
    live_airflow.admin.wait_for_dag(DAG)
    answers = {
        str(conf): live_airflow.admin.answer_to(f"dags/{DAG}/dagRuns", {"logical_date": None, "conf": conf})
        for conf in (
            {"domains": ["mok"]},
            {"domains": []},
            {"tasks": 0},
            {"seed": -1},
            {"seed": 2**31},
            {"publish": "now"},
            {"evolved": 1.5},
        )
    }
    assert {conf: answer.status_code for conf, answer in answers.items()} == dict.fromkeys(answers, 400)
    assert "Invalid input for param tasks: 0 is less than the minimum of 1" in answers["{'tasks': 0}"].text
