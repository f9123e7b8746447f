"""ToolScale in the UI of Airflow: "Rejected tasks" in the navigation, on DAG runs and on task instances, "Quarantine",
"Nights" and "Evaluations".

Every component of Airflow loads this file, and only the API server ever answers a request. So the pages, DuckDB and the
templates are imported by the first request, in a thread of their own, and not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any

from airflow.plugins_manager import AirflowPlugin

Asgi = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]

PREFIX = "/toolscale"
OF_RUN = "dag_id={DAG_ID}&run_id={RUN_ID}"


@cache
def _app() -> Asgi:
    from toolscale_ui.access import authorized_app

    return authorized_app()


class PagesOnFirstRequest:
    """The app, made when it is first asked for something."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        """Hand a request on."""
        app = await asyncio.to_thread(_app)
        await app(scope, receive, send)


def _view(name: str, href: str, url_route: str, destination: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "href": f"toolscale/{href}", "url_route": url_route, "destination": destination, **more}


APPS = [{"app": PagesOnFirstRequest(), "url_prefix": PREFIX, "name": "ToolScale"}]
VIEWS = [
    _view(
        "Rejected tasks",
        "rejects",
        "rejected-tasks",
        "nav",
        category="browse",
        icon="toolscale/static/rejected-tasks.svg",
    ),
    _view("Quarantine", "quarantine", "quarantine", "nav", category="browse", icon="toolscale/static/quarantine.svg"),
    _view("Nights", "nights", "nights", "nav", category="browse", icon="toolscale/static/nights.svg"),
    _view(
        "Evaluations", "evaluations", "evaluations", "nav", category="browse", icon="toolscale/static/evaluations.svg"
    ),
    _view("Rejected tasks", f"rejects?{OF_RUN}", "rejected-tasks-of-run", "dag_run"),
    _view(
        "Rejected tasks",
        f"rejects?{OF_RUN}&task_id={{TASK_ID}}&map_index={{MAP_INDEX}}",
        "rejected-tasks-of-task",
        "task_instance",
    ),
]


class ToolScalePlugin(AirflowPlugin):
    """Pages over what the scheduled pipeline wrote."""

    name = "toolscale"
    fastapi_apps = APPS
    external_views = VIEWS
