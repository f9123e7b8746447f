"""Runs that ask a person a question: those that publish a new dataset, unless another DAG is named."""

from __future__ import annotations

import time
from typing import Any

from rest import GENEROUS, AirflowClient

PUBLISH = "publish_dataset"


def runs(admin: AirflowClient) -> set[str]:
    """The ids of all runs so far."""
    return {run["dag_run_id"] for run in admin.get(f"dags/{PUBLISH}/dagRuns")["dag_runs"]}


def next_run(admin: AirflowClient, before: set[str]) -> str:
    """Wait until a dataset has started a run; its id."""
    (run_id,) = next_runs(admin, before, 1)
    return run_id


def next_runs(admin: AirflowClient, before: set[str], number: int) -> set[str]:
    """Wait until so many datasets have started a run each; their ids."""
    end = time.monotonic() + GENEROUS
    while len(new := runs(admin) - before) < number:
        assert time.monotonic() < end, f"{number} datasets were made, and {len(new)} runs began"
        time.sleep(2)
    assert len(new) == number
    return new


def states(admin: AirflowClient, run_id: str, dag: str = PUBLISH) -> dict[str, tuple[str, int]]:
    """The state and the number of tries of every task of a run."""
    return {task["task_id"]: (task["state"], task["try_number"]) for task in admin.tasks(dag, run_id)}


def question(admin: AirflowClient, run_id: str, dag: str = PUBLISH) -> dict[str, Any]:
    """Wait until a person is asked; what is asked.

    While the process that asked still ends, Airflow 3.3.2 may take that end for a failure, and ask again: so wait for a
    question that stands.
    """
    end = time.monotonic() + GENEROUS
    asked_since, attempt = time.monotonic(), 0
    while time.monotonic() < asked_since + 5:
        assert time.monotonic() < end, admin.report(dag, run_id)
        state, number = states(admin, run_id, dag)["approve"]
        if state != "awaiting_input" or number != attempt:
            asked_since, attempt = time.monotonic(), number
        time.sleep(2)
    (asked,) = admin.get(f"dags/{dag}/dagRuns/{run_id}/hitlDetails")["hitl_details"]
    return dict(asked)


def answer(admin: AirflowClient, run_id: str, option: str, dag: str = PUBLISH, **fields: Any) -> None:
    """Answer the question, and answer again where it was asked again: the answer went to a try that Airflow then took
    for failed."""
    end, attempt = time.monotonic() + GENEROUS, 0
    while (found := states(admin, run_id, dag)["approve"])[0] not in ("success", "failed"):
        assert time.monotonic() < end, admin.report(dag, run_id)
        if found[0] == "awaiting_input" and found[1] != attempt:
            attempt = found[1]
            path = f"dags/{dag}/dagRuns/{run_id}/taskInstances/approve/-1/hitlDetails"
            admin.patch(path, {"chosen_options": [option], "params_input": fields})
        time.sleep(2)
