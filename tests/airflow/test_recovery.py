"""What is killed in the middle of a run is done again, and nothing is doubled."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from homes import AirflowHome, make_home, standalone
from rest import GENEROUS, AirflowClient
from test_synthesize import DAG, contents, products

from toolscale.pipeline import synthesize

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.slow("tests/test_runs.py")]

CONF = {"domains": ["mock"], "tasks": 30, "turns": "single", "answer": "message", "publish": "never"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected") / "mock"
    synthesize("mock", out, tasks=CONF["tasks"], seed=0, turns="single", answer="message")
    return contents(out)


@pytest.fixture
def home(tmp_path: Path) -> AirflowHome:
    settings = {
        "TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
        "ORPHANED_TASKS_CHECK_INTERVAL": "10",
        "SCHEDULER_HEALTH_CHECK_THRESHOLD": "10",
    }
    return make_home(
        tmp_path / "home", settings={f"AIRFLOW__SCHEDULER__{name}": value for name, value in settings.items()}
    )


def wait_for_judging(admin: AirflowClient, run_id: str) -> int:
    """Wait until a shard is being judged; the process that does it."""
    end = time.monotonic() + GENEROUS
    while not (
        pids := [
            task["pid"]
            for task in admin.tasks(DAG, run_id)
            if (task["task_id"], task["state"]) == ("domain_mock.judge", "running")
        ]
    ):
        assert time.monotonic() < end, admin.report(DAG, run_id)
        time.sleep(0.5)
    return int(pids[0])


def tries(admin: AirflowClient, run_id: str) -> tuple[int, int]:
    """How often the shard has been tried, and how often it may be tried before it fails for good."""
    (shard,) = [task for task in admin.tasks(DAG, run_id) if task["task_id"] == "domain_mock.judge"]
    return shard["try_number"], shard["max_tries"]


def test_a_run_survives_a_killed_worker_and_then_the_death_of_all_of_airflow(
    home: AirflowHome, expected: dict[str, bytes]
) -> None:
    with standalone(home) as live:
        live.admin.wait_for_dag(DAG)
        run_id = live.admin.trigger(DAG, CONF)
        psutil.Process(wait_for_judging(live.admin, run_id)).kill()
        end = time.monotonic() + GENEROUS
        while not [
            task
            for task in live.admin.tasks(DAG, run_id)
            if (task["task_id"], task["state"]) == ("domain_mock.judge", "up_for_retry")
        ]:
            assert time.monotonic() < end, live.admin.report(DAG, run_id)
            time.sleep(0.5)
        wait_for_judging(live.admin, run_id)  # the retry
        tried, most = tries(live.admin, run_id)
        for process in psutil.Process(live.service.guard.pid).children(recursive=True):
            process.kill()
    with standalone(home) as live:
        assert "tasks were lost with the last stop, and begin again" in (home.folder / "standalone.log").read_text()
        live.admin.wait(DAG, run_id)
        tried_at_last, most_at_last = tries(live.admin, run_id)
    assert most_at_last - tried == most, "after the restart all tries are left, as at the beginning"
    assert tried_at_last > tried >= 2
    assert contents(products(home, run_id) / "dataset") == expected
