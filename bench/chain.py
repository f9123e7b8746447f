"""One night on this machine, from synthesis to evaluation: `make nightly`.

An Airflow of its own is started. `synthesize_dataset` is triggered; `publish_dataset`, `train_orchestrator` and
`evaluate_orchestrator` follow, each by the asset of the one before. What is published goes to a Hub of its own on this
machine. Prints a line for each run, and where the report is.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolscale.pipeline.every_domain import every_domain

if TYPE_CHECKING:
    from homes import LiveAirflow

    from tests.publish.hub_server import Hub

CHAIN = ("synthesize_dataset", "publish_dataset", "train_orchestrator", "evaluate_orchestrator")
REPO = "me/nightly"
SECONDS = 3 * 3600.0
"""Until a run that does not begin, or does not end, is given up: a training takes three times as long beside other
work."""


@dataclass(frozen=True)
class Run:
    """A run of one DAG, and what its last task returned."""

    dag_id: str
    state: str
    seconds: float
    told: Any


LAST = {
    "synthesize_dataset": "collect",
    "publish_dataset": "push",
    "train_orchestrator": "report",
    "evaluate_orchestrator": "regression_gate",
}
"""DAG -> the task that says what came of it."""


@contextmanager
def house(folder: Path, training: Path | None = None) -> Iterator[tuple[LiveAirflow, Hub]]:
    """Run an Airflow in `folder` that publishes to a Hub on this machine, and trains and evaluates as the repository
    does. `training`: what stands for the repository's folder of that name."""
    from homes import ROOT, make_home, standalone

    from tests.publish.hub_server import serving

    with serving() as (endpoint, hub):
        connection = json.dumps({"conn_type": "generic", "password": "hf_write", "host": endpoint})
        settings = {"AIRFLOW_CONN_TOOLSCALE_HUB": connection}
        home = make_home(folder, training=training or ROOT / "training", evaluation=ROOT / "eval", settings=settings)
        with standalone(home) as live:
            yield live, hub


def run_chain(live: LiveAirflow, domains: Sequence[str], tasks: int) -> Iterator[Run]:
    """Trigger `synthesize_dataset`, and wait until all that follows from it is done; each run as it ends. The run of
    `train_orchestrator` that waits for the dataset to be published, and is skipped, is none of them. Raises with logs
    where a run fails."""
    for dag_id in CHAIN:
        live.admin.wait_for_dag(dag_id)
    order = {"domains": list(domains), "tasks": tasks, "publish": "auto", "repo": REPO}
    live.admin.trigger(CHAIN[0], order)
    for dag_id in CHAIN:
        yield _finished(live, dag_id)


def _finished(live: LiveAirflow, dag_id: str) -> Run:
    """Wait for the first run of a DAG that was not skipped."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for run in live.admin.get(f"dags/{dag_id}/dagRuns")["dag_runs"]:
            done = live.admin.wait(dag_id, run["dag_run_id"], seconds=SECONDS)
            (last,) = [each for each in live.admin.tasks(dag_id, run["dag_run_id"]) if each["task_id"] == LAST[dag_id]]
            if last["state"] == "success":
                told = live.admin.xcom(dag_id, run["dag_run_id"], LAST[dag_id])
                return Run(dag_id, done["state"], _seconds(done), told)
        time.sleep(2)
    raise TimeoutError(f"no run of {dag_id} after {SECONDS:.0f} s")


def _seconds(run: dict[str, Any]) -> float:
    begin, end = (datetime.fromisoformat(run[name].replace("Z", "+00:00")) for name in ("start_date", "end_date"))
    return (end - begin).total_seconds()


@click.command(help=__doc__)
@click.option("--domain", default="finance", show_default=True, help="A domain, or all.")
@click.option("--tasks", default=396, show_default=True, help="Of each domain.")
@click.option("--out", type=click.Path(path_type=Path), default="var/nightly", show_default=True)
def main(domain: str, tasks: int, out: Path) -> None:
    if out.exists():
        if not (out / ".airflow").is_dir():
            raise click.UsageError(f"{out} is no folder of an earlier night; give one that does not exist")
        shutil.rmtree(out)
    begin = time.perf_counter()
    domains = sorted(every_domain()) if domain == "all" else [domain]
    with house(out.absolute()) as (live, hub):
        try:
            for run in run_chain(live, domains, tasks):
                click.echo(f"{run.dag_id:<24}{run.state:<10}{run.seconds:>7.0f} s")
        except (AssertionError, TimeoutError) as error:  # a run failed, or took too long: it says which, and its logs
            raise click.ClickException(str(error)) from error
    click.echo(f"published: {len(hub.titles(REPO))} commits in {REPO}")
    for report in run.told["reports"]:
        click.echo(f"report: {report}")
    click.echo(f"{time.perf_counter() - begin:.0f} s from the start of Airflow to its end")


if __name__ == "__main__":
    main()
