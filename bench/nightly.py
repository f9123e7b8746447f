"""The nightly run on this machine: how long Airflow takes to be healthy, how long a run takes, and whether it gives the
bytes of `make dataset`.

Started as the tests start it (tests/airflow), in a folder of its own.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from toolscale.dataset.places import files_in
from toolscale.dataset.runs import run_name
from toolscale.pipeline import synthesize

HEALTHY, RUN = 60.0, 120.0
DAG_ID = "synthesize_dataset"


def time_nightly(domain: str, tasks: int) -> tuple[float, float, float]:
    """Return seconds until Airflow is healthy, seconds from trigger to end of a run, and the share of its files that
    `synthesize` makes too."""
    from homes import make_home, standalone

    with tempfile.TemporaryDirectory(prefix="toolscale-bench-") as folder:
        home = make_home(Path(folder) / "home")
        with standalone(home) as live:
            live.admin.wait_for_dag(DAG_ID)
            start = time.perf_counter()
            run_id = live.admin.trigger(DAG_ID, {"domains": [domain], "tasks": tasks, "publish": "never"})
            live.admin.wait(DAG_ID, run_id, seconds=600)
            took = time.perf_counter() - start
        synthesize(domain, Path(folder) / domain, tasks=tasks)
        made, expected = Path(home.data) / "runs" / run_name(run_id) / "dataset", Path(folder) / domain
        files = sorted({*files_in(made), *files_in(expected)})
        same = sum(
            (made / path).is_file() and (expected / path).is_file() and _alike(made / path, expected / path)
            for path in files
        )
        return live.seconds_to_healthy, took, same / len(files)


def _alike(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()
