"""What asks a model, against llama.cpp's real server: not for quality, but for what a server really says."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from engines import Engine
from llamacpp import llamacpp, needs_llamacpp

from toolscale.errors import UsageError
from toolscale.models.chat import ChatClient, ChatModel, ChatReply, ChatRequest, ReplyStore
from toolscale.pipeline import synthesize
from toolscale.records import Endpoint

pytestmark = [needs_llamacpp, pytest.mark.xdist_group("engines"), pytest.mark.slow("tests/models/test_chat_client.py")]

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with llamacpp(tmp_path_factory.mktemp("llamacpp")) as engine:
        yield engine


def said(text: str, **rest: Any) -> ChatRequest:
    return ChatRequest("try", ({"role": "user", "content": text},), temperature=0.0, **{"max_tokens": 80, **rest})


def asked(engine: Engine, folder: Path, work: Callable[[ChatClient], Any]) -> Any:
    async def run() -> Any:
        place = Endpoint(base_url=f"{engine.url}/v1", model=engine.model, timeout_s=120, deadline_s=120)
        with ReplyStore(folder / "replies") as store:
            async with ChatClient(ChatModel(place), store) as client:
                return await work(client)

    return asyncio.run(run())


def called(reply: ChatReply) -> list[tuple[str, Any]]:
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in reply.tool_calls]


def test_a_call_comes_as_a_call_and_one_that_was_cut_as_a_problem(server: Engine, tmp_path: Path) -> None:
    whole = asked(server, tmp_path, lambda client: client.ask(said("Look up order A17.", tools=(ORDER,))))
    assert (called(whole), whole.content, whole.finish, whole.problem) == (
        [("get_order", {"order_id": "A17"})], "", "tool_calls", "",
    )  # fmt: skip
    for most in (12, 24):  # the beginning of a call as text; a call whose arguments are torn
        request = said("Look up order A17.", tools=(ORDER,), max_tokens=most)
        cut = asked(server, tmp_path, lambda client, request=request: client.ask(request))
        assert (cut.tool_calls, cut.finish, cut.problem) == ((), "length", "it was cut off before its end: write less")


def test_a_reply_fits_its_schema(server: Engine, tmp_path: Path) -> None:
    request = said("Is water wet? Reply in JSON.", schema=VERDICT)
    found = asked(server, tmp_path, lambda client: client.ask_json(request))
    assert found["verdict"] in ("yes", "no")


def test_a_request_that_is_too_long_says_so(server: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"exceeds the available context size.*start it with a longer context"):
        asked(server, tmp_path, lambda client: client.ask(said("word " * 9_000)))


def test_a_server_that_still_loads_is_waited_for(tmp_path: Path) -> None:
    with llamacpp(tmp_path, ready=False) as engine:
        assert asked(engine, tmp_path, lambda client: client.ask(said("Say hi."))).content


def test_a_template_without_tools_leaves_them_out(tmp_path: Path) -> None:
    """Nothing in the answer says so but the count of tokens."""
    with llamacpp(tmp_path, template=None) as engine:
        replies = [
            asked(engine, tmp_path, lambda client, tools=tools: client.ask(said("Look up order A17.", tools=tools)))
            for tools in ((), (ORDER,))
        ]
    assert replies[0].input_tokens == replies[1].input_tokens and not replies[1].tool_calls


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "mock"
    synthesize("mock", folder, tasks=20, seed=0)
    return folder


EVALUATE = ["--config", "training/configs/smollm2_grpo.yaml", "--policy", "model", "--no-baselines", "--turns", "3"]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("solve", ["{data}", "--tasks", "1", "--samples", "1", "--out", "{out}"]),
        ("evaluate", ["familiar", "--data", "{data}", *EVALUATE, "--tasks", "2", "--at-once", "1", "--out", "{out}"]),
    ],
)
def test_verbs_that_try_tasks(server: Engine, dataset: Path, tmp_path: Path, verb: str, options: list[str]) -> None:
    named = [each.format(data=dataset, out=tmp_path / "out") for each in options]
    environ = os.environ | {
        "TOOLSCALE_MODEL": server.model,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "TOOLSCALE_MODEL_TOKENS": "32",
    }
    command = [sys.executable, "-m", "toolscale", verb, *named, "--replies", str(tmp_path / "replies"), "--json"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)
    assert httpx2.get(f"{server.url}/health").status_code == 200
