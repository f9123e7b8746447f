"""Many tasks over HTTP: routes of our own open an episode, name its URL for MCP clients, and grade and close it.

    GET    /health                    {"tasks": 396, "open": 2}
    GET    /tasks                     the ids of all tasks
    POST   /episodes                  {"task": ID} -> {"id", "url", "messages"}
    *      /episodes/ID/mcp           the tools of the episode, over MCP
    POST   /episodes/ID/call          {"name": …, "arguments": {…}} -> {"value": …} or {"error": …}: one of them
    POST   /episodes/ID/say           {"message": …} -> {"heard": … or null}: the person of a dialogue
    POST   /episodes/ID/grade         {"answer": …}, or {} where a call has given it -> the grade
    GET    /episodes/ID/solution      what was graded, as `toolscale grade` reads it
    DELETE /episodes/ID

MCP has had no sessions since its version of 2026-07-28, so the episode stands in the URL.

Each domain has a thread for its calls and one for its judge, and each episode does one thing at a time: whoever asks
for much waits behind himself.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolscale.errors import ToolScaleError, UsageError
from toolscale.records import ToolResult
from toolscale.serving.protocol import Context, mcp_server
from toolscale.session.sessions import NoSessionError, Sessions, TooManySessionsError
from toolscale.session.transcript import View
from toolscale.strict_json import read_record

LARGEST_BODY = 1_000_000
"""Bytes of a request."""
BODY_S = 30.0
"""Seconds in which a body has to come."""
MOST_WAITING = 16
"""Requests about one episode that may wait for each other."""
SWEEP_S = 30.0
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))

TOO_LONG = f"a request has {LARGEST_BODY:,} bytes at most"
CALLING, JUDGING = range(2)
"""The threads of a domain."""

Given = TypeVar("Given", bound=BaseModel)
Made = TypeVar("Made")


class _Opened(BaseModel):
    model_config = ConfigDict(extra="forbid")
    task: str


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid")
    message: str


class _Answered(BaseModel):
    model_config = ConfigDict(extra="forbid")
    answer: str | None = None


class Called(BaseModel):
    """A call, as JSON has it."""

    model_config = ConfigDict(extra="forbid")
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


@dataclass
class _Turn:
    """Whose turn it is in one episode."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


@dataclass(frozen=True)
class Bounds:
    """How much of a body is read, and for how long it is waited for."""

    app: ASGIApp
    body_s: float = BODY_S

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        told = Request(scope).headers.get("content-length", "0")
        if not told.isdecimal() or int(told) > LARGEST_BODY:
            return await TOO_LARGE(scope, receive, send)
        read, is_whole = 0, False

        async def bounded() -> Message:
            nonlocal read, is_whole
            if is_whole:
                return await receive()  # it waits for the end of the connection
            try:
                message = await asyncio.wait_for(receive(), self.body_s)
            except TimeoutError:
                raise HTTPException(408, f"the body of the request did not come within {self.body_s:g} s") from None
            read += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if read > LARGEST_BODY:
                raise HTTPException(413, TOO_LONG)
            return message

        await self.app(scope, bounded, send)


@dataclass(frozen=True)
class Gate:
    """Who may come in: with a token whoever has it, without one programs of this machine. A page of another origin
    never may, though its browser runs here."""

    app: ASGIApp
    token: str | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Request(scope))) is not None:
            return await refusal(scope, receive, send)
        await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return problem(403, f"requests of the origin {origin[:80]!r} are not answered")
        if self.token is None and urlsplit(f"//{request.headers.get('host', '')}").hostname not in LOOPBACK:
            return problem(403, "without a token only 127.0.0.1, localhost and ::1 are answered")
        if self.token is not None:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
                return problem(401, "say Authorization: Bearer and the token that the server was started with")
        return None


class Server:
    """The routes over some sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._lanes: dict[str, tuple[ThreadPoolExecutor, ThreadPoolExecutor]] = {}
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="opening")
        self._turns: dict[str, _Turn] = {}
        self._manager = StreamableHTTPSessionManager(
            mcp_server(self._look, self._call),
            json_response=True,
            stateless=True,  # clients of the older protocol too: what they call a session would be of no use
            max_request_body_size=LARGEST_BODY,
        )

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Sweep away what nobody uses, while the server runs."""
        async with self._manager.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(self._sweep)
            yield
            tasks.cancel_scope.cancel()
        for lane in (self._desk, *(lane for lanes in self._lanes.values() for lane in lanes)):
            lane.shutdown(wait=False)

    async def health(self, _: Request) -> Response:
        return JSONResponse({"tasks": len(self._sessions.tasks), "open": len(self._sessions)})

    async def tasks(self, _: Request) -> Response:
        return JSONResponse(self._sessions.tasks)

    async def open(self, request: Request) -> Response:
        wanted = await body_of(request, _Opened)
        episode, view = await self._opening(self._opened, wanted.task)
        url = str(request.url.replace(path=f"/episodes/{episode}/mcp", query=""))
        about = {"id": episode, "url": url, "dialogue": view.talk is not None, "messages": view.messages}
        return JSONResponse(about, 201)

    async def say(self, request: Request) -> Response:
        said = await body_of(request, _Said)
        heard = await self._in_turn(request.path_params["episode"], self._sessions.say, said.message)
        return JSONResponse({"heard": heard})

    async def call(self, request: Request) -> Response:
        called = await body_of(request, Called)
        result = await self._made(request.path_params["episode"], called.name, called.arguments)
        return JSONResponse({"value": result.value} if result.ok else {"error": result.error})

    async def grade(self, request: Request) -> Response:
        answered = await body_of(request, _Answered)
        episode = request.path_params["episode"]
        grade = await self._in_turn(episode, self._sessions.finish, answered.answer, lane=JUDGING)
        return JSONResponse(grade.model_dump(mode="json"))

    async def solution(self, request: Request) -> Response:
        solution = await self._in_turn(request.path_params["episode"], self._sessions.solution)
        return JSONResponse(solution.model_dump(mode="json"))

    async def close(self, request: Request) -> Response:
        await self._in_turn(request.path_params["episode"], self._sessions.close)
        return Response(status_code=204)

    async def mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request of an MCP client on, if it is about an episode that is open."""
        if (episode := scope["path_params"]["episode"]) not in self._sessions:
            return await problem(404, self._sessions.unknown(episode))(scope, receive, send)
        await self._manager.handle_request(scope, receive, send)

    async def _look(self, context: Context) -> View:
        return await self._in_turn(_episode_of(context), self._sessions.view)

    async def _call(self, context: Context, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._made(_episode_of(context), name, arguments)

    async def _made(self, episode: str, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._in_turn(episode, self._sessions.call, name, arguments)

    async def _in_turn(self, episode: str, work: Callable[..., Made], *arguments: Any, lane: int = CALLING) -> Made:
        """Do something about an episode, after what was asked about it before, in a thread of its domain."""
        domain = self._sessions.domain_of(episode)
        if domain not in self._lanes:
            self._lanes[domain] = (ThreadPoolExecutor(1, f"{domain}-calls"), ThreadPoolExecutor(1, f"{domain}-judge"))
        turn = self._turns.setdefault(episode, _Turn())
        if turn.waiting >= MOST_WAITING:
            raise HTTPException(429, f"{turn.waiting} requests about this episode wait already; wait for their answers")
        turn.waiting += 1
        try:
            async with turn.lock:
                thread = self._lanes[domain][lane]
                return await asyncio.get_running_loop().run_in_executor(thread, partial(work, episode, *arguments))
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                self._turns.pop(episode, None)

    async def _opening(self, work: Callable[..., Made], *arguments: Any) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._desk, partial(work, *arguments))

    def _opened(self, task: str) -> tuple[str, View]:
        episode = self._sessions.open(task)
        return episode, self._sessions.view(episode)

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            await self._opening(self._sessions.sweep)


def app_of(sessions: Sessions, token: str | None = None, *inner: Middleware) -> Starlette:
    """Return the application. `token`: what requests have to bring; without one only this machine is answered.
    `inner`: what is asked before the routes are."""
    server = Server(sessions)
    routes: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", "/health", server.health),
        ("GET", "/tasks", server.tasks),
        ("POST", "/episodes", server.open),
        ("POST", "/episodes/{episode}/call", server.call),
        ("POST", "/episodes/{episode}/say", server.say),
        ("POST", "/episodes/{episode}/grade", server.grade),
        ("GET", "/episodes/{episode}/solution", server.solution),
        ("DELETE", "/episodes/{episode}", server.close),
    ]
    return Starlette(
        routes=[
            *(Route(path, work, methods=[method]) for method, path, work in routes),
            Route("/episodes/{episode}/mcp", Asgi(server.mcp)),
        ],
        middleware=[Middleware(Gate, token=token), Middleware(Bounds), *inner],
        exception_handlers=HANDLERS,
        lifespan=server.lifespan,
    )


def _episode_of(context: Context) -> str:
    assert isinstance(context.request, Request)
    return str(context.request.path_params["episode"])


@dataclass(frozen=True)
class Asgi:
    """An ASGI application in an object: of a method Starlette would think that it takes a request."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


async def body_of(request: Request, model: type[Given]) -> Given:
    """Read the body of a request, which `Bounds` bounds. UsageError if it is not what is wanted."""
    try:
        return read_record(model, await request.body() or b"{}")
    except ValueError as error:
        example = json.dumps(dict.fromkeys(model.model_fields, "…"), ensure_ascii=False)
        raise UsageError(f"{error}; send JSON such as {example}") from error


def _told(_: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, NoSessionError) else 503 if isinstance(error, TooManySessionsError) else 400
    return problem(status if isinstance(error, UsageError) else 500, str(error))


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail))


def problem(status: int, message: str) -> Response:
    """Return an error as every route tells it."""
    return JSONResponse({"error": message}, status)


TOO_LARGE = problem(413, TOO_LONG)
HANDLERS: Mapping[Any, Callable[[Request, Exception], Response]] = {ToolScaleError: _told, HTTPException: _refused}
"""What an error is answered with, in one line."""
