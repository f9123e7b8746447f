"""Whether a template shows tools, as servers of one's own tell it. Real ones: tests/engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from chat_server import Answer, chat_server, said

from toolscale.models.chat import ChatModel
from toolscale.models.hidden_tools import hidden_tools
from toolscale.records import Endpoint

Pages = Callable[[str, dict[str, Any] | None], Answer | None]


def told(other: Pages, path: str = "/v1") -> tuple[str, str]:
    """The address of a server, and what is told of it."""
    with chat_server(said("Hello"), other=other) as server:
        where = server.base_url.removesuffix("/v1") + path
        place = Endpoint(base_url=where, model="m", timeout_s=5, deadline_s=5)
        found = asyncio.run(hidden_tools(ChatModel(place)))
        assert server.asked == []  # no model was asked
    return where, found


def llamacpp(template: Callable[[list[Any]], str]) -> Pages:
    def other(path: str, body: dict[str, Any] | None) -> Answer | None:
        if path == "/props":
            return page({"chat_template": "…", "total_slots": 1})
        if path == "/apply-template" and body is not None:
            return page({"prompt": template(body["tools"])})
        return None

    return other


def vllm(template: Callable[[list[Any]], str]) -> Pages:
    def other(path: str, body: dict[str, Any] | None) -> Answer | None:
        if path == "/version":
            return page({"version": "0.32.0"})
        if path == "/tokenize" and body is not None:
            assert body["model"] == "m"
            tokens = list(template(body.get("tools", [])).encode())
            return page({"count": len(tokens), "max_model_len": 8192, "tokens": tokens, "token_strs": None})
        return None

    return other


def page(value: Any) -> Answer:
    return Answer(json.dumps(value).encode())


@pytest.mark.parametrize("engine", [llamacpp, vllm])
@pytest.mark.parametrize("path", ["/v1", "/v1/"])
def test_a_template_that_leaves_tools_out_is_told(engine: Callable[..., Pages], path: str) -> None:
    where, found = told(engine(lambda tools: "user: a"), path)
    assert found == (
        f"{where}: its chat template leaves tools out of the prompt, so the model 'm' knows of none; start the server "
        "with a template that has them (vLLM: --chat-template FILE, llama.cpp: --chat-template-file FILE)"
    )


@pytest.mark.parametrize("engine", [llamacpp, vllm])
def test_one_that_shows_them_is_not(engine: Callable[..., Pages]) -> None:
    assert told(engine(lambda tools: f"{tools} user: a"))[1] == ""


@pytest.mark.parametrize(
    "other",
    [
        lambda path, body: None,
        lambda path, body: Answer(b"<html>", 200),
        lambda path, body: page([]),
        lambda path, body: page({"chat_template": "…"}),
        lambda path, body: page({"version": "1"}) if body is None else Answer(b"{}", 500),
        lambda path, body: Answer(b"", 302, {"Location": "http://127.0.0.1:9/"}),
        lambda path, body: page({"version": "1"}) if body is None else page({"count": None}),
    ],
)
def test_of_a_server_that_does_not_tell_nothing_is_said(other: Pages) -> None:
    assert told(other)[1] == ""


def test_of_a_server_that_is_away_nothing_is_said() -> None:
    place = Endpoint(base_url="http://127.0.0.1:9/v1", model="m", timeout_s=5, deadline_s=5)
    assert asyncio.run(hidden_tools(ChatModel(place))) == ""
