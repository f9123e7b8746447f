"""What is asked of a model, and the dialect in which a server takes it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolscale.canonical import content_hash
from toolscale.models.expert import Message
from toolscale.models.transport import RefusedError

ToolChoice = Literal["auto", "required"]
MOST_TOKENS = 4_096
LEAST_TOKENS = 64
"""A server that has no room for a reply of so many has none for the request."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation whose next message is wanted."""

    stage: str
    """What it is asked for, in the ledger: `draft schema`."""
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply must fit; none for plain text."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Functions that the model may call, in OpenAI form; a reply may then be calls alone."""
    tool_choice: ToolChoice = "auto"
    """`required`: a reply with tools must be calls."""
    max_tokens: int = MOST_TOKENS
    """Tokens that the reply may have, reasoning included."""
    temperature: float | None = None
    sample: int = 0
    """Number of the reply, where several to the same conversation are wanted."""

    def key(self, model: str) -> str:
        """Return what the reply is kept under: whatever the reply depends on, and not where it is asked."""
        return content_hash(
            {
                "model": model,
                "messages": [dict(message) for message in self.messages],
                "schema": self.schema,
                "max_tokens": self.max_tokens,
                "temperature": self.temperature,
                "sample": self.sample,
                **({"tools": [dict(tool) for tool in self.tools]} if self.tools else {}),
                **({"tool_choice": self.tool_choice} if self.tools and self.tool_choice != "auto" else {}),
            }
        )


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands of a request. All of it at first; a refusal teaches what it does not."""

    schemas: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True
    most: int | None = None
    """Tokens of a reply for which there is room beside this request; none: as many as it may have."""

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the request as it is sent, without the name of the model."""
        messages = [dict(message) for message in request.messages]
        body: dict[str, Any] = {self.limit: self._most(request)}
        if request.schema is not None and self.schemas:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": request.schema, "strict": _is_closed(request.schema)},
            }
        elif request.schema is not None:
            messages.append({"role": "system", "content": _ASKED.format(json.dumps(request.schema))})
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        if request.temperature is not None and self.temperature:
            body["temperature"] = request.temperature
        if request.sample and self.seed:
            body["seed"] = request.sample
        return {"messages": messages, **body}

    def after(self, status: int, reason: str, request: ChatRequest) -> Dialect | None:
        """Return the dialect to try after a refusal, or None if it is not about the dialect."""
        if status not in (400, 404, 422):
            return None
        if any(words in reason for words in _TOO_MUCH) and self._most(request) > LEAST_TOKENS:
            return replace(self, most=self._most(request) // 2)
        if "max_completion_tokens" in reason and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "temperature" in reason and request.temperature is not None and self.temperature:
            return replace(self, temperature=False)
        if "seed" in reason and request.sample and self.seed:
            return replace(self, seed=False)
        # vLLM: `Grammar error: Unimplemented keys: ["uniqueItems"]`
        named = any(word in reason for word in ("response_format", "json_schema", "schema", "Grammar"))
        if request.schema is not None and self.schemas and (named or status == 422):
            return replace(self, schemas=False)
        return None

    def _most(self, request: ChatRequest) -> int:
        return request.max_tokens if self.most is None else min(self.most, request.max_tokens)


async def in_dialect(
    dialect: Dialect, request: ChatRequest, send: Callable[[dict[str, Any]], Awaitable[bytes]]
) -> tuple[bytes, Dialect]:
    """Return what a server answers to a request in the widest dialect that it takes, and that dialect. RefusedError if
    it takes none."""
    while True:
        try:
            return await send(dialect.body(request)), replace(dialect, most=None)
        except RefusedError as error:
            narrower = dialect.after(error.status, str(error), request)
            if narrower is None:
                raise
            dialect = narrower


_TOO_MUCH = ("max_completion_tokens' is too large", "max_tokens' is too large", "cannot be greater than max_model_len")
"""How vLLM says that a reply of so many tokens has no room in its context: before 0.32, and since."""

_ASKED = "Reply with one JSON value that fits this JSON Schema, and with nothing else:\n{}"


def _is_closed(schema: Any) -> bool:
    """Return whether every object of a schema names all its properties as required and allows no others: only then may
    a server be asked to hold the reply to it strictly."""
    if isinstance(schema, list):
        return all(_is_closed(each) for each in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != set(schema.get("properties", {}))
    ):
        return False
    return all(_is_closed(each) for each in schema.values())
