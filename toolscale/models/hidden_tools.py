"""Whether the chat template of a server shows a model the tools that it is given: one that does not leaves them out
without a word. Servers of one's own are asked for the prompt that they would write, which costs nothing: llama.cpp's
and vLLM. Of others nothing is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from toolscale.models.chat.settings import ChatModel
from toolscale.models.completion import GarbledError
from toolscale.models.transport import key_of, open_client

PATIENCE_S = 10.0
"""For one answer: whoever says nothing of a prompt is not waited for."""

_ASKED = [{"role": "user", "content": "a"}]
_TOOL = {
    "type": "function",
    "function": {
        "name": "tool_81",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"member_81": {"type": "string"}}, "required": ["member_81"]},
    },
}


async def hidden_tools(model: ChatModel) -> str:
    """Return a line if the server of a model leaves tools out of the prompt; empty if it does not, or if it does not
    tell. UsageError if the key of the model is not in the environment."""
    where, secret = model.endpoint.base_url, key_of(model.endpoint, f"the model {model.endpoint.model!r}")
    root = where.rstrip("/").removesuffix("/v1")
    place = model.endpoint.model_copy(update={"base_url": root, "timeout_s": min(PATIENCE_S, model.endpoint.timeout_s)})
    try:
        async with open_client(place, secret) as server:
            shows = await _of_llamacpp(server) or await _of_vllm(server, model.endpoint.model)
            if shows is None:
                return ""
            prompts = await shows([_TOOL]), await shows([])
            if prompts[0] is None or prompts[0] != prompts[1]:
                return ""
    except (APIConnectionError, APIStatusError, GarbledError, ValueError, LookupError, TypeError):
        return ""  # it says nothing of its prompts
    return (
        f"{where}: its chat template leaves tools out of the prompt, so the model {model.endpoint.model!r} knows of "
        "none; start the server with a template that has them (vLLM: --chat-template FILE, llama.cpp: "
        "--chat-template-file FILE)"
    )


Shows = Callable[[list[dict[str, Any]]], Awaitable[Any]]
"""What a server makes of a message and these tools: its prompt, or how long that is."""


async def _of_llamacpp(server: AsyncOpenAI) -> Shows | None:
    if "chat_template" not in await _read(server, "/props"):
        return None

    async def prompt(tools: list[dict[str, Any]]) -> Any:
        return (await _asked(server, "/apply-template", {"messages": _ASKED, "tools": tools}))["prompt"]

    return prompt


async def _of_vllm(server: AsyncOpenAI, name: str) -> Shows | None:
    if "version" not in await _read(server, "/version"):
        return None

    async def count(tools: list[dict[str, Any]]) -> Any:
        body = {"model": name, "messages": _ASKED, **({"tools": tools} if tools else {})}
        return (await _asked(server, "/tokenize", body))["count"]

    return count


async def _read(server: AsyncOpenAI, path: str) -> dict[str, Any]:
    """What a server says there; nothing if it knows no such path."""
    try:
        response: httpx2.Response = await server.get(path, cast_to=httpx2.Response)
    except APIStatusError:
        return {}
    return _object(response)


async def _asked(server: AsyncOpenAI, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response: httpx2.Response = await server.post(path, body=body, cast_to=httpx2.Response)
    return _object(response)


def _object(response: httpx2.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
