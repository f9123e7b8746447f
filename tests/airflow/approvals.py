"""The run that publishes a new dataset, and the question that it asks a person."""

from __future__ import annotations

import time
from typing import Any

from rest import AirflowClient

PUBLISH = "publish_dataset"


def runs(admin: AirflowClient) -> set[str]:
    """The ids of all runs so far."""
    return {run["dag_run_id"] for run in admin.get(f"dags/{PUBLISH}/dagRuns")["dag_runs"]}


def next_run(admin: AirflowClient, before: set[str]) -> str:
    """Wait until a dataset has started a run; its id."""
    end = time.monotonic() + 60
    while not (new := runs(admin) - before):
        assert time.monotonic() < end, "a dataset was made, and nothing listened"
        time.sleep(0.5)
    (run_id,) = new
    return run_id


def states(admin: AirflowClient, run_id: str) -> dict[str, tuple[str, int]]:
    """The state and the number of tries of every task of a run."""
    return {task["task_id"]: (task["state"], task["try_number"]) for task in admin.tasks(PUBLISH, run_id)}


def question(admin: AirflowClient, run_id: str) -> dict[str, Any]:
    """Wait until a person is asked; what is asked.

    While the process that asked still ends, Airflow 3.3.2 may take that end for a failure, and ask again: so wait for a question that stands.
    """
    end = time.monotonic() + 90
    asked_since, attempt = time.monotonic(), 0
    while time.monotonic() < asked_since + 5:
        assert time.monotonic() < end, admin.report(PUBLISH, run_id)
        state, number = states(admin, run_id)["approve"]
        if state != "awaiting_input" or number != attempt:
            asked_since, attempt = time.monotonic(), number
        time.sleep(0.5)
    (asked,) = admin.get(f"dags/{PUBLISH}/dagRuns/{run_id}/hitlDetails")["hitl_details"]
    return dict(asked)
