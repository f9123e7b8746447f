"""Questions to real servers, by the client that all verbs ask with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engines import Engine

from toolscale.models.chat import ChatClient, ChatModel, ChatReply, ChatRequest, ReplyStore
from toolscale.records import Endpoint

ORDER = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up an order.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
}
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}, "why": {"type": "string", "maxLength": 40}},
    "required": ["verdict", "why"],
    "additionalProperties": False,
}


def said(text: str, **rest: Any) -> ChatRequest:
    """A question, or the conversation in `messages`."""
    asked = {"messages": ({"role": "user", "content": text},), "temperature": 0.0, "max_tokens": 80, **rest}
    return ChatRequest("try", **asked)


def asked(engine: Engine, folder: Path, work: Callable[[ChatClient], Any]) -> Any:
    """What comes of some work with a client of a server."""

    async def run() -> Any:
        with ReplyStore(folder / "replies") as store:
            async with ChatClient(model_of(engine), store) as client:
                return await work(client)

    return asyncio.run(run())


def model_of(engine: Engine) -> ChatModel:
    """A server as our own stages know it."""
    return ChatModel(Endpoint(base_url=f"{engine.url}/v1", model=engine.model, timeout_s=120, deadline_s=120))


def called(reply: ChatReply) -> list[tuple[str, Any]]:
    """The calls of a reply."""
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in reply.tool_calls]
