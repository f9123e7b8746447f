"""What a real vLLM says in its chat completions, with Hermes' parser of calls and with Llama's, and what our client
makes of it; the servers that stand in for one elsewhere say nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from asking import ORDER, VERDICT, asked, called, model_of, said
from chat_server import said as stand_in_says
from engines import Engine, needs_engines
from tables import strange, tell

from toolscale.errors import UsageError
from toolscale.models.catalogue import load_catalogue
from toolscale.models.chat import ChatClient, ChatReply
from toolscale.models.completion import read_choice
from toolscale.models.endpoint import EndpointExpert

pytestmark = [
    needs_engines,
    pytest.mark.xdist_group("engines"),
    pytest.mark.slow("tests/models/test_chat_client.py"),
]


@pytest.fixture(params=["vllm_server", "second_server"], ids=["hermes", "llama"])
def server(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


def raw(engine: Engine, text: str, **rest: Any) -> Any:
    """A chat completion as it comes."""
    body = {"model": engine.model, "messages": [{"role": "user", "content": text}], "temperature": 0.0, **rest}
    return httpx2.post(f"{engine.url}/v1/chat/completions", json=body, timeout=120).raise_for_status().json()


def test_a_call_comes_as_a_call_and_one_that_was_cut_as_a_problem(server: Engine, tmp_path: Path) -> None:
    request = said("Look up order A17.", tools=(ORDER,))
    whole = asked(server, tmp_path, lambda client: client.ask(request))
    assert (len(called(whole)), whole.content, whole.finish, whole.problem) == (1, "", "tool_calls", "")
    for most in (6, 12):
        short = said("Look up order A17.", tools=(ORDER,), max_tokens=most)
        cut = asked(server, tmp_path, lambda client, short=short: client.ask(short))
        assert (cut.tool_calls, cut.finish, cut.problem) == ((), "length", "it was cut off before its end: write less")
    tell(server, "a call, and one that was cut", found="call, `content: null`; text, `length`")


def test_a_reply_that_must_be_a_call_is_one_whatever_is_said(server: Engine, tmp_path: Path) -> None:
    def ask(client: ChatClient) -> Awaitable[ChatReply]:
        client.model = replace(client.model, tool_choice="required")
        return client.ask(said("Hello! How are you today?", tools=(ORDER,)))

    reply = asked(server, tmp_path, ask)
    assert reply.tool_calls and {call["function"]["name"] for call in reply.tool_calls} == {"get_order"}
    tell(server, "`tool_choice: required`", found="a call, to a greeting too")


def test_a_call_whose_json_is_torn_is_text_and_no_answer(server: Engine) -> None:
    """The server says `stop`, as of any message that ends."""
    found = raw(server, "Look up order A17.", tools=[ORDER], max_tokens=80, stop=["}"])
    [choice] = found["choices"]
    assert (choice["finish_reason"], choice["message"].get("tool_calls")) == ("stop", None)
    read = read_choice(json.dumps(found).encode(), "", with_calls=True)
    assert (read.calls, read.problem) == ((), "a call in it is no JSON object with a name and arguments")
    tell(server, "a call whose JSON is torn", found="text, `stop`: told to the model")


def test_a_conversation_with_calls_goes_on(server: Engine, tmp_path: Path) -> None:
    first = said("Look up order A17.", tools=(ORDER,))
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "A17"}'}}
    more = (
        *first.messages,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"state": "sent"}'},
    )
    reply = asked(server, tmp_path, lambda client: client.ask(said("", messages=more, tools=(ORDER,))))
    assert reply.content or reply.tool_calls or reply.problem
    assert reply.input_tokens > asked(server, tmp_path, lambda client: client.ask(first)).input_tokens


def test_a_reply_fits_its_schema_and_one_that_no_grammar_knows_is_said_in_words(
    vllm_server: Engine, tmp_path: Path
) -> None:
    request = said("Is water wet? Reply in JSON.", schema=VERDICT)
    assert asked(vllm_server, tmp_path, lambda client: client.ask_json(request))["verdict"] in ("yes", "no")
    odd = {"type": "object", "properties": {"names": {"type": "array", "uniqueItems": True}}, "required": ["names"]}
    reply = asked(vllm_server, tmp_path, lambda client: client.ask(said("Name two pets in JSON.", schema=odd)))
    assert reply.content
    tell(vllm_server, "JSON by schema", found="fits; `uniqueItems` is refused (400), and asked for in words")


def test_a_reply_may_be_longer_than_there_is_room_for(vllm_server: Engine, tmp_path: Path) -> None:
    """An expert asks for 16,384 tokens, twice what the server holds."""
    spec = load_catalogue(Path("experts/paper.yaml")).experts[0]
    expert = EndpointExpert(spec.model_copy(update={"endpoint": model_of(vllm_server).endpoint}))
    question = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    reply = asyncio.run(expert.reply(question, (), key=None, category="knowledge", draw="0", made=()))
    assert (reply.error, bool(reply.content)) == (None, True)


def test_a_request_that_is_too_long_says_so(vllm_server: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"maximum context length is 8192.*start it with a longer context"):
        asked(vllm_server, tmp_path, lambda client: client.ask(said("word " * 9_000)))


def test_the_stand_in_answers_as_vllm_does(server: Engine) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    answers = [
        (stand_in_says("Hello", usage=usage), raw(server, "Say hi.", max_tokens=5)),
        (stand_in_says(None, [call], usage=usage), raw(server, "Look up order A17.", max_tokens=80, tools=[ORDER])),
    ]
    assert [line for ours, theirs in answers for line in strange(json.loads(ours.body), theirs)] == []
