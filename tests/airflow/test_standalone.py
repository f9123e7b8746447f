"""`make airflow`: healthy, closed to strangers when passwords are asked for, clear when it cannot start."""

from __future__ import annotations

import json
import socket
import stat
import subprocess

import pytest
from homes import ROOT, AirflowHome, LiveAirflow
from services import free_ports


def start(home: AirflowHome, port: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/airflow-standalone where it cannot start."""
    return subprocess.run(
        [ROOT / "scripts" / "airflow-standalone"],
        env=home.environ | {"PORT": port},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_airflow_runs_a_dag_and_knows_its_pools(live_airflow: LiveAirflow) -> None:
    admin = live_airflow.admin
    admin.wait_for_dag("queues")
    run_id = admin.trigger("queues")
    admin.wait("queues", run_id)

    assert [(task["task_id"], task["state"], task["pool"]) for task in admin.tasks("queues", run_id)] == [
        ("read", "success", "gpu"),
        ("write", "success", "judging"),
    ]
    assert admin.xcom("queues", run_id, "read")["found"] == admin.xcom("queues", run_id, "write")
    assert "Returned value was" in admin.log("queues", run_id, "read")
    pools = json.loads((ROOT / "pools.json").read_text())
    assert {pool["name"]: pool["slots"] for pool in admin.get("pools")["pools"] if pool["name"] != "default_pool"} == {
        name: pool["slots"] for name, pool in pools.items()
    }


def test_no_dag_file_fails_to_import(live_airflow: LiveAirflow) -> None:
    live_airflow.admin.wait_for_dag("queues")
    assert live_airflow.admin.import_errors() == {}


def test_strangers_get_401_and_viewers_only_look(live_airflow: LiveAirflow) -> None:
    with live_airflow.client() as stranger, live_airflow.client("viewer") as viewer:
        statuses = {
            "stranger reads": stranger.http.get("/api/v2/dags").status_code,
            "viewer reads": viewer.http.get("/api/v2/dags").status_code,
            "viewer triggers": viewer.http.post("/api/v2/dags/queues/dagRuns", json={"logical_date": None}).status_code,
        }
    assert statuses == {"stranger reads": 401, "viewer reads": 200, "viewer triggers": 403}


def test_what_airflow_writes_stays_in_its_folder_and_the_secret_is_private(live_airflow: LiveAirflow) -> None:
    home = live_airflow.home.folder
    assert {path.name for path in home.iterdir()} <= {
        ".airflow",
        "airflow.cfg",
        "dags",
        "eval",
        "experts",
        "plugins",
        "pools.json",
        "standalone.log",
        "training",
        "var",
    }
    assert stat.S_IMODE((home / ".airflow" / "jwt_secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / ".airflow").stat().st_mode) == 0o700


def test_a_port_that_is_taken_is_named_before_anything_starts(airflow_home: AirflowHome) -> None:
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as server:
        port = server.getsockname()[1]
        done = start(airflow_home, str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"airflow: port {port} is in use; stop what listens there, or choose another: make airflow PORT={port + 1}\n"
    )


def test_a_port_that_is_none_is_refused(airflow_home: AirflowHome) -> None:
    for port in ("http", "0", "65536", "-1", "8080;true"):
        done = start(airflow_home, port)
        assert (done.returncode, done.stderr) == (
            2,
            f"airflow: PORT={port} is not a port; give a number between 1 and 65535\n",
        )


@pytest.mark.slow("tests/airflow/test_standalone.py")
def test_set_up_again_changes_nothing(airflow_home: AirflowHome) -> None:
    def state() -> tuple[str, str]:
        subprocess.run([ROOT / "scripts" / "airflow-setup"], env=airflow_home.environ, check=True)
        pools = subprocess.run(
            ["airflow", "pools", "list", "-o", "json"],
            env=airflow_home.environ,
            check=True,
            capture_output=True,
            text=True,
        )
        return (airflow_home.folder / ".airflow" / "jwt_secret").read_text(), pools.stdout

    assert state() == state()


@pytest.mark.slow("tests/airflow/test_standalone.py")
def test_a_database_that_cannot_be_reached_stops_the_set_up(airflow_home: AirflowHome) -> None:
    nowhere = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://nobody@127.0.0.1:{free_ports(1)[0]}/none"}
    done = subprocess.run(
        [ROOT / "scripts" / "airflow-setup"], env=airflow_home.environ | nowhere, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Connection refused" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("airflow: the metadata database could not be set up")
