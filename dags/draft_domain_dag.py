"""
### A new domain, drafted by a model

**draft** has a model write the domain that `name` stands for: tables, rows, tools, policy and intents, each admitted
before the next. A person **approves** it here, under *Required Actions*, seeing the figures, the policy and twenty
tasks; then **place** puts its folder among the domains (environments/, or where the Variable `TOOLSCALE_DOMAINS` says),
where it is to be committed; `synthesize_dataset` knows those in environments/.

The model is that of the connection `toolscale_model` (host, password, and in *extra* `model` and `price`); without one,
that of the environment variables TOOLSCALE_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY. Replies that were paid for are kept:
a draft that is tried again, or with a higher budget, goes on from them. The pool `llm` bounds the drafts at a time.
"""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import dag, get_current_context, task
from draft_params import PARAMS
from toolscale_alerts import ApprovalExpired, ApprovalWaits
from toolscale_connections import database, model
from toolscale_house import DEFAULTS, check_conf
from toolscale_settings import setting


@dag(
    schedule=None,
    catchup=False,
    max_active_runs=4,
    dagrun_timeout=timedelta(days=3),
    params=PARAMS,
    default_args=DEFAULTS,
    tags=["toolscale", "draft"],
    doc_md=__doc__,
)
def draft_domain():
    @task(pool="llm")
    def draft() -> dict:
        from toolscale.pipeline.reviewing import draft_settings, prepare_draft
        from toolscale.pipeline.scheduled import data_root

        given = check_conf(get_current_context(), PARAMS)["params"]
        settings = draft_settings(given, database(given["connection"]))
        root, domains = data_root(os.environ["AIRFLOW_HOME"]), setting("TOOLSCALE_DOMAINS")
        return prepare_draft(root, given["name"], model(), settings, domains=domains)

    @task
    def place(drafted: dict) -> str:
        from toolscale.pipeline.reviewing import place_draft

        return place_draft(drafted["folder"], drafted["domain"], drafted["hash"], domains=setting("TOOLSCALE_DOMAINS"))

    approve = ApprovalOperator(
        task_id="approve",
        subject="Take this domain?",
        body="{{ ti.xcom_pull('draft')['body'] }}",
        defaults="Reject",
        response_timeout=timedelta(hours=20),
        notifiers=[ApprovalWaits()],
        on_success_callback=ApprovalExpired(),
    )
    drafted = draft()
    drafted >> approve >> place(drafted)


draft_domain()
