"""Clients that flood, stop half-way, send too much or never come back: each is told why, and nobody else suffers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import uvicorn
from http_server import serving
from mcp import Client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolscale.records import Script, Task
from toolscale.serving.connection import LATE, patient_protocol
from toolscale.serving.http import HANDLERS, MOST_WAITING, Bounds

pytestmark = pytest.mark.xdist_group("serving")

Scripts = dict[str, tuple[Task, Script]]


def play(client: httpx2.Client, episode: str, script: Script) -> Any:
    """Make the calls of a script by the plain route, and return the grade."""
    for call in script.calls:
        told = client.post(f"/episodes/{episode}/call", json={"name": call.name, "arguments": call.arguments})
        assert "value" in told.json()
    return client.post(f"/episodes/{episode}/grade", json={"answer": script.answer}).json()


def opened(client: httpx2.Client, task_id: str) -> str:
    return str(client.post("/episodes", json={"task": task_id}).json()["id"])


def test_whoever_asks_too_much_of_one_episode_is_told_to_wait_and_another_is_served(
    mock_dataset: Path, golden_scripts: Scripts
) -> None:
    task_id, (_, script) = next(iter(golden_scripts.items()))
    with serving(mock_dataset) as client:
        flooded, other = opened(client, task_id), opened(client, task_id)

        body = json.dumps({"answer": script.answer}).encode()
        lines = [
            f"POST /episodes/{flooded}/grade HTTP/1.1",
            f"host: {client.base_url.netloc.decode()}",
            "connection: close",
            "content-type: application/json",
            f"content-length: {len(body)}",
        ]
        head = "\r\n".join([*lines, "", ""]).encode()
        with ExitStack() as stack:
            place = (str(client.base_url.host), client.base_url.port or 80)
            flood = [stack.enter_context(socket.create_connection(place)) for _ in range(4 * MOST_WAITING)]
            for connection in flood:
                connection.sendall(head + body[:-1])
            for connection in flood:  # all of them at once, however fast one is answered
                connection.sendall(body[-1:])
            assert play(client, other, script)["score"] == 1
            answers = [b"".join(iter(partial(connection.recv, 4096), b"")) for connection in flood]
        parts = [answer.partition(b"\r\n\r\n") for answer in answers]
        found = [(int(line.split()[1]), json.loads(told)) for line, _, told in parts]
        assert {status for status, _ in found} == {200, 429}
        assert next(told for status, told in found if status == 429) == {
            "error": f"{MOST_WAITING} requests about this episode wait already; wait for their answers"
        }


def test_more_than_a_megabyte_is_refused_however_it_is_sent(mock_dataset: Path) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 1_000_000

    with serving(mock_dataset) as client:
        whole = client.post("/episodes", content=b"x" * 50_000_000)
        in_parts = client.post("/episodes", content=parts())
        for reply in (whole, in_parts):
            assert (reply.status_code, reply.json()) == (413, {"error": "a request has 1,000,000 bytes at most"})
        assert client.get("/health").json()["open"] == 0


def test_whoever_opens_without_end_is_told_how_many_there_may_be_and_what_is_open_goes_on(
    mock_dataset: Path, golden_scripts: Scripts
) -> None:
    task_id, (_, script) = next(iter(golden_scripts.items()))
    with serving(mock_dataset, "--most", "3", "--idle", "2") as client:
        mine = opened(client, task_id)
        replies = [client.post("/episodes", json={"task": task_id}) for _ in range(50)]
        assert [reply.status_code for reply in replies] == [201] * 2 + [503] * 48
        assert replies[-1].json() == {"error": "3 sessions are open; close some, or wait until they were idle for 2 s"}
        assert play(client, mine, script)["score"] == 1
        time.sleep(2.1)  # those that were left are closed when somebody opens one
        assert client.post("/episodes", json={"task": task_id}).status_code == 201
        assert client.get("/health").json()["open"] == 1


@contextmanager
def small_server(**bounds: float) -> Iterator[int]:
    """A server that has little patience, on a port of its own."""

    async def read(request: Request) -> JSONResponse:
        return JSONResponse({"bytes": len(await request.body())})

    app = Starlette(
        routes=[Route("/", read, methods=["GET", "POST"])],
        middleware=[Middleware(Bounds, body_s=0.3)],
        exception_handlers=HANDLERS,
    )
    config = uvicorn.Config(app, port=0, http=patient_protocol(**bounds), log_level="error")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def all_of(connection: socket.socket) -> bytes:
    """All that comes until the other side hangs up."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


def answer_of(connection: socket.socket) -> bytes:
    """One answer, in however many parts it comes."""
    found = b""
    while not found.endswith(b"}"):
        part = connection.recv(4096)
        assert part, found
        found += part
    return found


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: loc"])
def test_a_request_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    whole = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with small_server(head_s=0.3) as port:
        for before in (b"", whole):  # the first request of a connection, and the second one
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(before)
                if before:
                    assert answer_of(connection).startswith(b"HTTP/1.1 200")
                if begun or not before:
                    connection.sendall(begun)
                    assert all_of(connection) == LATE
        assert httpx2.get(f"http://127.0.0.1:{port}/").json() == {"bytes": 0}


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with small_server() as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nabc")
        head, _, body = answer_of(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408")
        assert json.loads(body) == {"error": "the body of the request did not come within 0.3 s"}


def test_one_connection_too_many_is_told_so_and_the_others_are_served() -> None:
    whole = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with small_server(most=2) as port:
        first, second, third = (socket.create_connection(("127.0.0.1", port)) for _ in range(3))
        with third:
            head, _, body = all_of(third).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert json.loads(body)["error"].startswith("too many connections are open; close some")
        for connection in (first, second):
            connection.sendall(whole)
            assert answer_of(connection).startswith(b"HTTP/1.1 200")
            connection.close()


def test_processes_share_the_episodes_and_each_is_reached_over_any_connection(
    mock_dataset: Path, golden_scripts: Scripts
) -> None:
    async def over_mcp(url: str, script: Script) -> None:
        async with Client(url) as client:
            for call in script.calls:
                assert not (await client.call_tool(call.name, call.arguments)).is_error

    with serving(mock_dataset, "--workers", "2", "--most", "12") as client:
        scripts = {id_: script for id_, (_, script) in golden_scripts.items()}
        told = [(client.post("/episodes", json={"task": id_}).json(), scripts[id_]) for id_ in [*scripts] * 2]
        homes = [about["id"].partition("-")[0] for about, _ in told if "id" in about]
        assert {home: homes.count(home) for home in homes} == {"0": 6, "1": 6}
        assert told[-1][0] == {"error": "6 sessions are open; close some, or wait until they were idle for 1800 s"}
        assert client.get("/health").json() == {"tasks": len(scripts), "open": 12, "processes": 2}
        begun = [(about, script) for about, script in told if "id" in about]
        for about, script in begun[:4]:
            asyncio.run(over_mcp(about["url"], script))
            graded = client.post(f"/episodes/{about['id']}/grade", json={"answer": script.answer})
            assert graded.json()["score"] == 1
        for about, script in begun[4:]:
            assert play(client, about["id"], script)["score"] == 1
        for about, _ in begun:
            assert client.delete(f"/episodes/{about['id']}").status_code == 204
        assert client.get("/health").json()["open"] == 0
        strange = client.get("/episodes/7-abc/solution")
        assert (strange.status_code, strange.json()) == (
            404,
            {"error": "no process 7 serves here; open another episode"},
        )


def test_a_process_that_dies_is_started_again_and_takes_only_its_own_episodes_with_it(
    mock_dataset: Path, golden_scripts: Scripts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task_id, (_, script) = next(iter(golden_scripts.items()))
    place = tmp_path_factory.mktemp("p")
    with serving(mock_dataset, "--workers", "2", TMPDIR=str(place)) as client:
        episodes = sorted(opened(client, task_id) for _ in range(2))
        os.kill(process_at(next(place.glob("*/0.sock"))), signal.SIGKILL)
        assert play_anew(client, episodes[1], script) == 1
        until(lambda: fresh(client, "GET", f"/episodes/{episodes[0]}/solution").status_code == 404)
        until(lambda: fresh(client, "GET", "/health").json().get("processes") == 2)
        again = sorted(fresh(client, "POST", "/episodes", json={"task": task_id}).json()["id"][:2] for _ in range(2))
        assert again[0][0] in "01"


def fresh(client: httpx2.Client, method: str, path: str, **how: Any) -> httpx2.Response:
    """Ask over a connection of its own."""
    while True:
        try:
            with httpx2.Client(base_url=client.base_url, timeout=60) as one:
                return one.request(method, path, **how)
        except httpx2.TransportError:
            time.sleep(0.1)


def play_anew(client: httpx2.Client, episode: str, script: Script) -> int:
    """Play an episode with a connection for each request."""
    for call in script.calls:
        wanted = {"name": call.name, "arguments": call.arguments}
        until(lambda wanted=wanted: fresh(client, "POST", f"/episodes/{episode}/call", json=wanted).status_code == 200)
    return int(fresh(client, "POST", f"/episodes/{episode}/grade", json={"answer": script.answer}).json()["score"])


def until(holds: Any) -> None:
    """Wait until something holds, a minute at most."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to hold")


def process_at(path: Path) -> int:
    """The process that listens on a socket."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    nodes = {line.split()[6] for line in lines if line.endswith(f" {path}")}
    for place in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(place.readlink())
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in nodes:
            return int(place.parts[2])
    raise AssertionError(f"nobody listens on {path}")
