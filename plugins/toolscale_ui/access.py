"""Who may look: whoever Airflow lets read the task instances of `synthesize_dataset`."""

from __future__ import annotations


from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.configuration import AIRFLOW_HOME
from fastapi import FastAPI

from toolscale_ui.app import create_app
from toolscale_ui.rejects import DAG_ID


def data_url() -> str:
    """Return where the scheduled runs lie: TOOLSCALE_DATA, a path or a URL of fsspec."""
    from toolscale.dataset.runs import data_root

    return data_root(AIRFLOW_HOME)


def authorized_app() -> FastAPI:
    """Return the app with every route behind Airflow's authorization. The DAG is named here, so that no parameter of a
    request can choose another."""
    return create_app(data_url(), requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE, param_dag_id=DAG_ID))
