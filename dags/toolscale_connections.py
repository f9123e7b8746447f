"""Airflow's connections: to the model that drafts domains and tries tasks, and to a database that a draft starts from.

Only tasks call these functions.
"""

from __future__ import annotations

import os
from typing import Any

MODEL = "toolscale_model"
"""The connection to the model: its host is the URL, its password the key, its extra `model` and
`price`."""


def model() -> Any:
    """The model that is asked: that of the connection `toolscale_model`, else of the environment variables
    TOOLSCALE_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY, TOOLSCALE_MODEL_PRICE."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    from toolscale.models.chat import model_from

    try:
        found = Connection.get(MODEL)
    except AirflowNotFoundException:
        return model_from(os.environ)
    more = found.extra_dejson
    told = {
        "TOOLSCALE_MODEL": more.get("model"),
        "TOOLSCALE_MODEL_PRICE": more.get("price"),
        "OPENAI_BASE_URL": found.host,
        "OPENAI_API_KEY": found.password,
    }
    os.environ.update({name: str(value) for name, value in told.items() if value})  # of this task's process alone
    return model_from(os.environ)


def database(connection: str | None) -> str | None:
    """The URL of the database that a connection names; None where none is named."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    from toolscale.errors import UsageError

    if not connection:
        return None
    try:
        url = str(Connection.get(connection).get_uri())
    except AirflowNotFoundException as error:
        raise UsageError(f"there is no connection {connection!r}; make it, or leave `connection` empty") from error
    return url.replace("postgres://", "postgresql://", 1)
