"""Two tasks, one for any worker and one for a worker with a GPU: where they ran, and what one left in TOOLSCALE_DATA
for the other."""

from __future__ import annotations

from airflow.sdk import dag, get_current_context, task

HERE = "whereabouts.json"


@dag(
    "queues",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    tags=["trial"],
    doc_md=__doc__,
    default_args={"owner": "tests"},
)
def queues():
    @task(pool="judging")
    def write() -> dict[str, str | int]:
        import json
        import os

        import fsspec

        where = {
            "home": os.environ["AIRFLOW_HOME"],
            "pid": os.getppid(),
            "queue": str(get_current_context()["ti"].task.queue),
        }
        with fsspec.open(f"{os.environ['TOOLSCALE_DATA']}/{HERE}", "w", auto_mkdir=True) as file:
            json.dump(where, file)
        return where

    @task(queue="gpu", pool="gpu")
    def read() -> dict[str, str | int | dict[str, str | int]]:
        import json
        import os

        import fsspec

        with fsspec.open(f"{os.environ['TOOLSCALE_DATA']}/{HERE}") as file:
            left = json.load(file)
        return {
            "home": os.environ["AIRFLOW_HOME"],
            "pid": os.getppid(),
            "queue": str(get_current_context()["ti"].task.queue),
            "found": left,
        }

    write() >> read()


queues()
