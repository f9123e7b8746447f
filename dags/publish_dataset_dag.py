"""
### From a verified dataset to the Hub

Runs for each dataset that `synthesize_dataset` has made; its partition key is the id of the run that made it. `publish`
of that run says what happens: with **ask** a person approves it here, under *Required Actions*, seeing the figures;
with **auto** it is pushed straight on; with **never** nothing happens. A push is one commit and a tag; what has not
changed is not uploaded again. The repository comes from the Variable `TOOLSCALE_REPO`, the token from the connection
`toolscale_hub`; where there are none, from the environment variables `TOOLSCALE_REPO` and `HF_TOKEN`.

Nights do not run backwards: a dataset of an older night than the one that the repository holds is not published. A
dataset that was made by hand has no repository unless somebody names one.

Triggered by hand, it publishes the dataset (a path or URL) that is given.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Metadata, PartitionedAssetTimetable, conf, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException
from publish_params import PARAMS
from toolscale_alerts import ApprovalExpired, ApprovalWaits
from toolscale_house import DEFAULTS, PUBLISHED, VERIFIED, check_conf, partition, told_of
from toolscale_settings import hub, repository

OLDER = "the night {night} is not published: {repo} holds that of {newer}, and nights do not run backwards"


@dag(
    schedule=PartitionedAssetTimetable(assets=VERIFIED),
    catchup=False,
    max_active_runs=12,  # one that waits for an answer takes no worker
    dagrun_timeout=timedelta(days=3),
    params=PARAMS,
    default_args=DEFAULTS,
    tags=["toolscale", "hub"],
    doc_md=__doc__,
)
def publish_dataset():
    @task(inlets=[PUBLISHED])
    def inspect() -> dict:
        from toolscale.pipeline.publishing import inspect_dataset, newer_night

        context = check_conf(get_current_context(), PARAMS)
        told = told_of(context) or context["params"]
        if told["publish"] == "never":
            raise AirflowSkipException("the run that made the dataset says `publish: never`")
        night = told.get("night")
        repo = context["params"]["repo"] or told.get("repo") or (None if told.get("by_hand") else repository())
        if newer := newer_night((event.extra for event in context["inlet_events"][PUBLISHED]), repo, night):
            raise AirflowSkipException(OLDER.format(night=night, repo=repo, newer=newer))
        pages = f"{conf.get('api', 'base_url').rstrip('/')}/toolscale"
        return inspect_dataset(told["dataset"], repo, told["publish"], told.get("sha256"), night, pages=pages)

    @task.branch
    def choose(inspected: dict) -> str:
        return "push" if inspected["publish"] == "auto" else "approve"

    @task(trigger_rule="none_failed_min_one_success", pool="hub", inlets=[PUBLISHED], outlets=[PUBLISHED])
    def push(inspected: dict, approved: dict | None):
        from toolscale.pipeline.publishing import newer_night, push_dataset

        repo = (approved or {}).get("params_input", {}).get("repo") or inspected["repo"]
        context = get_current_context()
        # Asked again: a newer night may have been published while this one waited.
        events = (event.extra for event in context["inlet_events"][PUBLISHED])
        if newer := newer_night(events, repo, inspected["night"]):
            raise AirflowSkipException(OLDER.format(night=inspected["night"], repo=repo, newer=newer))
        pushed = push_dataset(inspected["dataset"], repo, inspected["sha256"], inspected["night"], **hub())
        partition(context, PUBLISHED)
        yield Metadata(PUBLISHED, pushed)
        return pushed

    approve = ApprovalOperator(
        task_id="approve",
        subject="Publish this dataset?",
        body="{{ ti.xcom_pull('inspect')['body'] }}",
        defaults="Reject",
        response_timeout=timedelta(hours=20),
        params={"repo": PARAMS["repo"]},
        notifiers=[ApprovalWaits()],
        on_success_callback=ApprovalExpired(),
    )
    inspected = inspect()
    choose(inspected) >> [approve, push(inspected, approve.output)]


publish_dataset()
