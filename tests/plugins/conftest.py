"""A folder of two scheduled runs, pages over it, and a real API server of Airflow that serves them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_airflow import LiveAirflow, start_airflow
from scheduled_runs import write_two_runs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two runs: three rejects on Monday in two shards, two on Tuesday."""
    write_two_runs(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveAirflow]:
    """An API server with our plugin and one finished run of a small DAG that is called like ours."""
    with start_airflow(tmp_path_factory.mktemp("airflow")) as live:
        yield live
