"""Read what a chat endpoint sent back. Nothing in it is believed: it is checked here, and what cannot be used is one
line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from toolscale.models.expert import Message
from toolscale.models.pricing import approximate_input_tokens, approximate_tokens
from toolscale.models.thoughts import spoken
from toolscale.patterns import regex

SHORTEST_SECRET = 8
"""A key of fewer characters (`EMPTY`, as local servers want it) is no secret, and its letters may stand in any
answer."""

MOST_TOKENS = 1_000_000_000
"""A server that counts more than this in one reply is not believed."""

LONGEST_EXCERPT = 200

_ASIDE = ("reasoning_content", "reasoning")
"""Where servers put what a model thought, if they know it from what it says."""
_THINKING = ("thinking", "reasoning")
"""Parts of a content that were thought."""
_MARKS = ("<tool_call>", "<|python_tag|>")
_NAMED = regex(r"\s*\{\s*\"name\"\s*:")
"""How a call begins, of models that write them as vLLM's parsers for Hermes and Llama read them."""


class GarbledError(Exception):
    """The server answered, and the answer cannot be used: what is wrong with it, and the tokens that the server counted
    all the same; None where it did not."""

    def __init__(self, what: str, input_tokens: int | None = None, output_tokens: int | None = None):
        super().__init__(what)
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


@dataclass(frozen=True, slots=True)
class Completion:
    """The first choice of a chat completion, as it can be used."""

    content: str | None
    """What is said, without what was thought before it."""
    calls: tuple[dict[str, Any], ...]
    finish: str
    """Why it ends: `stop`, `length`, `tool_calls`, `content_filter`; empty if the server does not say."""
    refusal: str
    """Why the model will not answer, in its words; empty if it answers."""
    problem: str
    """What is wrong with the message, in words that the model can act on: then it has no calls. Empty if nothing is."""
    written: str
    """All that the model wrote, thoughts and calls too."""
    input_tokens: int | None
    output_tokens: int | None
    """As the server counted them; None if it did not."""
    message: Mapping[str, Any]
    """As it came."""


def read_choice(body: bytes, key: str, with_calls: bool = False) -> Completion:
    """Return the first choice of a chat completion: what a model can do wrong in it is its `problem`. GarbledError says
    why there is none. `key` is hidden wherever it stands in the reply. Calls are left out unless they are wanted."""
    data = _parsed(body, key if len(key) >= SHORTEST_SECRET else "")
    usage = data.get("usage") if isinstance(data, dict) else None
    read, wrote = _counted(usage, "prompt_tokens"), _counted(usage, "completion_tokens")
    try:
        choice, message = _choice(data)
    except GarbledError as error:
        raise GarbledError(str(error), read or None, wrote or None) from None
    text, aside, problem = _content(message)
    said, raw = spoken(text), message.get("tool_calls") if with_calls else None
    calls, fault = _calls(raw)
    finish, refusal = choice.get("finish_reason"), message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else ""
    if said.is_open:
        problem = problem or "its thoughts have no end: close them before you call a tool or answer"
    if with_calls and finish == "length":  # the rest of a call may be missing, or its beginning be left as text
        problem = problem or "it was cut off before its end: write less"
    problem = problem or fault
    if with_calls and not calls and _holds_call(said.text):
        problem = problem or "a call in it is no JSON object with a name and arguments"
    if not (said.text.strip() or calls or refusal or problem):
        problem = "it has neither content nor calls"
    called = "".join(f"{call['function']['name']}{call['function']['arguments']}" for call in calls)
    written = f"{text}{aside}{called or (json.dumps(raw) if raw else '')}"
    return Completion(
        content=said.text or None,
        calls=() if problem else calls,
        finish=finish if isinstance(finish, str) else "",
        refusal=refusal,
        problem=problem,
        written=written,
        input_tokens=read or None,  # no request has no tokens: a server that says so did not count
        output_tokens=wrote if wrote or (read and not written) else None,
        message=message,
    )


def tokens_of(found: Completion, messages: Sequence[Message], tools: Sequence[Message]) -> tuple[int, int]:
    """Return the tokens that were read and written: as the server counted them, else about as many as the texts have,
    thoughts included."""
    read, wrote = found.input_tokens, found.output_tokens
    return (
        approximate_input_tokens(messages, tools) if read is None else read,
        approximate_tokens(found.written) if wrote is None else wrote,
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


def _content(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the text of a message, what was thought aside from it, and what is wrong with it."""
    texts, thoughts = list[str](), list[str]()
    is_read = _take(message.get("content"), texts, thoughts)
    aside = next((said for name in _ASIDE if isinstance(said := message.get(name), str) and said), "")
    return "".join(texts), "".join(thoughts) or aside, "" if is_read else "its content is not text"


def _take(content: Any, texts: list[str], thoughts: list[str]) -> bool:
    """Take what can be read of a content, which is text or a list of parts; return whether all of it can."""
    if content is None:
        return True
    if isinstance(content, str):
        texts.append(content)
        return True
    if not isinstance(content, list):
        return False
    is_read = True
    for part in content:
        if isinstance(part, dict):
            thinks = part.get("type") in _THINKING
            inner = next((part[name] for name in ("text", *_THINKING) if name in part), part)
            is_read &= not isinstance(inner, dict) and _take(inner, thoughts if thinks else texts, thoughts)
        else:
            is_read &= isinstance(part, str) and _take(part, texts, thoughts)
    return is_read


def _holds_call(text: str) -> bool:
    """Return whether a text holds a call. A server leaves one there that it cannot read, and says that the message
    ended as any other; so does one that reads no calls at all."""
    if any(mark in text for mark in _MARKS):
        return True
    if (begin := _NAMED.match(text)) is None:
        return False
    try:
        value, _ = json.JSONDecoder().raw_decode(text, begin[0].index("{"))
    except (ValueError, RecursionError):
        return True
    return "arguments" in value or "parameters" in value


def _calls(raw: Any) -> tuple[tuple[dict[str, Any], ...], str]:
    """Return the calls of a message, and what is wrong with them."""
    if raw is None:
        return (), ""
    if not isinstance(raw, list):
        return (), "its calls are not a list"
    calls, ids = list[dict[str, Any]](), set[str]()
    for place, call in enumerate(raw, 1):
        function = call.get("function") if isinstance(call, dict) else None
        name, arguments = (
            (function.get("name"), _arguments(function.get("arguments")))
            if isinstance(function, dict)
            else (None, None)
        )
        if not isinstance(name, str) or not name or arguments is None:
            return (), "a call has no name, or arguments that are no object"
        given = call.get("id")
        names = chain([given] if isinstance(given, str) and given else [], map("call_{}".format, count(place)))
        own = next(each for each in names if each not in ids)
        ids.add(own)
        calls.append({"id": own, "type": "function", "function": {"name": name, "arguments": arguments}})
    return tuple(calls), ""


def _arguments(given: Any) -> str | None:
    """Return arguments as text, which servers also send as an object, or not at all where there are none; None if they
    are something else."""
    if isinstance(given, dict):
        return json.dumps(given, ensure_ascii=False)
    if isinstance(given, str):
        return given if given.strip() else "{}"
    return "{}" if given is None else None


def _counted(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None
