"""What a person is told of: each alert is a line of the log, and is posted to the webhook in TOOLSCALE_ALERT_WEBHOOK, if that is set."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import AsyncCallback, BaseNotifier, DeadlineAlert, DeadlineReference

LATE = DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(hours=6), AsyncCallback("toolscale_webhook.tell_late"), name="late")
"""A run is not done six hours after it could begin."""


class Alert(BaseNotifier):
    """Says `text`, unless it is empty."""

    def text(self, context: Any) -> str:
        """Say in one line what happened."""
        raise NotImplementedError

    def notify(self, context: Any) -> None:
        from toolscale_webhook import post

        instance = context["task_instance"]
        if not (text := self.text(context)):
            return
        self.log.error(text)
        post(text, dag_id=instance.dag_id, run_id=instance.run_id, task_id=instance.task_id, map_index=instance.map_index)


class TaskFailed(Alert):
    """A task failed, and is not tried again."""

    def text(self, context: Any) -> str:
        instance = context["task_instance"]
        first_line = (str(context.get("exception") or "killed").splitlines() or [""])[0][:500]
        return f"{instance.dag_id}.{instance.task_id} failed in {instance.run_id}: {first_line}"


class ApprovalWaits(Alert):
    """A person is asked."""

    def text(self, context: Any) -> str:
        instance = context["task_instance"]
        where = context["task"].generate_link_to_ui(task_instance=instance)
        return f"{instance.dag_id}.{instance.task_id} waits for an answer in {instance.run_id}: {where}"


class ApprovalExpired(Alert):
    """A person was asked, and nobody answered in time."""

    def text(self, context: Any) -> str:
        instance = context["task_instance"]
        answer = instance.xcom_pull(task_ids=instance.task_id) or {}
        if answer.get("responded_by_user"):
            return ""
        return f"{instance.dag_id}.{instance.task_id} expired in {instance.run_id}: nobody answered, which counts as {answer['chosen_options'][0]}"
