"""The webhook in TOOLSCALE_ALERT_WEBHOOK: what needs a person is posted there as JSON with a field `text`, as chat services expect it.

It lies beside the plugin because plugins can be imported everywhere: the triggerer calls `tell_late`, and it has no folder of DAG files.
"""

from __future__ import annotations

import logging
import os
from typing import Any

WEBHOOK = "TOOLSCALE_ALERT_WEBHOOK"

log = logging.getLogger(__name__)


def post(text: str, **facts: Any) -> None:
    """Post a line, with facts for programs. Nothing happens if there is no webhook; that it cannot be reached is an error of the log, and no more."""
    import httpx
    from airflow.sdk import Variable
    from airflow.sdk.log import mask_secret

    if not (url := Variable.get(WEBHOOK, default=None) or os.environ.get(WEBHOOK)):
        return
    mask_secret(url)
    try:
        httpx.post(url, json={"text": text, **facts}, timeout=10).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:  # the address may hold a secret, and so may the words of the error
        log.error("the alert could not be posted to %s: %s", WEBHOOK, type(error).__name__)


async def tell_late(context: dict[str, Any]) -> str:
    """Post that a run of a DAG was not done by its deadline, and return what was said."""
    from asgiref.sync import sync_to_async

    run = context["dag_run"]
    text = f"{run['dag_id']} is late: {run['dag_run_id']} was to be done by {context['deadline']['deadline_time']}"
    log.error(text)
    await sync_to_async(post)(text, dag_id=run["dag_id"], run_id=run["dag_run_id"])
    return text
