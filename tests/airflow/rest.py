"""A client of Airflow's REST API, as small as tests need it. What goes wrong is told with the log of the task that
failed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

GENEROUS = 1800.0
"""Seconds until what is waited for is given up. It ends a test that hangs, and says nothing of how fast it should
be."""
COMPONENTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def is_healthy(url: str) -> bool:
    """Do the database and all four components say that they are healthy? Never the banner: it is printed without an API
    server too."""
    try:
        answer = httpx.get(f"{url}/api/v2/monitor/health", trust_env=False)
    except httpx.TransportError:
        return False
    return answer.is_success and all((answer.json().get(name) or {}).get("status") == "healthy" for name in COMPONENTS)


@dataclass
class AirflowClient:
    """One user of one Airflow. Without a user it is anonymous."""

    http: httpx.Client

    @classmethod
    @contextmanager
    def of(cls, url: str, user: str | None = None, password: str | None = None) -> Iterator[AirflowClient]:
        """A client that is logged in as `user`, if there is one; closed with the block."""
        with httpx.Client(base_url=url, timeout=GENEROUS, trust_env=False) as http:
            if user is not None:
                token = http.post("/auth/token", json={"username": user, "password": password})
                token.raise_for_status()
                http.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
            yield cls(http)

    def get(self, path: str, **params: Any) -> Any:
        """The JSON at /api/v2/`path`."""
        answer = self.http.get(f"/api/v2/{path}", params=params)
        assert answer.is_success, f"GET {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def asset_events(
        self, path: str = "assets/events", seconds: float = GENEROUS, **params: Any
    ) -> list[dict[str, Any]]:
        """The asset events at /api/v2/`path`. As long as a run that one of them triggered is queued, Airflow 3.3.2
        answers 500 (its issue 71360)."""
        end = time.monotonic() + seconds
        while (answer := self.http.get(f"/api/v2/{path}", params=params)).status_code == 500 and time.monotonic() < end:
            time.sleep(2)
        assert answer.is_success, f"GET {path}: {answer.status_code} {answer.text}"
        return list(answer.json()["asset_events"])

    def import_errors(self) -> dict[str, str]:
        """What is wrong with DAG files, by file name."""
        return {error["filename"]: error["stack_trace"] for error in self.get("importErrors")["import_errors"]}

    def wait_for_dag(self, dag_id: str, seconds: float = GENEROUS) -> None:
        """Wait until the DAG processor has found a DAG."""
        end = time.monotonic() + seconds
        while not (answer := self.http.get(f"/api/v2/dags/{quote(dag_id)}")).is_success:
            assert time.monotonic() < end, (
                f"no DAG {dag_id} after {seconds:.0f} s: {answer.text}; import errors: {self.import_errors()}"
            )
            time.sleep(2)

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None, **fields: Any) -> str:
        """Start a run with `conf`; its run id."""
        told = self.post(f"dags/{quote(dag_id)}/dagRuns", {"logical_date": None, "conf": dict(conf or {}), **fields})
        return str(told["dag_run_id"])

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send JSON to /api/v2/`path`; the JSON of the answer."""
        answer = self.answer_to(path, body)
        assert answer.is_success, f"POST {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """Change what is at /api/v2/`path`."""
        answer = self.answer_to(path, body, "PATCH")
        assert answer.is_success, f"PATCH {path}: {answer.status_code} {answer.text}"

    def answer_to(self, path: str, body: Mapping[str, Any], method: str = "POST") -> httpx.Response:
        """Send JSON to /api/v2/`path`; the answer, whatever it is.

        Tried again after a 500: with SQLite the API server of Airflow 3.3.2 can lock itself out (see airflow.cfg), and
        then it has done nothing.
        """
        for left in (2, 1, 0):
            answer = self.http.request(method, f"/api/v2/{path}", json=dict(body))
            if answer.status_code != 500 or not left:
                break
        return answer

    def wait(self, dag_id: str, run_id: str, state: str = "success", seconds: float = GENEROUS) -> dict[str, Any]:
        """Wait until a run is done; the run. Raises with the states and logs of what failed if it ends in another state
        than `state`."""
        end = time.monotonic() + seconds
        while (run := self.get(f"dags/{quote(dag_id)}/dagRuns/{quote(run_id, safe='')}"))["state"] not in (
            "success",
            "failed",
        ):
            assert time.monotonic() < end, (
                f"{dag_id} {run_id} is {run['state']} after {seconds:.0f} s\n{self.report(dag_id, run_id)}"
            )
            time.sleep(2)
        assert run["state"] == state, f"{dag_id} {run_id}: {run['state']}\n{self.report(dag_id, run_id)}"
        return dict(run)

    def tasks(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """All task instances of a run, by task and map index."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.get(
                f"dags/{quote(dag_id)}/dagRuns/{quote(run_id, safe='')}/taskInstances", limit=100, offset=len(found)
            )
            found += page["task_instances"]
            if len(found) >= page["total_entries"]:
                return sorted(found, key=lambda task: (task["task_id"], task["map_index"]))

    def xcom(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> Any:
        """What a task returned."""
        path = f"dags/{quote(dag_id)}/dagRuns/{quote(run_id, safe='')}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.get(path, map_index=map_index, deserialize="true")["value"]

    def log(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1, attempt: int = 1) -> str:
        """The log of one try of a task, one event a line."""
        path = f"dags/{quote(dag_id)}/dagRuns/{quote(run_id, safe='')}/taskInstances/{task_id}/logs/{attempt}"
        lines = self.get(path, map_index=map_index, full_content="true")["content"]
        return "\n".join(f"{line.get('level', '')} {line['event']} {line.get('error_detail') or ''}" for line in lines)

    def report(self, dag_id: str, run_id: str) -> str:
        """The state of every task, and the end of the log of each that failed: for failure messages."""
        parts = []
        for task in self.tasks(dag_id, run_id):
            name = task["task_id"] + (f"[{task['map_index']}]" if task["map_index"] >= 0 else "")
            parts.append(f"{name}: {task['state']}, try {task['try_number']}")
            if task["state"] in ("failed", "up_for_retry"):
                log = self.log(dag_id, run_id, task["task_id"], task["map_index"], max(task["try_number"], 1))
                parts += [f"    {line}" for line in log.splitlines()[-25:]]
        return "\n".join(parts)
