"""One prepared home and one running Airflow for all tests. Those that name `live_airflow` land in one process
(tests/conftest.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from homes import TRIAL_DAGS, AirflowHome, LiveAirflow, make_home, standalone
from webhook import webhook

from tests.publish.hub_server import Hub, serving


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """An AIRFLOW_HOME in which nothing runs: for commands, and for reading DAG files."""
    return make_home(tmp_path_factory.mktemp("airflow") / "home")


@pytest.fixture(scope="session")
def local_hub() -> Iterator[tuple[str, Hub]]:
    """The Hub to which the running Airflow publishes: its URL, and what it holds."""
    with serving() as found:
        yield found


@pytest.fixture(scope="session")
def alerts() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Whom the running Airflow tells what needs a person: a URL, and what was posted to it."""
    with webhook() as told:
        yield told


@pytest.fixture(scope="session")
def live_airflow(
    tmp_path_factory: pytest.TempPathFactory, local_hub: tuple[str, Hub], alerts: tuple[str, list[dict[str, Any]]]
) -> Iterator[LiveAirflow]:
    """What `make airflow` starts, with the DAGs of the repository and those of trial_dags/; it asks for passwords, and
    publishes to `local_hub`."""
    connection = json.dumps({"conn_type": "generic", "password": "hf_write", "host": local_hub[0]})
    settings = {"AIRFLOW_CONN_TOOLSCALE_HUB": connection, "AIRFLOW_VAR_TOOLSCALE_ALERT_WEBHOOK": alerts[0]}
    with standalone(make_home(tmp_path_factory.mktemp("live") / "home", dags=TRIAL_DAGS, settings=settings)) as live:
        yield live
