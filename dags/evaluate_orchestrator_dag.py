"""
### What a trained orchestrator is worth

Runs when `train_orchestrator` has trained one. **prepare** says what is evaluated, **evaluate** runs `python -m eval`
on a worker of the queue `gpu`, once for each benchmark, beside the model that training began with and the checkpoint
that was accepted last. Its result names the report, one HTML page. **regression_gate** accepts the checkpoint, unless
it is worse than the last accepted one: with 95 % confidence, on the same tasks. Lower alone is not worse.

The evaluation is a process of its own. If its worker is killed, it goes on, and the next try of `evaluate` finds it; if
it is killed itself, it goes on with the tasks that are missing.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import PartitionedAssetTimetable, dag, get_current_context, setup, task, teardown
from evaluate_params import PARAMS
from toolscale_house import CHECKPOINT, DEFAULTS, check_conf, told_of


@dag(
    schedule=PartitionedAssetTimetable(assets=CHECKPOINT),
    catchup=False,
    max_active_runs=1,  # the next one is compared with what this one accepts
    params=PARAMS,
    default_args=DEFAULTS,
    tags=["toolscale", "gpu"],
    doc_md=__doc__,
)
def evaluate_orchestrator():
    @setup
    @task
    def prepare() -> list[dict]:
        from toolscale.pipeline.evaluating import prepare_evaluation
        from toolscale.pipeline.scheduled import data_root

        context = check_conf(get_current_context(), PARAMS)
        root = data_root(os.environ["AIRFLOW_HOME"])
        return prepare_evaluation(root, context["dag_run"].run_id, context["params"], told_of(context))

    @task(queue="gpu", pool="gpu")
    def evaluate(plan: dict) -> dict:
        from toolscale.pipeline.evaluating import evaluate_checkpoint

        return evaluate_checkpoint(plan, Path(os.environ["AIRFLOW_HOME"]))

    @task(queue="gpu")
    def regression_gate(evaluated: list[dict]) -> dict:
        from toolscale.pipeline.evaluating import accept_checkpoint
        from toolscale.pipeline.scheduled import data_root

        root = data_root(os.environ["AIRFLOW_HOME"])
        return accept_checkpoint(root, list(evaluated), Path(os.environ["AIRFLOW_HOME"]))

    @teardown
    @task(queue="gpu")
    def stop(plans: list[dict]) -> list[str]:
        from toolscale.pipeline.evaluating import stop_evaluations

        return stop_evaluations(list(plans), Path(os.environ["AIRFLOW_HOME"]))

    plans = prepare()
    regression_gate(evaluate.expand(plan=plans)) >> stop(plans).as_teardown(setups=plans)


evaluate_orchestrator()
