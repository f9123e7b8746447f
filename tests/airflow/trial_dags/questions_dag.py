"""A question that nobody answers in time, with the alerts of publish_dataset."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import dag

sys.path.append(str(Path(__file__).parents[3] / "dags"))
from toolscale_alerts import ApprovalExpired, ApprovalWaits


@dag(
    "questions",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    tags=["trial"],
    doc_md=__doc__,
    default_args={"owner": "tests"},
)
def questions():
    ApprovalOperator(
        task_id="approve",
        subject="Is anybody there?",
        defaults="Reject",
        response_timeout=timedelta(seconds=5),
        notifiers=[ApprovalWaits()],
        on_success_callback=ApprovalExpired(),
    )


questions()
