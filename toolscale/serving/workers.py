"""Several processes behind one port, each with episodes of its own.

The first process listens. It looks at the first line of each connection, without taking it, and hands the connection to
the process whose episode it names, or to the next one in turn: from then on it has nothing to do with it. An episode
says in its id where it lives (`2-9f0c…`). A client that uses one connection for episodes of several processes is served
too: a process that is asked for an episode of another asks that one, over a socket in a folder that only this user can
read.

A process that dies is started again; its episodes are gone, and who asks for one is told to open another.
"""

from __future__ import annotations

import asyncio
import logging
import logging.config
import multiprocessing
import re
import signal
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolscale.errors import ToolScaleError, UsageError
from toolscale.serving.connection import HEAD_S, LATE, config_of, most_files, said
from toolscale.serving.http import app_of, problem
from toolscale.session.sessions import Sessions

LONGEST_LINE = 2_048
"""Bytes of a first line that are looked at; a longer one names no episode."""
LOOK_S = 0.02
"""Seconds between two looks at a line that has come in part."""
RELAY_S = 120.0
KEPT = 4_096
LONGEST_FOLDER = 60
"""Letters of the folder for temporary files: the name of a socket has 107 at most."""
READY, PASSED = b"r", b"c"
BUSY = "the process that is to answer is busy, or is being started again; try again in a second"
_LINE = re.compile(rb"[A-Z]{3,7} [^ ]*/episodes/(\d{1,4})-")
_PATH = re.compile(r"/episodes/(\d{1,4})-")
HOPS = frozenset((b"connection", b"content-length", b"keep-alive", b"transfer-encoding", b"upgrade"))
"""Headers that are about one connection, and the length, which is told anew."""

log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True)
class Share:
    """What each process serves: a dataset, with the settings of its sessions."""

    dataset: Path
    idle_s: float
    most: int
    token: str | None
    count: int
    folder: Path
    """Where their own sockets are."""

    def home(self, number: int) -> str:
        """Return the socket of a process."""
        return str(self.folder / f"{number}.sock")


@dataclass
class Relay:
    """Passes on what is about an episode of another process. Connections are shared out in turn, so what one opens
    first is opened here; what it opens after that, in the next process each time."""

    app: ASGIApp
    share: Share
    own: int
    sessions: Sessions
    _clients: dict[int, httpx2.AsyncClient] = field(default_factory=dict)
    _opened: dict[object, int] = field(default_factory=dict)
    """Connection -> how many episodes it has opened, of the last ones that have."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope.get("server") or ("", None))[1] is None:  # it came from a process
            return await self.app(scope, receive, send)
        request = Request(scope, receive)
        home = self._home(scope)
        if request.method == "GET" and scope["path"] == "/health":
            answer = await self._health(request)
        elif home == self.own:
            return await self.app(scope, receive, send)
        elif home >= self.share.count:
            answer = problem(404, f"no process {home} serves here; open another episode")
        else:
            answer = await self._passed_on(home, request)
        await answer(scope, receive, send)

    def _home(self, scope: Scope) -> int:
        if (named := _PATH.match(scope["path"])) is not None:
            return int(named[1])
        if (scope["method"], scope["path"]) != ("POST", "/episodes"):
            return self.own
        count = self._opened.pop(scope["client"], 0)
        self._opened[scope["client"]] = count + 1
        if len(self._opened) > KEPT:
            del self._opened[next(iter(self._opened))]
        return (self.own + count) % self.share.count

    async def _passed_on(self, home: int, request: Request) -> Response:
        try:
            answer = await self._ask(home, request, await request.body())
        except HTTPException as error:  # of the body
            return problem(error.status_code, str(error.detail))
        except httpx2.TransportError:
            return problem(503, f"process {home} does not answer, and its episodes may be gone; open another one")
        found = Response(answer.content, answer.status_code)
        found.raw_headers += [
            (name, value) for name, value in _lowered(answer) if name not in (*HOPS, b"date", b"server")
        ]
        return found

    async def _health(self, request: Request) -> Response:
        """Tell the sum of what all processes have open."""
        others = (number for number in range(self.share.count) if number != self.own)
        answers = await asyncio.gather(*(self._ask(each, request) for each in others), return_exceptions=True)
        found = [each.json()["open"] for each in answers if isinstance(each, httpx2.Response) and each.is_success]
        told = {"tasks": len(self.sessions.tasks), "open": len(self.sessions) + sum(found), "processes": 1 + len(found)}
        return JSONResponse(told)

    async def _ask(self, home: int, request: Request, body: bytes = b"") -> httpx2.Response:
        if home not in self._clients:
            transport = httpx2.AsyncHTTPTransport(uds=self.share.home(home))
            self._clients[home] = httpx2.AsyncClient(transport=transport, timeout=RELAY_S)
        client, headers = self._clients[home], [each for each in request.headers.raw if each[0] not in HOPS]
        url = f"http://process{request.scope['raw_path'].decode('ascii')}"
        return await client.send(client.build_request(request.method, url, headers=headers, content=body or None))


def _lowered(answer: httpx2.Response) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value) for name, value in answer.headers.raw]


class _Process(uvicorn.Server):
    """A server that is handed its connections over a channel."""

    def __init__(self, config: uvicorn.Config, channel: socket.socket) -> None:
        super().__init__(config)
        self._channel = channel

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say that it is ready."""
        await super().startup(sockets)
        self._channel.setblocking(False)
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._adopt)
        self._channel.send(READY)

    def _adopt(self) -> None:
        """Take the connections that wait in the channel."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                word, files, _, _ = socket.recv_fds(self._channel, 1, 1)
            except BlockingIOError:
                return
            if not word:  # the first process is gone
                self.should_exit = True
                loop.remove_reader(self._channel.fileno())
                return
            for file in files:
                connection = socket.socket(fileno=file)
                connection.setblocking(False)
                task = loop.create_task(self._serve_one(connection))
                self.server_state.tasks.add(task)
                task.add_done_callback(self.server_state.tasks.discard)

    async def _serve_one(self, connection: socket.socket) -> None:
        kind: Any = self.config.http_protocol_class
        make = partial(
            kind,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        with suppress(OSError):  # the client has gone meanwhile
            await asyncio.get_running_loop().connect_accepted_socket(make, connection)


def _work(share: Share, number: int, channel: socket.socket) -> None:
    """Serve in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    home = Path(share.home(number))
    home.unlink(missing_ok=True)
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as inner,
        Sessions(share.dataset, idle_s=share.idle_s, most=-(-share.most // share.count), home=f"{number}-") as sessions,
    ):
        inner.bind(str(home))
        relay = Middleware(Relay, share=share, own=number, sessions=sessions)
        _Process(config_of(app_of(sessions, share.token, relay)), channel).run(sockets=[inner])


class Front:
    """The first process: it accepts, looks, and hands over."""

    def __init__(self, listener: socket.socket, share: Share) -> None:
        self._listener, self._share = listener, share
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[BaseProcess] = []
        self._channels: list[socket.socket] = []
        self._turns = cycle(range(share.count))
        self._waiting = 0

    async def serve(self, ended: asyncio.Event) -> None:
        """Serve until `ended` is set. ToolScaleError if a process cannot be started, or not again."""
        loop = asyncio.get_running_loop()
        for number in range(self._share.count):
            self._start(number)
        await asyncio.gather(*(self._ready(number) for number in range(self._share.count)))
        log.info("%d processes running on http://%s:%d", self._share.count, *self._listener.getsockname()[:2])
        self._listener.setblocking(False)
        works = (self._accept(), ended.wait(), *(self._watch(number) for number in range(self._share.count)))
        watching: list[asyncio.Task[Any]] = [loop.create_task(work) for work in works]
        done, left = await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for task in done:
            task.result()

    def stop(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(10)
            process.kill()
        for channel in self._channels:
            channel.close()

    def _start(self, number: int) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process = self._context.Process(target=_work, args=(self._share, number, theirs), daemon=True)
        process.start()
        theirs.close()
        self._processes[number : number + 1] = [process]
        self._channels[number : number + 1] = [ours]

    async def _ready(self, number: int) -> None:
        """Wait until a process serves. ToolScaleError if it does not."""
        if await asyncio.get_running_loop().sock_recv(self._channels[number], 1) != READY:
            raise ToolScaleError(f"process {number} could not be started; what it said stands above")

    async def _watch(self, number: int) -> None:
        """Start a process again that has died."""
        while True:
            while self._processes[number].is_alive():
                await asyncio.sleep(0.2)
            log.error("process %d died; it is started again, and its episodes are gone", number)
            self._channels[number].close()
            self._start(number)
            await self._ready(number)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        tasks = set[asyncio.Task[None]]()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError:  # too many files are open: some are closed in a while
                await asyncio.sleep(0.05)
                continue
            task = loop.create_task(self._place(connection))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _place(self, connection: socket.socket) -> None:
        """Hand a connection to the process that it is for."""
        with connection:
            connection.setblocking(False)
            with suppress(OSError):
                home = await self._look(connection)
                if home is None:
                    connection.send(LATE)
                elif home >= 0:
                    self._hand_over(home, connection)

    async def _look(self, connection: socket.socket) -> int | None:
        """Return for which process a connection is; -1 if it was closed, None if its first line does not come."""
        loop = asyncio.get_running_loop()
        end = loop.time() + HEAD_S
        try:
            await asyncio.wait_for(_readable(connection), HEAD_S)
        except TimeoutError:
            return None
        while loop.time() < end:
            line = connection.recv(LONGEST_LINE, socket.MSG_PEEK)
            if not line:
                return -1
            if b"\n" in line or len(line) == LONGEST_LINE:
                named = _LINE.match(line)
                home = next(self._turns) if named is None else int(named[1])
                return home if home < self._share.count else next(self._turns)
            await asyncio.sleep(LOOK_S)
        return None

    def _hand_over(self, home: int, connection: socket.socket) -> None:
        try:
            socket.send_fds(self._channels[home], [PASSED], [connection.fileno()])
        except OSError:  # its channel is full, or nobody reads it
            connection.send(said(503, "Service Unavailable", BUSY))


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection.fileno(), _set, ready)
    try:
        await ready
    finally:
        loop.remove_reader(connection.fileno())


def serve_workers(
    dataset: Path, host: str, port: int, *, count: int, idle_s: float, most: int, token: str | None
) -> None:
    """Serve a dataset by so many processes behind one port, until told to stop. UsageError if that cannot be listened
    on."""
    most_files()
    logging.config.dictConfig(uvicorn.config.LOGGING_CONFIG)
    own = None if len(tempfile.gettempdir()) <= LONGEST_FOLDER else "/tmp"
    with tempfile.TemporaryDirectory(prefix="toolscale-serve-", dir=own) as folder, _listening(host, port) as listener:
        front = Front(listener, Share(dataset, idle_s, most, token, count, Path(folder)))

        async def run() -> None:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, ended.set)
            await front.serve(ended)

        try:
            asyncio.run(run())
        finally:
            front.stop()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=4_096)
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; choose others") from error
