"""An AIRFLOW_HOME of its own for tests: the files of the repository by links, everything that is written in a temporary
folder."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rest import GENEROUS, AirflowClient, is_healthy
from services import Service, free_ports, running

ROOT = Path(__file__).parents[2]
TRIAL_DAGS = Path(__file__).with_name("trial_dags")
TRIAL_TRAINING = Path(__file__).with_name("trial_training")
TRIAL_EVAL = Path(__file__).with_name("trial_eval")
PASSWORDS = {"admin": "a password of tests", "viewer": "another of tests"}
LOCAL_BUNDLE = "airflow.dag_processing.bundles.local.LocalDagBundle"


@dataclass(frozen=True)
class AirflowHome:
    """A prepared folder, and the environment of every process that works on it."""

    folder: Path
    environ: dict[str, str]

    @property
    def data(self) -> str:
        """TOOLSCALE_DATA: a path or a URL."""
        return self.environ["TOOLSCALE_DATA"]

    def with_settings(self, **settings: str) -> AirflowHome:
        """The same folder with more environment variables."""
        return AirflowHome(self.folder, {**self.environ, **settings})


def make_home(
    folder: Path,
    *,
    dags: Path | None = None,
    training: Path = TRIAL_TRAINING,
    evaluation: Path = TRIAL_EVAL,
    settings: Mapping[str, str] | None = None,
) -> AirflowHome:
    """Make `folder` an AIRFLOW_HOME. `dags`: a folder of more DAG files beside the repository's. Passwords are asked
    for: see PASSWORDS.

    No run is scheduled.

    `training`, `evaluation`: what stands for the repository's folders `training` and `eval`. Every dataset that a test
    makes starts a training, and that an evaluation: both take no time, unless they are the repository's own.
    """
    (folder / ".airflow").mkdir(parents=True)
    for name in ("airflow.cfg", "dags", "plugins", "pools.json", "experts"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "training").symlink_to(training)
    (folder / "eval").symlink_to(evaluation)
    (folder / ".airflow" / "passwords.json").write_text(json.dumps(PASSWORDS))
    bundles = [{"name": "dags-folder", "classpath": LOCAL_BUNDLE, "kwargs": {}}]
    if dags is not None:
        bundles.append({"name": "of-the-test", "classpath": LOCAL_BUNDLE, "kwargs": {"path": str(dags)}})
    # Nothing of the person's own Airflow, credentials or data leaks into a test.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW", "TOOLSCALE", "PYTEST", "AWS_", "HF_"))
    }
    environ = {
        **inherited,
        "AIRFLOW_HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TOOLSCALE_DATA": str(folder / "var" / "data"),
        "TOOLSCALE_SCHEDULE": "",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,viewer:viewer",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
        # A scheduler that looks five times a second takes an eighth of a core for as long as the tests run.
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "1",
        # A file that did not change need not be read again in the life of a test; each time costs seconds.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        **(settings or {}),
    }
    return AirflowHome(folder, environ)


@dataclass(frozen=True)
class LiveAirflow:
    """An Airflow that answers: its UI's URL, its home, a client of the administrator."""

    url: str
    home: AirflowHome
    admin: AirflowClient
    service: Service
    seconds_to_healthy: float

    def client(self, user: str | None = None) -> AbstractContextManager[AirflowClient]:
        """A client of another user; anonymous without one."""
        return AirflowClient.of(self.url, user, PASSWORDS[user] if user else None)


@contextmanager
def standalone(home: AirflowHome, *, seconds: float = GENEROUS) -> Iterator[LiveAirflow]:
    """What `make airflow` runs, on free ports, until the block ends. Healthy when the block begins."""
    ui, workers, triggerer = free_ports(3)
    environ = {
        **home.environ,
        "PORT": str(ui),
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(workers),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(triggerer),
    }
    url = f"http://127.0.0.1:{ui}"
    begin = time.monotonic()
    command, log = [ROOT / "scripts" / "airflow-standalone"], home.folder / "standalone.log"
    with running("airflow", command, log=log, environ=environ, terminal=True) as service:
        service.wait_until(lambda: is_healthy(url), seconds)
        took = time.monotonic() - begin
        with AirflowClient.of(url, "admin", PASSWORDS["admin"]) as admin:
            yield LiveAirflow(url, home, admin, service, took)
