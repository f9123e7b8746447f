"""Many tasks over HTTP: routes of our own open an episode, name its URL for MCP clients, and grade and close it.

    GET    /health                    {"tasks": 396, "open": 2}
    GET    /tasks                     the ids of all tasks
    POST   /episodes                  {"task": ID} -> {"id", "url", "messages"}
    *      /episodes/ID/mcp           the tools of the episode, over MCP
    POST   /episodes/ID/say           {"message": …} -> {"heard": … or null}: the person of a dialogue
    POST   /episodes/ID/grade         {"answer": …}, or {} where a call has given it -> the grade
    GET    /episodes/ID/solution      what was graded, as `toolscale grade` reads it
    DELETE /episodes/ID

MCP has had no sessions since its version of 2026-07-28, so the episode stands in the URL.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from toolscale.errors import ToolScaleError, UsageError
from toolscale.records import ToolResult
from toolscale.serving.protocol import Context, mcp_server
from toolscale.session.sessions import NoSessionError, Sessions, TooManySessionsError
from toolscale.session.transcript import View
from toolscale.strict_json import read_record

LARGEST_BODY = 1_000_000
"""Bytes of a request."""
THREADS = 64
SWEEP_S = 30.0
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))

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
        self._threads = CapacityLimiter(THREADS)
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

    async def health(self, _: Request) -> Response:
        return JSONResponse({"tasks": len(self._sessions.tasks), "open": len(self._sessions)})

    async def tasks(self, _: Request) -> Response:
        return JSONResponse(self._sessions.tasks)

    async def open(self, request: Request) -> Response:
        wanted = await body_of(request, _Opened)
        episode = await self._run(self._sessions.open, wanted.task)
        view = await self._run(self._sessions.view, episode)
        url = str(request.url.replace(path=f"/episodes/{episode}/mcp", query=""))
        about = {"id": episode, "url": url, "dialogue": view.talk is not None, "messages": view.messages}
        return JSONResponse(about, 201)

    async def say(self, request: Request) -> Response:
        said = await body_of(request, _Said)
        heard = await self._run(self._sessions.say, request.path_params["episode"], said.message)
        return JSONResponse({"heard": heard})

    async def grade(self, request: Request) -> Response:
        answered = await body_of(request, _Answered)
        grade = await self._run(self._sessions.finish, request.path_params["episode"], answered.answer)
        return JSONResponse(grade.model_dump(mode="json"))

    async def solution(self, request: Request) -> Response:
        solution = await self._run(self._sessions.solution, request.path_params["episode"])
        return JSONResponse(solution.model_dump(mode="json"))

    async def close(self, request: Request) -> Response:
        await self._run(self._sessions.close, request.path_params["episode"])
        return Response(status_code=204)

    async def mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request of an MCP client on, if it is about an episode that is open."""
        if (episode := scope["path_params"]["episode"]) not in self._sessions:
            return await problem(404, self._sessions.unknown(episode))(scope, receive, send)
        await self._manager.handle_request(scope, receive, send)

    async def _look(self, context: Context) -> View:
        return await self._run(self._sessions.view, _episode_of(context))

    async def _call(self, context: Context, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._run(self._sessions.call, _episode_of(context), name, arguments)

    async def _run(self, work: Callable[..., Made], *arguments: Any) -> Made:
        return await to_thread.run_sync(partial(work, *arguments), limiter=self._threads)

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            await self._run(self._sessions.sweep)


def app_of(sessions: Sessions, token: str | None = None) -> Starlette:
    """Return the application. `token`: what requests have to bring; without one only this machine is answered."""
    server = Server(sessions)
    routes: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", "/health", server.health),
        ("GET", "/tasks", server.tasks),
        ("POST", "/episodes", server.open),
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
        middleware=[Middleware(Gate, token=token)],
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
    """Read the body of a request. UsageError if it is not what is wanted, HTTPException if it is too long."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise HTTPException(413, f"a request has {LARGEST_BODY:,} bytes at most")
    try:
        return read_record(model, content or b"{}")
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


HANDLERS: Mapping[Any, Callable[[Request, Exception], Response]] = {ToolScaleError: _told, HTTPException: _refused}
"""What an error is answered with, in one line."""
