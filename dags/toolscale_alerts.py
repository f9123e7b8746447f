"""Who is told of what needs a person: each alert is a line of the log, and is posted to the webhook in
TOOLSCALE_ALERT_WEBHOOK, if that is set."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseNotifier

WEBHOOK = "TOOLSCALE_ALERT_WEBHOOK"


class Alert(BaseNotifier):
    """Posts what `text` says, unless it is empty, as JSON with a field `text`, as chat services expect it."""

    def text(self, context: Any) -> str:
        """Say in one line what happened."""
        raise NotImplementedError

    def notify(self, context: Any) -> None:
        import requests
        from toolscale_settings import secret

        instance = context["task_instance"]
        if not (text := self.text(context)):
            return
        self.log.error(text)
        if webhook := secret(WEBHOOK):
            told = {
                "text": text,
                "dag_id": instance.dag_id,
                "run_id": instance.run_id,
                "task_id": instance.task_id,
                "map_index": instance.map_index,
            }
            try:
                # Left to itself, `requests` sends what a .netrc has for the host.
                requests.post(webhook, json=told, timeout=10, auth=lambda request: request).raise_for_status()
            except (
                requests.RequestException
            ) as error:  # the address may hold a secret, and so may the words of the error
                self.log.error("the alert could not be posted to %s: %s", WEBHOOK, type(error).__name__)


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
        return (
            f"{instance.dag_id}.{instance.task_id} expired in {instance.run_id}: "
            f"nobody answered, which counts as {answer['chosen_options'][0]}"
        )
