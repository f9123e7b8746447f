"""The verb that serves tasks to other programs: serve."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import say
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.session.playable import Playable

TOKEN = "TOOLSCALE_SERVE_TOKEN"
MADE = 50
"""Tasks that are made where a domain is named of which there is no dataset."""


@click.command()
@click.argument("dataset", metavar="DATASET|DOMAIN")
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--session", type=click.Path(path_type=Path), help="The folder of the session.  [default: var/play/ID]")
@click.option("--http", is_flag=True, help="Serve all tasks over HTTP, instead of one over standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address that HTTP listens on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8_765, show_default=True, help="Its port; 0: any.")
@click.option(
    "--idle",
    type=click.FloatRange(min=1),
    default=1_800.0,
    show_default=True,
    help="Seconds after which an episode that nobody uses is closed.",
)
@click.option("--most", type=click.IntRange(1), default=4_096, show_default=True, help="Episodes open at once.")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Processes that share the episodes behind the one port; one for each core.",
)
def serve(
    dataset: str,
    task_id: str | None,
    session: Path | None,
    http: bool,
    host: str,
    port: int,
    idle: float,
    most: int,
    workers: int,
) -> None:
    """Serve tasks of DATASET to programs that speak MCP: agents, and the runners of others.

    Without --http it is one task over standard input and output, ID or the first one; its calls are kept in the session
    folder, and `toolscale play DATASET --session FOLDER --answer TEXT` gives the final message and tells the grade.
    With --http all tasks are served: POST /episodes opens one and names its URL for MCP (docs/use/serving.md has all
    routes), or with an ID that task alone: its tools at /call and, over MCP, at /mcp; its grade at /grade for whoever
    brings TOOLSCALE_SERVE_TOKEN. For another address than this machine's own set TOOLSCALE_SERVE_TOKEN; requests then
    bring it as a bearer token. Of a DOMAIN, var/datasets/DOMAIN is served; if it is not there, a small dataset is
    made first.
    """
    if http and session:
        raise UsageError("--http keeps no session folder; leave --session out")
    if workers > 1 and (task_id or not http):
        raise UsageError("--workers is for all tasks over HTTP; say --http and no ID, or leave --workers out")
    folder = _dataset(dataset)
    if http and task_id:
        return _serve_desk(folder, task_id, host, port)
    if http:
        return _serve_http(folder, host, port, idle, most, workers)
    from toolscale.serving.stdio import serve_stdio
    from toolscale.session.playable import Playable
    from toolscale.session.sitting import Sitting

    playable = Playable(folder)
    try:
        with Sitting.at(*_sitting(playable, task_id, session)) as sitting:
            say(
                f"toolscale: task {sitting.view().task} over standard input and output, kept in {sitting.folder}",
                err=True,
            )
            serve_stdio(sitting)
    finally:
        playable.close()


def _sitting(playable: Playable, task_id: str | None, session: Path | None) -> tuple[Path, Playable, str | None]:
    """Where a session is kept, and of which task it is: the first one unless one is named, or was begun there."""
    if task_id is None and session is not None and (session / "session.json").exists():
        return session, playable, None
    task = playable.task(task_id or playable.ids[0]).id
    return session or Path("var/play") / task, playable, task


def _serve_http(folder: Path, host: str, port: int, idle: float, most: int, workers: int) -> None:
    from toolscale.serving.connection import run_app
    from toolscale.serving.http import LOOPBACK, app_of
    from toolscale.session.sessions import Sessions

    token = os.environ.get(TOKEN)
    if host not in LOOPBACK and not token:
        raise UsageError(f"--host {host} lets other machines in; set {TOKEN} to a secret, or leave --host out")
    if workers > 1:
        from toolscale.serving.workers import serve_workers

        Sessions(folder).shut()  # what is no dataset is told here, once
        return serve_workers(folder, host, port, count=workers, idle_s=idle, most=most, token=token)
    with Sessions(folder, idle_s=idle, most=most) as sessions:
        run_app(app_of(sessions, token), host=host, port=port)


def _serve_desk(folder: Path, task_id: str, host: str, port: int) -> None:
    from toolscale.serving.desk import serve_desk
    from toolscale.serving.http import LOOPBACK

    token = os.environ.get(TOKEN)
    if host not in LOOPBACK:
        raise UsageError(f"--host {host}: one task is served to this machine alone; leave --host out")
    if not token:
        raise UsageError(f"one task over HTTP is graded for whoever has {TOKEN}; set it to a secret")
    serve_desk(folder, task_id, host, port, token)


def _dataset(given: str) -> Path:
    """The folder of a dataset; of a domain, that which `make dataset` makes."""
    if Path(given).is_dir():
        return Path(given)
    from toolscale.environment.registry import discover
    from toolscale.pipeline import synthesize

    if given not in discover():
        return Path(given)
    folder = Path("var/datasets") / given
    if not folder.is_dir():
        say(f"toolscale: {folder} is not there; {MADE} tasks of {given} are made", err=True)
        synthesize(given, folder, tasks=MADE)
    return folder
