"""
### From a verified dataset to the Hub

Runs when `synthesize_dataset` has made a dataset. `publish` of that run says what happens: with **ask** a person approves it here, under *Required
Actions*, seeing the figures; with **auto** it is pushed straight on; with **never** nothing happens. A push is one commit and a tag; what has not
changed is not uploaded again. The repository comes from the Variable `TOOLSCALE_REPO`, the token from the connection `toolscale_hub`; where there are
none, from the environment variables `TOOLSCALE_REPO` and `HF_TOKEN`.

Nights do not run backwards: a dataset of an older night than the one that the repository holds is not published. A dataset that was made by hand has
no repository unless somebody names one.

Triggered by hand, it publishes the dataset (a path or URL) that is given.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Metadata, Param, conf, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException
from toolscale_alerts import ApprovalExpired, ApprovalWaits
from toolscale_house import DEFAULTS, PUBLISHED, VERIFIED, check_conf
from toolscale_settings import hub, repository

PARAMS = {
    "dataset": Param(None, type=["null", "string"], description="Path or URL of a dataset. Empty: the one that triggered this run."),
    "repo": Param(None, type=["null", "string"], description="Repository on the Hub, owner/name. Empty: the one of TOOLSCALE_REPO."),
    "publish": Param("ask", type="string", enum=["ask", "auto"], description="Of a dataset that is given here."),
}


@dag(schedule=[VERIFIED], catchup=False, max_active_runs=4, dagrun_timeout=timedelta(days=3), params=PARAMS, default_args=DEFAULTS,
     tags=["toolscale", "hub"], doc_md=__doc__)  # fmt: skip
def publish_dataset():
    @task(inlets=[PUBLISHED])
    def inspect() -> dict:
        from toolscale.pipeline.publishing import inspect_dataset, latest_night, newer_night

        context = check_conf(get_current_context(), PARAMS)
        events = [event for found in context["triggering_asset_events"].values() for event in found]
        told = [dict(event.extra) for event in sorted(events, key=lambda event: event.timestamp)] or [dict(context["params"])]
        wanted = [made for made in told if made["publish"] != "never"]
        if not wanted:
            raise AirflowSkipException("the run that made the dataset says `publish: never`")
        newest = latest_night(wanted)
        for other in (made for made in wanted if made is not newest):
            context["ti"].log.warning("not published, since a newer dataset was made before it could be: %s", other["dataset"])
        repo = context["params"]["repo"] or newest.get("repo") or (None if newest.get("by_hand") else repository())
        if newer := newer_night((event.extra for event in context["inlet_events"][PUBLISHED]), repo, newest.get("night")):
            raise AirflowSkipException(f"the night {newest['night']} is not published: {repo} holds that of {newer}, and nights do not run backwards")
        pages = f"{conf.get('api', 'base_url').rstrip('/')}/toolscale"
        return inspect_dataset(newest["dataset"], repo, newest["publish"], newest.get("sha256"), newest.get("night"), pages=pages)

    @task.branch
    def choose(inspected: dict) -> str:
        return "push" if inspected["publish"] == "auto" else "approve"

    @task(trigger_rule="none_failed_min_one_success", pool="hub", inlets=[PUBLISHED], outlets=[PUBLISHED])
    def push(inspected: dict, approved: dict | None):
        from toolscale.pipeline.publishing import newer_night, push_dataset

        repo = (approved or {}).get("params_input", {}).get("repo") or inspected["repo"]
        events = get_current_context()["inlet_events"][PUBLISHED]
        if newer := newer_night((event.extra for event in events), repo, inspected["night"]):  # of a night that was published meanwhile
            raise AirflowSkipException(f"the night {inspected['night']} is not published: {repo} holds that of {newer}")
        pushed = push_dataset(inspected["dataset"], repo, inspected["sha256"], inspected["night"], **hub())
        yield Metadata(PUBLISHED, pushed)
        return pushed

    approve = ApprovalOperator(
        task_id="approve", subject="Publish this dataset?", body="{{ ti.xcom_pull('inspect')['body'] }}", defaults="Reject",
        response_timeout=timedelta(hours=20), params={"repo": PARAMS["repo"]}, notifiers=[ApprovalWaits()], on_success_callback=ApprovalExpired(),
    )  # fmt: skip
    inspected = inspect()
    choose(inspected) >> [approve, push(inspected, approve.output)]


publish_dataset()
