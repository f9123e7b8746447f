"""Airflow's API server as a process of its own: its users, its database, our plugin. Nothing is scheduled: one run was
executed before it starts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from browser import DAG_ID, token_of
from homes import LOCAL_BUNDLE, PASSWORDS, ROOT, make_home
from scheduled_runs import write_two_runs
from services import free_ports, running

DAG = """
from airflow.sdk import dag, get_current_context, task, task_group


@dag(dag_id="synthesize_dataset", schedule=None, catchup=False)
def synthesize_dataset():
    @task_group(group_id="finance")
    def finance():
        @task
        def plan():
            return [0, 1]

        @task(map_index_template="{{ shard }}")
        def judge(number):
            get_current_context()["shard"] = f"finance-{number:03d}"

        judge.expand(number=plan())

    finance()


synthesize_dataset()
"""


@dataclass(frozen=True)
class LiveAirflow:
    """Where it is, and who may look."""

    base: str
    data: Path
    run_id: str
    token: str
    """Of a user who may read everything and change nothing."""
    admin: str
    """Of a user who may do everything."""


@contextmanager
def start_airflow(folder: Path) -> Iterator[LiveAirflow]:
    """Start the server in an empty folder; yield once it answers; stop it."""
    (port,) = free_ports(1)
    base = f"http://localhost:{port}"
    (folder / "dags").mkdir()
    (folder / "dags" / "small_dag.py").write_text(DAG)
    bundle = {"name": "of-the-test", "classpath": LOCAL_BUNDLE, "kwargs": {"path": str(folder / "dags")}}
    home = make_home(
        folder / "home",
        settings={
            # Of this folder alone: the DAG of the repository has the same name.
            "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([bundle]),
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": base,
            "AIRFLOW__API__WORKERS": "1",
        },
    )
    for command in (
        [ROOT / "scripts" / "airflow-setup"],
        ["airflow", "dags", "reserialize"],
        ["airflow", "dags", "test", DAG_ID],
    ):
        done = subprocess.run(command, env=home.environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}{done.stdout[-2000:]}"
    with running("api-server", ["airflow", "api-server"], log=folder / "server.log", environ=home.environ) as server:
        server.wait_until(lambda: _answers(base))
        token = token_of(base, "viewer", PASSWORDS["viewer"])
        runs = httpx.get(
            f"{base}/api/v2/dags/{DAG_ID}/dagRuns", headers={"Authorization": f"Bearer {token}"}, timeout=300
        ).json()["dag_runs"]
        write_two_runs(Path(home.data), newer=runs[0]["dag_run_id"])
        yield LiveAirflow(
            base, Path(home.data), runs[0]["dag_run_id"], token, token_of(base, "admin", PASSWORDS["admin"])
        )


def _answers(base: str) -> bool:
    try:
        return httpx.get(f"{base}/api/v2/version").status_code == 200
    except httpx.TransportError:
        return False
