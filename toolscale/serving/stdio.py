"""One task over standard input and output. A session folder keeps it, as that of `toolscale play` does, so another
process goes on where this one ended."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from toolscale.canonical import canonical_json
from toolscale.errors import UsageError
from toolscale.records import ToolResult
from toolscale.serving.protocol import Context, mcp_server
from toolscale.session.sitting import Sitting
from toolscale.session.transcript import View


def serve_stdio(sitting: Sitting) -> None:
    """Serve until the client closes its end. Calls are in the folder of the session, and so is the grade once there is
    one: `toolscale play` gives the final message, where no form is the answer."""

    async def look(_: Context) -> View:
        return sitting.view()

    async def call(_: Context, name: str, arguments: dict[str, Any]) -> ToolResult:
        try:
            wanted = sitting.read_call(name, arguments)
            if sitting.is_answer(wanted):
                sitting.finish(canonical_json(wanted.arguments))
                return ToolResult(value={"taken": True})
            return sitting.call(wanted)
        except UsageError as error:
            return ToolResult(error=str(error))

    server = mcp_server(look, call)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
