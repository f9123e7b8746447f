"""What an installation is told: Airflow's Variables and Connections, so any secrets backend, and environment variables
where those say nothing.

Only tasks and callbacks call these functions. Parsing a DAG file must not ask a database.
"""

from __future__ import annotations

import json
import os
from typing import Any

HUB = "toolscale_hub"
"""The connection to the Hub: its password is the token; its host, if it has one, the URL of a Hub that is not the usual
one."""


def setting(name: str) -> str | None:
    """The Airflow Variable `name`, else the environment variable; None if neither says anything."""
    from airflow.sdk import Variable

    return Variable.get(name, default=None) or os.environ.get(name) or None


def secret(name: str) -> str | None:
    """Like `setting`, for a value that must not be in a log: Airflow hides it there."""
    from airflow.sdk.log import mask_secret

    value = setting(name)
    if value:
        mask_secret(value)
    return value


def repository() -> str | None:
    """The repository on the Hub to which datasets are published, if nothing else is said."""
    return setting("TOOLSCALE_REPO")


def hub() -> dict[str, str]:
    """`token` and `endpoint` of the Hub, as far as the connection `toolscale_hub` says them; the rest comes from
    HF_TOKEN and HF_ENDPOINT."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        found = Connection.get(HUB)
    except AirflowNotFoundException:
        return {}
    return {name: value for name, value in {"token": found.password, "endpoint": found.host}.items() if value}


def thresholds() -> Any:
    """What the quality gate wants instead of its defaults: figure -> threshold, written as JSON in
    TOOLSCALE_THRESHOLDS."""
    from toolscale.errors import UsageError

    text = setting("TOOLSCALE_THRESHOLDS")
    try:
        wanted = json.loads(text) if text else {}
    except ValueError as error:
        raise UsageError(
            f'TOOLSCALE_THRESHOLDS is {text!r}, which is no JSON; say e.g. {{"accepted_share": 0.5}}'
        ) from error
    return wanted
