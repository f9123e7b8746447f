"""
### From a dataset to a trained orchestrator

Runs when `publish_dataset` has published a dataset, or when `synthesize_dataset` has made one with `publish: never`.
**prepare** says what is trained and from which dataset, **train** runs `python -m training.train` on a worker of the
queue `gpu`, **report** tells the figures, with the asset `checkpoint`.

The training is a process of its own. If its worker is killed, it goes on, and the next try of `train` finds it. If it
is killed itself, it is started again and goes on from its newest checkpoint. Mark `train` as failed, and **stop** ends
it; clear `train`, and it goes on.

Triggered by hand, it trains with the dataset (a path or URL) that is given, or with none: questions and the mock domain
only.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import Metadata, PartitionedAssetTimetable, dag, get_current_context, setup, task, teardown
from airflow.sdk.exceptions import AirflowSkipException
from toolscale_house import CHECKPOINT, DEFAULTS, PUBLISHED, VERIFIED, check_conf, partition, told_of
from train_params import PARAMS


# No dagrun_timeout: it would leave out `stop`, and the training would go on. `train` has a timeout of its own.
@dag(
    schedule=PartitionedAssetTimetable(assets=PUBLISHED | VERIFIED),
    catchup=False,
    max_active_runs=4,
    params=PARAMS,
    default_args=DEFAULTS,
    tags=["toolscale", "gpu"],
    doc_md=__doc__,
)
def train_orchestrator():
    @setup
    @task
    def prepare() -> dict:
        from toolscale.pipeline.scheduled import data_root
        from toolscale.pipeline.training import calls_for_training, prepare_training

        context = check_conf(get_current_context(), PARAMS)
        told = told_of(context)
        if told is not None and not calls_for_training(told):
            raise AirflowSkipException(
                "the dataset is not published yet; if it will be, that triggers a run of its own"
            )
        root = data_root(os.environ["AIRFLOW_HOME"])
        return prepare_training(root, context["dag_run"].run_id, context["params"], told)

    @task(queue="gpu", pool="gpu", execution_timeout=timedelta(days=7))
    def train(prepared: dict) -> dict:
        from toolscale.pipeline.training import train_orchestrator

        return train_orchestrator(prepared, Path(os.environ["AIRFLOW_HOME"]))

    @task(queue="gpu", outlets=[CHECKPOINT])
    def report(prepared: dict):
        from toolscale.pipeline.training import report_training

        told = report_training(prepared)
        partition(get_current_context(), CHECKPOINT)
        yield Metadata(CHECKPOINT, told)
        return told

    @teardown
    @task(queue="gpu", priority_weight=1_000)  # before the next training begins
    def stop(prepared: dict) -> str:
        from toolscale.pipeline.training import stop_orchestrator

        return stop_orchestrator(prepared, Path(os.environ["AIRFLOW_HOME"]))

    prepared = prepare()
    train(prepared) >> report(prepared) >> stop(prepared).as_teardown(setups=prepared)


train_orchestrator()
