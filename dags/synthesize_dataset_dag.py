"""
### A verified dataset, every night

For each chosen domain: **build** the environment (admit, populate), **plan** the candidates, **judge** them in shards, **assemble** the dataset, and
hold it against the **quality gate**. What was rejected, and why, is under *Rejected tasks*: of this run, and of each `judge` task. A reject is no
failure; only `quality_gate` turns red. When every domain has passed, **collect** makes one dataset of them and says so with the asset
`verified_dataset`. With `TOOLSCALE_KEEP` set, **prune** then removes old runs.

Without a seed, a scheduled night has a seed of its own, which a backfill of that night repeats; a run by hand has 0, as `make dataset` has.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from airflow.sdk import Metadata, Param, dag, get_current_context, setup, task, teardown
from airflow.sdk.exceptions import AirflowSkipException
from synthesize_domain import synthesize_domain
from toolscale_house import DEFAULTS, VERIFIED, check_conf, domains
from toolscale_nights import nights

PARAMS = {
    "domains": Param(["finance"], type="array", items={"type": "string", "enum": domains()}, examples=domains(), minItems=1, uniqueItems=True,
                     description="Each becomes a config of the dataset."),
    "tasks": Param(396, type="integer", minimum=1, maximum=1_000_000, description="Tasks wanted of each domain."),
    "seed": Param(None, type=["null", "integer"], minimum=0, maximum=2**31 - 1, description="Empty: the night's own; 0 in a run by hand."),
    "generator": Param("plans", type="string", enum=["plans"], description="Who writes tasks: the plans of intents.yaml; no model is called."),
    "evolved": Param(None, type=["null", "number"], minimum=0, maximum=1, description="Share of tasks that are evolved. Empty: two thirds."),
    "interaction": Param("single", type="string", enum=["single", "form"], description="How tasks are answered: by a message, or by a form."),
    "publish": Param(None, type=["null", "string"], enum=[None, "ask", "auto", "never"], description="Empty: ask a person; never in a backfill."),
    "repo": Param(None, type=["null", "string"],
                  description="Repository on the Hub, owner/name. Empty: the one of TOOLSCALE_REPO at night, none for a run by hand."),
}  # fmt: skip


# No start date: with one, a new installation would begin with last night's run at once. A run by hand does not wait until a night is done.
@dag(schedule=nights(), catchup=False, max_active_runs=4, params=PARAMS, default_args=DEFAULTS, tags=["toolscale", "dataset"], doc_md=__doc__)
def synthesize_dataset():
    @setup
    @task
    def order() -> str:
        from toolscale.pipeline.runs import data_root, order_of, order_run

        context = check_conf(get_current_context(), PARAMS)
        return order_run(data_root(os.environ["AIRFLOW_HOME"]), order_of(context["dag_run"], context["params"]))

    @task(trigger_rule="none_failed_min_one_success", outlets=[VERIFIED])
    def collect(run: str):
        from toolscale.pipeline.runs import collect_run

        collected = collect_run(run)
        yield Metadata(VERIFIED, collected)
        return collected

    @teardown
    @task
    def close(run: str) -> str:
        from toolscale.pipeline.runs import close_run

        return close_run(run, datetime.now(UTC))

    @teardown
    @task
    def prune() -> list[str]:
        from toolscale.pipeline.runs import data_root, keep_told, prune_runs

        if (keep := keep_told()) is None:
            raise AirflowSkipException("TOOLSCALE_KEEP is not set: all runs are kept")
        return [run.name for run in prune_runs(data_root(os.environ["AIRFLOW_HOME"]), keep) if not run.kept]

    run = order()
    # By template: only tasks with the rule all_success may follow a setup directly.
    collected = collect(run="{{ ti.xcom_pull('order') }}")
    for domain in domains():
        synthesize_domain.override(group_id=domain)(domain, run) >> collected
    collected >> close(run).as_teardown(setups=run) >> prune().as_teardown(setups=run)  # a teardown that fails is red; the run is not


synthesize_dataset()
