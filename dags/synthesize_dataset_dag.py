"""
### A verified dataset, every night

For each chosen domain: **build** the environment (admit, populate), **plan** the candidates, **judge** them in shards,
**assemble** the dataset, **consult** a model that tries the tasks (where `attempts` is not 0), and hold the dataset
against the **quality gate**. What was rejected, and why, is under *Rejected tasks*: of this run, and of each `judge`
task. A reject is no failure; only `quality_gate` turns red. When every domain has passed, **collect** makes one dataset
of them and says so with the asset `verified_dataset`. With `TOOLSCALE_KEEP` set, **prune** then removes old runs.

Without a seed, a scheduled night has a seed of its own, which a backfill of that night repeats; a run by hand has 0, as
`make dataset` has.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import Metadata, dag, get_current_context, setup, task, teardown
from airflow.sdk.exceptions import AirflowSkipException
from synthesize_domain import domains_to_parse, group_of, synthesize_domain
from synthesize_params import PARAMS
from toolscale_house import DEFAULTS, VERIFIED, check_conf, partition
from toolscale_nights import nights


# No start date: with one, a new installation would begin with last night's run at once.
# A run by hand does not wait until a night is done.
@dag(
    schedule=nights(),
    catchup=False,
    max_active_runs=4,
    dagrun_timeout=timedelta(days=2),
    params=PARAMS,
    default_args=DEFAULTS,
    tags=["toolscale", "dataset"],
    doc_md=__doc__,
)
def synthesize_dataset():
    @setup
    @task
    def order() -> str:
        from toolscale.pipeline.scheduled import data_root, order_of, order_run

        context = check_conf(get_current_context(), PARAMS)
        return order_run(data_root(os.environ["AIRFLOW_HOME"]), order_of(context["dag_run"], context["params"]))

    @task.branch
    def choose() -> list[str]:
        # The tasks of the other domains start no worker.
        return [f"{group_of(domain)}.build" for domain in get_current_context()["params"]["domains"]]

    @task(trigger_rule="none_failed_min_one_success", outlets=[VERIFIED])
    def collect(run: str):
        from toolscale.pipeline.scheduled import collect_run

        collected = collect_run(run)
        partition(get_current_context(), VERIFIED)
        yield Metadata(VERIFIED, collected)
        return collected

    @teardown
    @task
    def close(run: str) -> str:
        from toolscale.pipeline.scheduled import close_run

        return close_run(run, datetime.now(UTC))

    @teardown
    @task
    def prune() -> list[str]:
        from toolscale.pipeline.scheduled import data_root, keep_told, prune_runs

        if (keep := keep_told()) is None:
            raise AirflowSkipException("TOOLSCALE_KEEP is not set: all runs are kept")
        return [run.name for run in prune_runs(data_root(os.environ["AIRFLOW_HOME"]), keep) if not run.kept]

    run = order()
    run >> (chosen := choose())
    # By template: only tasks with the rule all_success may follow a setup directly.
    collected = collect(run="{{ ti.xcom_pull('order') }}")
    for domain in domains_to_parse():
        chosen >> synthesize_domain.override(group_id=group_of(domain))(domain, run) >> collected
    # A teardown that fails is red; the run is not.
    collected >> close(run).as_teardown(setups=run) >> prune().as_teardown(setups=run)


synthesize_dataset()
