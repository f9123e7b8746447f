"""Read what a chat endpoint sent back. Nothing in it is believed: it is checked here, and what cannot be used is one
line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Completion:
    """The first choice of a chat completion."""

    content: str | None
    calls: tuple[dict[str, Any], ...]
    finish: str
    """Why it ends: `stop`, `length`, `tool_calls`, `content_filter`; empty if the server does not say."""
    refusal: str
    """Why the model will not answer, in its words; empty if it answers."""
    input_tokens: int | None
    output_tokens: int | None
    """As the server counted them; None if it did not."""


def read_choice(body: bytes, key: str, with_calls: bool = False) -> Completion:
    """Return the first choice of a chat completion, which may have no content. GarbledError says why there is none.
    `key` is hidden wherever it stands in the reply. Calls are left out unless they are wanted."""
    data = _parsed(body, key if len(key) >= SHORTEST_SECRET else "")
    usage = data.get("usage") if isinstance(data, dict) else None
    counted = _counted(usage, "prompt_tokens"), _counted(usage, "completion_tokens")
    try:
        choice, message = _choice(data)
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise GarbledError("its content is not text")
        calls = tuple(_call(call) for call in _list(message.get("tool_calls"))) if with_calls else ()
    except GarbledError as error:
        raise GarbledError(str(error), counted[0] or 0, counted[1] or 0) from None
    finish, refusal = choice.get("finish_reason"), message.get("refusal")
    return Completion(
        content or None,
        calls,
        finish if isinstance(finish, str) else "",
        refusal if isinstance(refusal, str) else "",
        *counted,
    )


def read_completion(body: bytes, key: str, messages: Sequence[Message], tools: Sequence[Message]) -> ExpertReply:
    """Return the first choice of a chat completion, without its latency. GarbledError says why there is none.

    `key` is hidden wherever it stands in the reply. Tokens that the server did not count are approximated. GarbledError
    holds only those that the server counted: the provider charges them even if the reply cannot be used. Calls are left
    out if no tools were offered.
    """
    found = read_choice(body, key, bool(tools))
    if not found.content and not found.calls:
        raise GarbledError("it has neither content nor calls", found.input_tokens or 0, found.output_tokens or 0)
    written = (found.content or "") + "".join(
        call["function"]["name"] + call["function"]["arguments"] for call in found.calls
    )
    return ExpertReply(
        content=found.content,
        tool_calls=found.calls,
        kind="endpoint",
        input_tokens=_known(found.input_tokens, approximate_input_tokens(messages, tools)),
        output_tokens=_known(found.output_tokens, approximate_tokens(written)),
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


def _choice(data: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise GarbledError("it has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise GarbledError("its first choice has no message")
    return choices[0], message


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


def _counted(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None


def _known(count: int | None, otherwise: int) -> int:
    return otherwise if count is None else count
