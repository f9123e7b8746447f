"""Who may look: whoever Airflow lets read the task instances of `synthesize_dataset`. Who may decide about a task:
whoever may start a run of it."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from airflow.configuration import AIRFLOW_HOME
from fastapi import Depends, FastAPI

from toolscale_ui.app import create_app
from toolscale_ui.rejects import DAG_ID

_may_start = requires_access_dag("POST", DagAccessEntity.RUN, param_dag_id=DAG_ID)


def decider(user: GetUserDep, allowed: Annotated[None, Depends(_may_start)]) -> str:
    """Return the name of a user who may start a run."""
    return str(user.get_name())


def data_url() -> str:
    """Return where the scheduled runs lie: TOOLSCALE_DATA, a path or a URL of fsspec."""
    from toolscale.dataset.runs import data_root

    return data_root(AIRFLOW_HOME)


def authorized_app() -> FastAPI:
    """Return the app with every route behind Airflow's authorization. The DAG is named here, so that no parameter of a
    request can choose another."""
    may_look = requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE, param_dag_id=DAG_ID)
    return create_app(data_url(), may_look, decider)
