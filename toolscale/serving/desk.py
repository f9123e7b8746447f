"""One task over HTTP, for a container that an agent and its verifier share: the agent makes calls, and only whoever has
the token takes the grade.

    GET  /health   {"task": ID}
    GET  /tools    the tools, as OpenAI functions
    POST /call     {"name": …, "arguments": {…}} -> {"value": …} or {"error": …}
    *    /mcp      the same tools, over MCP
    POST /grade    with the token: the grade; the episode is over

The person of a dialogue is spoken to by a tool, since such an agent has nobody else to hear its messages.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from anyio import to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolscale.errors import UsageError
from toolscale.forbidden_names import SAY
from toolscale.records import ToolResult
from toolscale.serving.http import HANDLERS, LARGEST_BODY, Asgi, Bounds, Called, Gate, body_of, problem
from toolscale.serving.protocol import Context, mcp_server
from toolscale.session.sessions import Sessions
from toolscale.session.transcript import View

SPEAK = {
    "type": "function",
    "function": {
        "name": SAY,
        "description": "Say something to the person, who answers: ask for what is missing, or what else is wanted.",
        "parameters": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
            "additionalProperties": False,
        },
    },
}

Made = TypeVar("Made")


class Desk:
    """The routes of one task. `token`: what `/grade` takes."""

    def __init__(self, sessions: Sessions, task: str, token: str) -> None:
        self._sessions, self._session, self._token = sessions, sessions.open(task), token
        self._manager = StreamableHTTPSessionManager(
            mcp_server(self._look, self._made),
            json_response=True,
            stateless=True,
            max_request_body_size=LARGEST_BODY,
        )

    def app(self) -> Starlette:
        """Return the application. Only this machine is answered."""
        return Starlette(
            routes=[
                Route("/health", self.health),
                Route("/tools", self.tools),
                Route("/call", self.call, methods=["POST"]),
                Route("/grade", self.grade, methods=["POST"]),
                Route("/mcp", Asgi(self._manager.handle_request)),
            ],
            middleware=[Middleware(Gate, token=None), Middleware(Bounds)],
            exception_handlers=HANDLERS,
            lifespan=lambda _: self._manager.run(),
        )

    async def health(self, _: Request) -> Response:
        return JSONResponse({"task": (await self._view()).task})

    async def tools(self, _: Request) -> Response:
        return JSONResponse((await self._view()).tools)

    async def call(self, request: Request) -> Response:
        wanted = await body_of(request, Called)
        result = await self._result(wanted.name, wanted.arguments)
        return JSONResponse({"value": result.value} if result.ok else {"error": result.error})

    async def grade(self, request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return problem(401, "the grade is for whoever verifies: say Authorization: Bearer and the token")
        grade = await self._run(partial(self._sessions.finish, self._session, "", last=True))
        return JSONResponse(grade.model_dump(mode="json"))

    async def _look(self, _: Context) -> View:
        return await self._view()

    async def _made(self, _: Context, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._result(name, arguments)

    async def _view(self) -> View:
        view = await self._run(partial(self._sessions.view, self._session))
        return view if view.talk is None else replace(view, tools=[*view.tools, SPEAK])

    async def _result(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        if name != SAY or (await self._view()).talk is None:
            return await self._run(partial(self._sessions.call, self._session, name, arguments))
        if set(arguments) != {"message"} or not isinstance(arguments["message"], str):
            return ToolResult(error=f"{SAY} takes one text, message")
        try:
            heard = await self._run(partial(self._sessions.say, self._session, arguments["message"]))
        except UsageError as error:
            return ToolResult(error=str(error))
        return ToolResult(value={"heard": heard})

    async def _run(self, work: Callable[[], Made]) -> Made:
        return await to_thread.run_sync(work)


def serve_desk(dataset: Path, task: str, host: str, port: int, token: str) -> None:
    """Serve one task until told to stop. UsageError if there is no such task."""
    from toolscale.serving.connection import run_app

    with Sessions(dataset, idle_s=math.inf, most=1) as sessions:
        run_app(Desk(sessions, task, token).app(), host=host, port=port)
