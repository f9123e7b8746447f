"""Training through the real scheduler: the training outlives its worker, is found again, is stopped with its task, and
says what it gave."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from homes import ROOT, TRIAL_TRAINING, AirflowHome, LiveAirflow, make_home, standalone
from rest import GENEROUS, AirflowClient

pytestmark = pytest.mark.xdist_group("servers")

DAG = "train_orchestrator"


def held(folder: Path) -> Path:
    """A copy of the trial training whose config waits before step 3 until it is released."""
    folder.mkdir()
    for path in TRIAL_TRAINING.glob("*.py"):
        (folder / path.name).symlink_to(path)
    (folder / "configs").mkdir()
    (folder / "configs" / "tiny_cpu.yaml").write_text("steps: 4\nhold_at: 3\n")
    return folder


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveAirflow]:
    """An Airflow whose trainings wait until they are released; a killed worker is missed soon."""
    folder = tmp_path_factory.mktemp("train")
    settings = {"TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20", "ORPHANED_TASKS_CHECK_INTERVAL": "10"}
    scheduler = {f"AIRFLOW__SCHEDULER__{name}": value for name, value in settings.items()}
    with standalone(make_home(folder / "home", training=held(folder / "training"), settings=scheduler)) as airflow:
        airflow.admin.wait_for_dag(DAG)
        yield airflow


def out_of(home: AirflowHome, name: str) -> Path:
    return Path(home.data) / "training" / name


def pids(out: Path) -> list[int]:
    """The processes that ever trained."""
    path = out / "pids.txt"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_until(claim: Callable[[], object], admin: AirflowClient, run_id: str) -> None:
    end = time.monotonic() + GENEROUS
    while not claim():
        assert time.monotonic() < end, admin.report(DAG, run_id)
        time.sleep(1)


def states(admin: AirflowClient, run_id: str) -> dict[str, tuple[str, int]]:
    return {task["task_id"]: (task["state"], task["try_number"]) for task in admin.tasks(DAG, run_id)}


def train_task(admin: AirflowClient, run_id: str) -> dict[str, object]:
    (found,) = [task for task in admin.tasks(DAG, run_id) if task["task_id"] == "train"]
    return found


def run_of(admin: AirflowClient, dataset: str) -> str:
    """Wait for the run that a dataset triggers."""
    end = time.monotonic() + GENEROUS
    while True:
        for run in admin.get(f"dags/{DAG}/dagRuns", run_type="asset_triggered")["dag_runs"]:
            found = admin.asset_events(f"dags/{DAG}/dagRuns/{run['dag_run_id']}/upstreamAssetEvents")
            if dataset in [event["extra"].get("dataset") for event in found]:
                return str(run["dag_run_id"])
        assert time.monotonic() < end, f"{dataset} triggered no run"
        time.sleep(2)


@pytest.mark.slow("tests/pipeline/test_detached.py")
def test_airflow_dags_test_trains(airflow_home: AirflowHome) -> None:
    subprocess.run([ROOT / "scripts" / "airflow-setup"], env=airflow_home.environ, check=True)
    conf = json.dumps({"steps": 2, "out": "tested"})
    done = subprocess.run(
        ["airflow", "dags", "test", DAG, "--conf", conf], env=airflow_home.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    out = out_of(airflow_home, "tested")
    assert json.loads((out / "done.json").read_text()) == {"steps": 2, "last": {"reward": 1.0}}
    assert len(pids(out)) == 1


@pytest.mark.slow("tests/pipeline/test_detached.py")
def test_a_killed_worker_leaves_the_training_and_its_next_try_finds_it(live: LiveAirflow) -> None:
    admin, out = live.admin, out_of(live.home, "killed")
    run_id = admin.trigger(DAG, {"out": "killed"})
    wait_until(lambda: (out / "checkpoints" / "step-000002").exists(), admin, run_id)
    worker = psutil.Process(int(str(train_task(admin, run_id)["pid"])))
    worker.kill()
    wait_until(lambda: train_task(admin, run_id)["state"] == "up_for_retry", admin, run_id)
    assert is_running(pids(out)[0])
    wait_until(
        lambda: (train_task(admin, run_id)["state"], train_task(admin, run_id)["try_number"]) == ("running", 2),
        admin,
        run_id,
    )
    wait_until(lambda: "runs already, or is done" in admin.log(DAG, run_id, "train", attempt=2), admin, run_id)
    (out / "release").touch()
    admin.wait(DAG, run_id)

    assert len(pids(out)) == 1
    assert [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3, 4]
    assert states(admin, run_id) == {
        "prepare": ("success", 1),
        "train": ("success", 2),
        "report": ("success", 1),
        "stop": ("success", 1),
    }
    told = admin.xcom(DAG, run_id, "report")
    assert told == {
        "checkpoint": f"{out}/model",
        "out": str(out),
        "config": "tiny_cpu",
        "dataset": None,
        "sha256": None,
        "steps": 4,
        "metrics": {"reward": 1.0},
        "report": {"reward": 1.0, "dataset": None},
    }
    (event,) = [event for event in admin.asset_events(order_by="-timestamp") if event["source_run_id"] == run_id]
    assert event["extra"] == told


@pytest.mark.slow("tests/pipeline/test_detached.py")
def test_a_training_is_stopped_with_its_task_and_goes_on_when_the_task_is_cleared(live: LiveAirflow) -> None:
    admin, out = live.admin, out_of(live.home, "stopped")
    run_id = admin.trigger(DAG, {"out": "stopped"})
    wait_until(lambda: (out / "checkpoints" / "step-000002").exists(), admin, run_id)
    admin.patch(f"dags/{DAG}/dagRuns/{run_id}/taskInstances/train", {"new_state": "failed"})
    admin.wait(DAG, run_id, "failed")
    assert states(admin, run_id)["stop"] == ("success", 1)
    assert "the training was stopped; its checkpoints stay" in admin.log(DAG, run_id, "stop")
    assert not is_running(pids(out)[0])

    (out / "release").touch()
    cleared = {
        "dry_run": False,
        "dag_run_id": run_id,
        "task_ids": ["train"],
        "include_downstream": True,
        "only_failed": False,
    }
    admin.post(f"dags/{DAG}/clearTaskInstances", cleared)
    admin.wait(DAG, run_id)
    assert len(pids(out)) == 2
    assert [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3, 4]


@pytest.mark.slow("tests/pipeline/test_detached.py")
def test_a_dataset_that_is_never_published_is_trained_with_and_one_that_waits_is_not(live: LiveAirflow) -> None:
    admin = live.admin
    made: dict[str, str] = {}
    for publish in ("ask", "never"):
        admin.wait_for_dag("synthesize_dataset")
        run_id = admin.trigger("synthesize_dataset", {"domains": ["mock"], "tasks": 10, "publish": publish})
        admin.wait("synthesize_dataset", run_id)
        made[publish] = admin.xcom("synthesize_dataset", run_id, "collect")["dataset"]
    waits, trains = (run_of(admin, made[publish]) for publish in ("ask", "never"))
    admin.wait(DAG, waits)
    assert {state for state, _ in states(admin, waits).values()} == {"skipped"}
    wait_until(lambda: states(admin, trains)["train"][0] == "running", admin, trains)
    prepared = admin.xcom(DAG, trains, "prepare")
    assert prepared["dataset"] == made["never"]
    wait_until(Path(prepared["out"]).is_dir, admin, trains)
    (Path(prepared["out"]) / "release").touch()
    admin.wait(DAG, trains)
    assert admin.xcom(DAG, trains, "report")["report"]["dataset"] == "dataset"
