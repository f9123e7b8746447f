"""What sessions and the MCP server take: opening one, a call beside SQLite, a call over HTTP, and the memory of many
sessions one after the other."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import httpx2
import psutil
import uvicorn
from mcp import Client

from toolscale.environment.world import World
from toolscale.pipeline import synthesize
from toolscale.records import Task
from toolscale.serving.http import app_of
from toolscale.session.playable import Playable
from toolscale.session.sessions import Sessions

TASKS = 64
"""All open at once."""
EPISODES = 1_000
OPEN, CALL, HTTP = 5.0, 1.0, 8.0
"""Milliseconds at most, in the median."""
GROWTH = 8.0
"""MB by which the later half of the episodes may make the process larger."""


@dataclass(frozen=True)
class Taken:
    """Median milliseconds of an opening, of a call beside that of its world alone, of a call over HTTP; MB of
    growth."""

    opening: float
    call: float
    http: float
    growth: float


def measure_sessions(domain: str) -> Taken:
    """Measure all of it on golden calls."""
    with TemporaryDirectory(prefix="toolscale-bench-") as folder:
        dataset = Path(folder) / domain
        synthesize(domain, dataset, tasks=TASKS, turns="single")
        playable = Playable(dataset)
        tasks = [playable.task(id_) for id_ in playable.ids]
        alone = statistics.median(_alone(playable, tasks))
        playable.close()
        with Sessions(dataset) as sessions:
            _all_at_once(sessions, tasks)  # worlds are opened
            opening, calls = _all_at_once(sessions, tasks)
            http = _over_http(sessions, tasks)
            growth = _growth(sessions, tasks)
        return Taken(opening, statistics.median(calls) - alone, http, growth)


@contextmanager
def _clocked(into: list[float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    into.append((time.perf_counter() - start) * 1e3)


def _alone(playable: Playable, tasks: Sequence[Task]) -> list[float]:
    taken: list[float] = []
    with World(*playable.world(tasks[0].domain)) as world:
        for _ in range(2):
            taken.clear()  # the first round prepares statements
            for task in tasks:
                world.reset()
                for call in task.golden_calls:
                    with _clocked(taken):
                        world.call(call.name, call.arguments)
    return taken


def _all_at_once(sessions: Sessions, tasks: Sequence[Task]) -> tuple[float, list[float]]:
    """Open a session of each task, and make their calls in turns."""
    openings: list[float] = []
    calls: list[float] = []
    opened: dict[str, Task] = {}
    for task in tasks:
        with _clocked(openings):
            session = sessions.open(task.id)
        opened[session] = task
    for place in range(max(len(task.golden_calls) for task in tasks)):
        for session, task in opened.items():
            for call in task.golden_calls[place : place + 1]:
                with _clocked(calls):
                    sessions.call(session, call.name, call.arguments)
    for session in opened:
        sessions.close(session)
    return statistics.median(openings), calls


def _over_http(sessions: Sessions, tasks: Sequence[Task]) -> float:
    """Serve the sessions, and play each task with the MCP client of the SDK."""
    server = uvicorn.Server(uvicorn.Config(app_of(sessions), port=0, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    [socket] = server.servers[0].sockets
    taken: list[float] = []

    async def play(url: str, task: Task) -> None:
        async with Client(url) as client:
            for call in task.golden_calls:
                with _clocked(taken):
                    await client.call_tool(call.name, call.arguments)

    with httpx2.Client(base_url=f"http://127.0.0.1:{socket.getsockname()[1]}") as control:
        for task in tasks:
            episode = control.post("/episodes", json={"task": task.id}).json()
            asyncio.run(play(episode["url"], task))
            control.delete(f"/episodes/{episode['id']}")
    server.should_exit = True
    thread.join()
    return statistics.median(taken)


def _growth(sessions: Sessions, tasks: Sequence[Task]) -> float:
    """Open, play and close many episodes; return by how many MB the later half made the process larger."""
    before = 0.0
    for number in range(EPISODES):
        if number == EPISODES // 2:
            before = _megabytes()
        task = tasks[number % len(tasks)]
        session = sessions.open(task.id)
        for call in task.golden_calls:
            sessions.call(session, call.name, call.arguments)
        sessions.finish(session, "Done.", last=True)
        sessions.close(session)
    return _megabytes() - before


def _megabytes() -> float:
    return float(psutil.Process().memory_info().rss) / (1 << 20)
