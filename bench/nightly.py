"""The nightly run on this machine: how long Airflow takes to be healthy, how long a run takes, and whether it gives the
bytes of `make dataset`.

Started as the tests start it (tests/airflow), in a folder of its own: `PYTHONPATH=tests/airflow python -m
bench.nightly`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import click

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


@click.command()
@click.option("--domain", default="finance", show_default=True)
@click.option("--tasks", default=396, show_default=True)
def main(domain: str, tasks: int) -> None:
    """Measure a run and exit 1 if it is too slow or gives other bytes."""
    healthy, took, same = time_nightly(domain, tasks)
    click.echo(f"healthy after {healthy:.0f} s (at most {HEALTHY:g})")
    click.echo(
        f"{tasks} tasks of {domain} after {took:.0f} s (at most {RUN:g}); "
        f"{same:.0%} of the files are those of make dataset"
    )
    sys.exit(0 if healthy <= HEALTHY and took <= RUN and same == 1 else 1)


if __name__ == "__main__":
    main()
