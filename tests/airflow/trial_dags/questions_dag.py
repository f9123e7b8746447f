"""A question that nobody answers in time, with the alerts of publish_dataset, and a deadline that is missed meanwhile."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DeadlineAlert, dag

sys.path.append(str(Path(__file__).parents[3] / "dags"))
from toolscale_alerts import LATE, ApprovalExpired, ApprovalWaits

SOON = DeadlineAlert(LATE.reference, timedelta(seconds=2), LATE.callback, LATE.name)


@dag("questions", schedule=None, catchup=False, max_active_runs=1, deadline=SOON, tags=["trial"], doc_md=__doc__, default_args={"owner": "tests"})
def questions():
    ApprovalOperator(
        task_id="approve", subject="Is anybody there?", defaults="Reject", response_timeout=timedelta(seconds=60), notifiers=[ApprovalWaits()],
        on_success_callback=ApprovalExpired(),
    )  # fmt: skip


questions()
