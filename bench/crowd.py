"""Many sessions at once over HTTP: how many a core bears, how fast calls are answered, how much memory each takes.

python -m bench sessions [--sessions 2048] [--at-once 256] [--workers 2] [--data FOLDER]

The server is a `toolscale serve` of its own. Each session has a connection, as the client of a rollout has; `--at-once`
of them wait for an answer at any time, as while a model writes the other rollouts are with it. Calls are those of the
reference solution, and one in five is one that a model might make: a tool of the domain with no arguments.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.memory import family
from toolscale.dataset.columns import task_of
from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.describing.reading import read_dataset
from toolscale.pipeline import synthesize
from toolscale.pipeline.every_domain import every_domain
from toolscale.records import Task

HOME = Path("var/bench/sessions")
DOMAINS, TASKS = 10, 40
RANDOM_SHARE = 0.2
PUBLISHED = (
    ("OpenEnv, as published: 2,048 on 8 cores", "932", "1.97"),
    ("OpenEnv, as published: 16,384 on 96 cores", "not told", "not told"),
)
"""What it says of sessions at once, requests a second and p99 in seconds. Its environment sleeps; ours executes."""


@dataclass
class Sheet:
    """What was measured."""

    sessions: int
    opened: list[float] = field(default_factory=list)
    """Seconds of each opening, as of what follows."""
    called: list[float] = field(default_factory=list)
    graded: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    right: int = 0
    """Sessions that were graded 1."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Of each phase."""
    megabytes: dict[str, float] = field(default_factory=dict)
    """Of the server with all its processes, before and after each phase."""
    cpu: dict[str, float] = field(default_factory=dict)
    """CPU seconds of the server in each phase, and of this client."""

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what is said of it, and the figures."""
        yield "sessions open at once", f"{self.sessions:,}"
        yield "failures", f"{len(self.failures)}" + (f": {self.failures[0][:200]}" if self.failures else "")
        for name, taken in (("open", self.opened), ("call", self.called), ("grade", self.graded)):
            rate = len(taken) / self.seconds[name]
            yield f"{name}: a second", f"{rate:,.0f}"
            yield f"{name}: seconds each, p50 / p99", f"{_quantile(taken, 0.5):.3f} / {_quantile(taken, 0.99):.3f}"
            cpu = self.cpu[name] / max(len(taken), 1)
            yield f"{name}: CPU ms of the server each", f"{cpu * 1e3:.2f}"
        cores = len(os.sched_getaffinity(0))
        yield "graded 1 of those that made every golden call", f"{self.right:,} of {self.sessions:,}"
        grown = self.megabytes["call"] - self.megabytes["before"]
        yield (
            "MB of the server before, with all open, after the calls",
            " / ".join(f"{self.megabytes[name]:.0f}" for name in ("before", "open", "call")),
        )
        yield "MB a session", f"{grown / self.sessions:.2f}"
        yield f"sessions a core ({cores} cores, the client's own work included)", f"{self.sessions / cores:,.0f}"
        yield "CPU seconds of the client", f"{self.cpu['client']:.1f}"


@dataclass(frozen=True)
class Played:
    """A task, and the calls that are made for it."""

    task: Task
    calls: tuple[tuple[str, dict[str, Any]], ...]
    answer: str


class Connection(asyncio.Protocol):
    """One connection that asks one thing after the other: as little work as can be, since it shares the cores."""

    def __init__(self) -> None:
        self._got = b""
        self._wanted: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Give the answer to whoever waits, once it is whole."""
        self._got += data
        head, end, rest = self._got.partition(b"\r\n\r\n")
        if not end:
            return
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if len(rest) >= length and self._wanted is not None:
            self._got = rest[length:]
            wanted, self._wanted = self._wanted, None
            if not wanted.done():
                wanted.set_result((int(head[9:12]), rest[:length]))

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits."""
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_exception(ConnectionError(f"the server closed the connection: {error}"))

    @property
    def is_closed(self) -> bool:
        """Whether the server has hung up, as on whoever says nothing for long."""
        return bool(self._transport.is_closing())

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send a request and return the status and the body of the answer. ConnectionError if it is closed."""
        if self.is_closed:
            raise ConnectionError("the server has hung up")
        content = b"" if body is None else json.dumps(body).encode()
        self._wanted = asyncio.get_running_loop().create_future()
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
        self._transport.write(head.encode() + content)
        return await self._wanted

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


def dataset_of() -> Path:
    """Return a dataset of ten domains; it is made if it is not there."""
    whole = HOME / "all"
    if not (whole / "manifest.json").is_file():
        parts = []
        for name, home in list(every_domain().items())[:DOMAINS]:
            print(f"making {TASKS} tasks of {name}", file=sys.stderr, flush=True)
            synthesize(home, HOME / name, tasks=TASKS, turns="single")
            parts.append(HOME / name)
        combine(parts, whole)
    return whole


def played_of(dataset: Path) -> list[Played]:
    """Return the tasks of a dataset that are told in one message, each with calls to make."""
    from toolscale.exports.golden import golden_trajectories

    rng, found = random.Random(0), list[Played]()
    tools: dict[str, list[str]] = {}
    for row in read_dataset(dataset).rows.tasks:
        task = task_of(row)
        tools.setdefault(task.domain, [])
        tools[task.domain] += [call.name for call in task.golden_calls]
    for golden in golden_trajectories(dataset):
        if golden.task.candidate.turns != "single":  # somebody would have to talk with the person
            continue
        calls = list[tuple[str, dict[str, Any]]]()
        for call in golden.task.golden_calls:
            if rng.random() < RANDOM_SHARE:
                calls.append((rng.choice(tools[golden.task.domain]), {}))
            calls.append((call.name, dict(call.arguments)))
        found.append(Played(golden.task, tuple(calls), golden.answer))
    return found


async def measure_crowd(port: int, played: Sequence[Played], sessions: int, at_once: int, pid: int) -> Sheet:
    """Open all sessions, play them, grade and close them."""
    loop, sheet = asyncio.get_running_loop(), Sheet(sessions)
    chosen = [played[number % len(played)] for number in range(sessions)]
    connections: dict[int, Connection] = {}

    async def connected(number: int) -> Connection:
        if number not in connections or connections[number].is_closed:
            _, connections[number] = await loop.create_connection(Connection, "127.0.0.1", port)
        return connections[number]

    homes: list[str] = [""] * sessions

    async def warm(number: int) -> None:
        """Play a task once: a server that is measured has been running for a while."""
        ask, each = (await connected(number)).ask, played[number]
        home = f"/episodes/{json.loads((await ask('POST', '/episodes', {'task': each.task.id}))[1])['id']}"
        for name, arguments in each.calls:
            await ask("POST", f"{home}/call", {"name": name, "arguments": arguments})
        await ask("POST", f"{home}/grade", {"answer": each.answer})
        await ask("DELETE", home)

    await asyncio.gather(*map(warm, range(min(sessions, len(played)))))
    while connections:
        connections.popitem()[1].close()

    async def timed(into: list[float], number: int, *request: Any) -> Any:
        connection = await connected(number)
        began = time.perf_counter()
        try:
            status, body = await connection.ask(*request)
        except ConnectionError as error:
            sheet.failures.append(str(error))
            return None
        into.append(time.perf_counter() - began)
        if status >= 300:
            sheet.failures.append(f"{request[1]}: {status} {body[:160].decode(errors='replace')}")
            return None
        return json.loads(body)

    async def open_(number: int) -> None:
        told = await timed(sheet.opened, number, "POST", "/episodes", {"task": chosen[number].task.id})
        homes[number] = "" if told is None else f"/episodes/{told['id']}"
        connections.pop(number).close()  # the next one is that of the process in which the episode lives

    async def grade(number: int) -> None:
        told = await timed(sheet.graded, number, "POST", f"{homes[number]}/grade", {"answer": chosen[number].answer})
        sheet.right += told is not None and told["score"] == 1

    async def close(number: int) -> None:
        await (await connected(number)).ask("DELETE", homes[number])

    gate = asyncio.Semaphore(at_once)

    async def phase(name: str, work: Callable[[int], Awaitable[None]]) -> None:
        began, before = time.perf_counter(), _cpu(pid)
        await asyncio.gather(*map(work, range(sessions)))
        sheet.seconds[name], sheet.cpu[name] = time.perf_counter() - began, _cpu(pid) - before
        sheet.megabytes[name] = _megabytes(pid)

    def gated(work: Callable[[int], Awaitable[None]]) -> Callable[[int], Awaitable[None]]:
        async def one(number: int) -> None:
            async with gate:
                await work(number)

        return one

    async def play(number: int) -> None:
        """Each session makes its calls one after the other; all of them go on together."""
        for name, arguments in chosen[number].calls:
            async with gate:
                wanted = {"name": name, "arguments": arguments}
                await timed(sheet.called, number, "POST", f"{homes[number]}/call", wanted)

    sheet.megabytes["before"], own = _megabytes(pid), time.process_time()
    await phase("open", gated(open_))
    _, told = await (await connected(-1)).ask("GET", "/health")
    sheet.sessions = json.loads(told)["open"]
    await phase("call", play)
    await phase("grade", gated(grade))
    await phase("close", gated(close))
    sheet.cpu["client"] = time.process_time() - own
    return sheet


def run_crowd(dataset: Path | None, sessions: int, at_once: int, workers: int) -> Sheet:
    """Serve a dataset, measure, and end the server."""
    folder = dataset or dataset_of()
    played = played_of(folder)
    with socket.create_server(("127.0.0.1", 0)) as any_:
        port = any_.getsockname()[1]
    command = [sys.executable, "-m", "toolscale", "serve", str(folder), "--http", "--port", str(port)]
    command += ["--workers", str(workers), "--most", str(2 * sessions)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        return asyncio.run(measure_crowd(port, played, sessions, at_once, server.pid))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def print_sheet(sheet: Sheet) -> None:
    """Print the sheet, and what others publish beside it."""
    for what, figure in sheet.lines():
        print(f"{what:<72} {figure}")
    for what, rate, p99 in PUBLISHED:
        print(f"{what:<72} {rate} requests a second, p99 {p99} s")


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise ChildProcessError(f"the server ended with status {server.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as asked:
                asked.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
                if asked.recv(12).endswith(b"200"):
                    return
        except OSError:
            time.sleep(0.1)
    raise ChildProcessError("the server did not answer within a minute")


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def _megabytes(pid: int) -> float:
    return float(sum(process.memory_info().rss for process in family(pid))) / (1 << 20)


def _cpu(pid: int) -> float:
    """CPU seconds of a process with all that it started."""
    times = [process.cpu_times() for process in family(pid)]
    return float(sum(each.user + each.system for each in times))
