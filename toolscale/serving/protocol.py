"""What an MCP client sees of a task: its tools, its policy and request as resources, and both as a prompt.

Reset and grade are no tools, because a model that sees them calls them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)

from toolscale.canonical import canonical_json
from toolscale.config import VERSION
from toolscale.records import ToolResult
from toolscale.session.transcript import View

POLICY, REQUEST, TASK = "toolscale://policy", "toolscale://request", "task"
INSTRUCTIONS = "The prompt `task` holds the policy that you work by, and what a person asks for. Do it with the tools."
FRESH = CacheHint(ttl_ms=3_600_000)
"""Tools and resources of an episode do not change."""

Context = ServerRequestContext[Any]
Look = Callable[[Context], Awaitable[View]]
Call = Callable[[Context, str, dict[str, Any]], Awaitable[ToolResult]]


def mcp_server(look: Look, call: Call) -> Server[Any]:
    """Return an MCP server. `look` gives what may be seen of the task that a request is about, `call` makes a call
    there."""
    desk = _Desk(look, call)
    return Server(
        "toolscale",
        version=VERSION,
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": FRESH, "resources/read": FRESH},
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_read_resource=desk.read_resource,
        on_list_prompts=desk.list_prompts,
        on_get_prompt=desk.get_prompt,
    )


@dataclass(frozen=True)
class _Desk:
    """The handlers of a server."""

    look: Look
    call: Call

    async def list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        functions = [tool["function"] for tool in (await self.look(context)).tools]
        return ListToolsResult(
            tools=[
                Tool(name=each["name"], description=each["description"], input_schema=each["parameters"])
                for each in functions
            ]
        )

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        return result_of(await self.call(context, params.name, params.arguments or {}))

    async def list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[
                Resource(uri=POLICY, name="policy", description="The policy.", mime_type="text/markdown"),
                Resource(uri=REQUEST, name="request", description="What is asked for.", mime_type="text/plain"),
            ]
        )

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        view = await self.look(context)
        texts = {POLICY: view.policy, REQUEST: view.request}
        if params.uri not in texts:
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri[:80]!r}; there are {POLICY}, {REQUEST}")
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=texts[params.uri])])

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=TASK, description="The policy, and what is asked for.")])

    async def get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != TASK:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name[:80]!r}; there is {TASK!r}")
        view = await self.look(context)
        # A prompt of MCP has no system message.
        texts = [TextContent(type="text", text=text) for text in (view.policy, view.request)]
        return GetPromptResult(messages=[PromptMessage(role="user", content=text) for text in texts])


def result_of(result: ToolResult) -> CallToolResult:
    """Return a result as MCP has it, in the words of a rollout. An error is one for the model to read: errors of the
    protocol are seen by programs only."""
    shown = result.value if result.ok else {"error": result.error}
    return CallToolResult(content=[TextContent(type="text", text=canonical_json(shown))], is_error=not result.ok)
