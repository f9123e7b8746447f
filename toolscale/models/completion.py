"""Read what a chat endpoint sent back. Nothing in it is believed: it is checked here, and what cannot be used is one
line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolscale.models.expert import Message
from toolscale.models.pricing import approximate_input_tokens, approximate_tokens
from toolscale.records import ExpertReply

SHORTEST_SECRET = 8
"""A key of fewer characters (`EMPTY`, as local servers want it) is no secret, and its letters may stand in any
answer."""

MOST_TOKENS = 1_000_000_000
"""A server that counts more than this in one reply is not believed."""

LONGEST_EXCERPT = 200


class GarbledError(Exception):
    """The server answered, and the answer cannot be used: what is wrong with it, and the tokens that the server counted
    all the same."""

    def __init__(self, what: str, input_tokens: int = 0, output_tokens: int = 0):
        super().__init__(what)
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


def read_completion(body: bytes, key: str, messages: Sequence[Message], tools: Sequence[Message]) -> ExpertReply:
    """Return the first choice of a chat completion, without its latency. GarbledError says why there is none.

    `key` is hidden wherever it stands in the reply. Tokens that the server did not count are approximated. GarbledError
    holds only those that the server counted: the provider charges them even if the reply cannot be used. Calls are left
    out if no tools were offered.
    """
    data = _parsed(body, key if len(key) >= SHORTEST_SECRET else "")
    usage = data.get("usage") if isinstance(data, dict) else None
    try:
        content, calls = _content_and_calls(_message(data), tools)
    except GarbledError as error:
        raise GarbledError(
            str(error), _counted(usage, "prompt_tokens", 0), _counted(usage, "completion_tokens", 0)
        ) from None
    written = (content or "") + "".join(call["function"]["name"] + call["function"]["arguments"] for call in calls)
    return ExpertReply(
        content=content,
        tool_calls=calls,
        kind="endpoint",
        input_tokens=_counted(usage, "prompt_tokens", approximate_input_tokens(messages, tools)),
        output_tokens=_counted(usage, "completion_tokens", approximate_tokens(written)),
    )


def excerpt(text: str, key: str) -> str:
    """Return what a server said as one short line that a terminal can show, without the key should it repeat it."""
    # JSON may write a slash either way.
    hidden = text.replace(key, "…").replace(key.replace("/", "\\/"), "…") if key else text
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in hidden).split())
    return line if len(line) <= LONGEST_EXCERPT else f"{line[: LONGEST_EXCERPT - 1]}…"


def clean(value: Any, key: str) -> Any:
    """Return the JSON value with the key hidden in every text, and halves of surrogate pairs, which no file can hold,
    replaced."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode("utf-8")
        return text.replace(key, "…") if key else text
    if isinstance(value, dict):
        return {clean(name, key): clean(inner, key) for name, inner in value.items()}
    return [clean(inner, key) for inner in value] if isinstance(value, list) else value


def _parsed(body: bytes, key: str) -> Any:
    try:
        return clean(json.loads(body.decode("utf-8")), key)
    except UnicodeDecodeError:
        raise GarbledError("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise GarbledError("it is not JSON that can be read") from None


def _message(data: Any) -> Mapping[str, Any]:
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise GarbledError("it has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise GarbledError("its first choice has no message")
    return message


def _content_and_calls(
    message: Mapping[str, Any], tools: Sequence[Message]
) -> tuple[str | None, tuple[dict[str, Any], ...]]:
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise GarbledError("its content is not text")
    calls = tuple(_call(call) for call in _list(message.get("tool_calls"))) if tools else ()
    if not content and not calls:
        raise GarbledError("it has neither content nor calls")
    return content or None, calls


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise GarbledError("its calls are not a list")
    return value


def _call(call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not all(
        isinstance(text, str) for text in (call.get("id"), function.get("name"), function.get("arguments"))
    ):
        raise GarbledError("a call has no id, name or arguments in text")
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": function["name"], "arguments": function["arguments"]},
    }


def _counted(usage: Any, name: str, otherwise: int) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else otherwise
