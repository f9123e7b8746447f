"""What tasks tell StatsD: Airflow's own client, turned on by environment variables, and a real socket that listens."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from homes import ROOT, AirflowHome

STARTED = """
import json, sys
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory
from airflow.sdk.observability.stats import initialize

initialize(factory=get_stats_factory(), export_legacy_names=True)  # as the runner of every task does
sys.path.insert(0, "dags")
from toolscale_metrics import measure_assembling, measure_judging
"""
FIGURES = {
    "shard": "mock-000",
    "candidates": 30,
    "accepted": 26,
    "rejected": 4,
    "no_case": 2,
    "gates": {"mutants_killed": 1, "unambiguous": 3},
}
TWO_STAGES = f"""
print(json.dumps(measure_judging("mock", lambda plan: {FIGURES!r}, "plan")))
print(json.dumps(measure_assembling("mock", lambda run, domain: {{"counts": {{"asked": 10, "accepted": 9}}}},\
 "run", "mock")))
"""
ONE_SHARD = """
from toolscale.dataset.runs import Order
from toolscale.pipeline.scheduled import build_domain, judge_shard, order_run, plan_round

order = Order(
    dag_id="d", run_id="r", started="", logical_date=None, domains=("finance",), tasks=8,\
 seed=0, evolved=0.5, publish="never", params={},
)
run = order_run(sys.argv[1], order)
build_domain(run, "finance")
print(json.dumps(measure_judging("finance", judge_shard, plan_round(run, "finance", 0, "finance.judge")[0])))
"""


@contextmanager
def statsd() -> Iterator[socket.socket]:
    """A socket on loopback that keeps what it is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        yield listener


def sent(listener: socket.socket) -> list[str]:
    """The lines of ours that came, with N for a number of milliseconds. Airflow sends some of its own."""
    lines = []
    with suppress(BlockingIOError):
        while True:
            lines.append(re.sub(r":[\d.]+\|ms$", ":N|ms", listener.recv(4_096).decode()))
    return [line for line in lines if line.startswith("airflow.toolscale.")]


def run(code: str, home: AirflowHome, *arguments: str) -> str:
    """What the code prints, as the last thing that a process of its own does."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED + code, *arguments], env=home.environ, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def listened_to(home: AirflowHome, listener: socket.socket) -> AirflowHome:
    """The home with metrics turned on, for this listener."""
    port = str(listener.getsockname()[1])
    return home.with_settings(
        AIRFLOW__METRICS__STATSD_ON="True",
        AIRFLOW__METRICS__STATSD_HOST="127.0.0.1",
        AIRFLOW__METRICS__STATSD_PORT=port,
    )


def test_what_was_judged_and_assembled_is_counted_and_timed(airflow_home: AirflowHome) -> None:
    with statsd() as listener:
        run(TWO_STAGES, listened_to(airflow_home, listener))
        assert sent(listener) == [
            "airflow.toolscale.judge.candidates.mock:30|c",
            "airflow.toolscale.judge.accepted.mock:26|c",
            "airflow.toolscale.judge.no_case.mock:2|c",
            "airflow.toolscale.judge.rejected.mock.mutants_killed:1|c",
            "airflow.toolscale.judge.rejected.mock.unambiguous:3|c",
            "airflow.toolscale.judge.duration.mock:N|ms",
            "airflow.toolscale.assemble.asked.mock:10|c",
            "airflow.toolscale.assemble.accepted.mock:9|c",
            "airflow.toolscale.assemble.duration.mock:N|ms",
        ]


@pytest.mark.slow("tests/airflow/test_metrics.py")
def test_the_figures_of_a_real_shard_are_those_that_are_sent(airflow_home: AirflowHome, tmp_path: Path) -> None:
    with statsd() as listener:
        figures = json.loads(run(ONE_SHARD, listened_to(airflow_home, listener), str(tmp_path)).splitlines()[-1])
        assert sent(listener) == [
            *(
                f"airflow.toolscale.judge.{name}.finance:{figures[name]}|c"
                for name in ("candidates", "accepted", "no_case")
            ),
            *(f"airflow.toolscale.judge.rejected.finance.{gate}:{count}|c" for gate, count in figures["gates"].items()),
            "airflow.toolscale.judge.duration.finance:N|ms",
        ]
        assert sum(figures["gates"].values()) == figures["rejected"] == figures["candidates"] - figures["accepted"] > 0


def test_without_a_setting_nothing_is_sent_and_the_figures_are_returned_all_the_same(airflow_home: AirflowHome) -> None:
    with statsd() as listener:
        port = str(listener.getsockname()[1])
        printed = run(
            TWO_STAGES,
            airflow_home.with_settings(AIRFLOW__METRICS__STATSD_HOST="127.0.0.1", AIRFLOW__METRICS__STATSD_PORT=port),
        )
        assert sent(listener) == []
    assert (
        '"gates": {"mutants_killed": 1, "unambiguous": 3}' in printed
        and '"counts": {"asked": 10, "accepted": 9}' in printed
    )
