"""
### From a dataset to a trained orchestrator

Runs when `publish_dataset` has published a dataset, or when `synthesize_dataset` has made one with `publish: never`. **prepare** says what is trained
and from which dataset, **train** runs `python -m training.train` on a worker of the queue `gpu`, **report** tells the figures, with the asset
`checkpoint`.

The training is a process of its own. If its worker is killed, it goes on, and the next try of `train` finds it. If it is killed itself, it is started
again and goes on from its newest checkpoint. Mark `train` as failed, and **stop** ends it; clear `train`, and it goes on.

Triggered by hand, it trains with the dataset (a path or URL) that is given, or with none: questions and the mock domain only.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import Metadata, Param, dag, get_current_context, setup, task, teardown
from airflow.sdk.exceptions import AirflowSkipException
from toolscale_house import CHECKPOINT, DEFAULTS, PUBLISHED, VERIFIED, check_conf, configs

PARAMS = {
    "config": Param("tiny_cpu", type="string", enum=configs(), description="A file in training/configs. One process trains."),
    "dataset": Param(None, type=["null", "string"], description="Path or URL of a dataset. Empty: the one that triggered this run, or none."),
    "steps": Param(None, type=["null", "integer"], minimum=1, maximum=1_000_000, description="Empty: as many as the config says."),
    "out": Param(None, type=["null", "string"], pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$",
                 description="Name of the folder that is written, in training/ of the data. Empty: one of this run's own."),
}  # fmt: skip


# No dagrun_timeout: it would leave out `stop`, and the training would go on. `train` has a timeout of its own.
@dag(schedule=PUBLISHED | VERIFIED, catchup=False, max_active_runs=4, params=PARAMS, default_args=DEFAULTS, tags=["toolscale", "gpu"], doc_md=__doc__)
def train_orchestrator():
    @setup
    @task
    def prepare() -> dict:
        from toolscale.pipeline.scheduled import data_root
        from toolscale.pipeline.training import prepare_training, wanted_datasets

        context = check_conf(get_current_context(), PARAMS)
        events = [event for found in context["triggering_asset_events"].values() for event in found]
        wanted = wanted_datasets([dict(event.extra) for event in sorted(events, key=lambda event: event.timestamp)])
        if events and not wanted:
            raise AirflowSkipException("the dataset is not published yet; if it will be, that triggers a run of its own")
        for older in wanted[:-1]:
            context["ti"].log.warning("no training, since there is a newer dataset: %s", older.get("dataset"))
        root = data_root(os.environ["AIRFLOW_HOME"])
        return prepare_training(root, context["dag_run"].run_id, context["params"], wanted[-1] if wanted else None)

    @task(queue="gpu", pool="gpu", execution_timeout=timedelta(days=7))
    def train(prepared: dict) -> dict:
        from toolscale.pipeline.training import train_orchestrator

        return train_orchestrator(prepared, Path(os.environ["AIRFLOW_HOME"]))

    @task(queue="gpu", outlets=[CHECKPOINT])
    def report(prepared: dict):
        from toolscale.pipeline.training import report_training

        told = report_training(prepared)
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
