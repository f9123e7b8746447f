"""Airflow's API server as a process of its own: its users, its database, our plugin. Nothing is scheduled: one run was executed before it starts."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from browser import DAG_ID, token_of
from scheduled_runs import write_two_runs

ROOT = Path(__file__).parents[2]
USERS = {"ada": "viewer"}
SECONDS = 90

CONFIGURATION = """
[core]
dags_folder = {home}/dags
plugins_folder = {home}/plugins
load_examples = False
simple_auth_manager_users = ada:viewer
simple_auth_manager_passwords_file = {home}/passwords.json
[database]
sql_alchemy_conn = sqlite:///{home}/airflow.db
[logging]
base_log_folder = {home}/logs
[api]
host = 127.0.0.1
port = {port}
base_url = http://localhost:{port}
workers = 1
[api_auth]
jwt_secret = {secret}
"""

DAG = '''
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
'''


@dataclass(frozen=True)
class LiveAirflow:
    """Where it is, and who may look."""

    base: str
    data: Path
    run_id: str
    token: str
    """Of a user who may read everything and change nothing."""


@contextmanager
def start_airflow(home: Path) -> Iterator[LiveAirflow]:
    """Start the server in an empty folder; yield once it answers; stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (home / "airflow.cfg").write_text(CONFIGURATION.format(home=home, port=port, secret=secrets.token_urlsafe(64)))
    (home / "passwords.json").write_text('{"ada": "ada"}')
    (home / "dags").mkdir()
    (home / "dags" / "small_dag.py").write_text(DAG)
    (home / "plugins").symlink_to(ROOT / "plugins")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(home), "TOOLSCALE_DATA": str(home / "data"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    for command in (["db", "migrate"], ["dags", "reserialize"], ["dags", "test", DAG_ID]):
        _run([*command], environment, home)
    base = f"http://localhost:{port}"
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen([shutil.which("airflow", path=environment["PATH"]) or "airflow", "api-server"], env=environment, stdout=log,
                                  stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            _wait_for(base, server, home / "server.log")
            token = token_of(base, "ada", "ada")
            runs = httpx.get(f"{base}/api/v2/dags/{DAG_ID}/dagRuns", headers={"Authorization": f"Bearer {token}"}).json()["dag_runs"]
            write_two_runs(home / "data", newer=runs[0]["dag_run_id"])
            yield LiveAirflow(base, home / "data", runs[0]["dag_run_id"], token)
        finally:
            os.killpg(server.pid, signal.SIGINT)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _run(command: list[str], environment: dict[str, str], home: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "airflow", *command], env=environment, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"airflow {' '.join(command)}: {done.stderr[-2000:]}{done.stdout[-2000:]}"


def _wait_for(base: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            if httpx.get(f"{base}/api/v2/version").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.3)
    raise AssertionError(f"the API server does not answer: {log.read_text()[-3000:]}")
