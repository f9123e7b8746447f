"""An expert behind a server that is down, slow, limited, garbled or loose-lipped: always a reply, and never the key."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

import pytest
from chat_server import Answer, chat_server, said
from hypothesis import given, settings
from hypothesis import strategies as st

from toolscale.errors import UsageError
from toolscale.models.chat.budget import most_read
from toolscale.models.chat.client import Lost
from toolscale.models.chat.replies import reply_of
from toolscale.models.chat.request import ChatRequest
from toolscale.models.completion import GarbledError, read_choice
from toolscale.models.endpoint import MOST_TOKENS, EndpointExpert, expert_reply
from toolscale.records import CATEGORIES, Effort, Endpoint, ExpertReply, ExpertSpec, Price

KEY = "sk-test-1234567890"
QUESTION = [{"role": "user", "content": "How much is 6 x 7?"}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr("toolscale.models.transport.FIRST_WAIT", 0.01)


def expert(base_url: str, **options: Any) -> EndpointExpert:
    options = {"api_key_env": "TEST_KEY", "timeout_s": 5.0, "deadline_s": 20.0, **options}
    return EndpointExpert(
        ExpertSpec(
            name="one",
            title="One",
            price=Price(input=1, output=10),
            source="made for a test",
            skills=dict.fromkeys(CATEGORIES, 0.5),
            effort=dict.fromkeys(CATEGORIES, Effort(output_tokens=100, latency_s=1)),
            endpoint=Endpoint(base_url=base_url, model="m", **options),
        )
    )


def ask(base_url: str, tools: Sequence[dict[str, Any]] = (), **options: Any) -> ExpertReply:
    """Ask once; the seconds it took are measured, and left out of what is compared."""
    reply = asyncio.run(
        expert(base_url, **options).reply(QUESTION, tools, key=None, category="arithmetic", draw="0", made=())
    )
    assert reply.latency_s > 0
    return reply.model_copy(update={"latency_s": 0.0})


def failed(error: str, lost: int = 0) -> ExpertReply:
    """A reply that is none. `lost`: tries that may be paid for, though nothing came of them."""
    request = ChatRequest("", tuple(QUESTION))
    return ExpertReply(
        error=error, kind="endpoint", input_tokens=lost * most_read(request), output_tokens=lost * MOST_TOKENS
    )


def test_a_question_is_asked_and_its_tokens_are_those_that_the_server_counts() -> None:
    with chat_server(said("42", usage={"prompt_tokens": 12, "completion_tokens": 3})) as server:
        assert ask(server.base_url) == ExpertReply(content="42", input_tokens=12, output_tokens=3, kind="endpoint")
        asked = {"path": "/v1/chat/completions", "model": "m", "messages": QUESTION, "max_tokens": MOST_TOKENS}
        assert server.asked == [asked]


def test_tokens_that_are_not_counted_are_approximated() -> None:
    for usage in (None, {"prompt_tokens": -1, "completion_tokens": True}, {"prompt_tokens": 10**12}, "many"):
        with chat_server(said("The answer is 42.", usage=usage)) as server:
            assert ask(server.base_url) == ExpertReply(
                content="The answer is 42.", input_tokens=5, output_tokens=5, kind="endpoint"
            )


def test_tools_are_handed_over_and_calls_come_back() -> None:
    with chat_server(said(None, [CALL], usage={"prompt_tokens": 1, "completion_tokens": 1})) as server:
        assert ask(server.base_url, TOOLS) == ExpertReply(
            tool_calls=(CALL,), input_tokens=1, output_tokens=1, kind="endpoint"
        )
        assert server.asked[0]["tools"] == TOOLS


def test_an_expert_can_be_asked_from_one_event_loop_after_another_and_many_times_at_once() -> None:
    with chat_server(said("42")) as server:
        one = expert(server.base_url)

        async def many() -> list[ExpertReply]:
            return await asyncio.gather(
                *(one.reply(QUESTION, (), key=None, category="code", draw=str(i), made=()) for i in range(8))
            )

        replies = [*asyncio.run(many()), *asyncio.run(many())]
        assert [reply.content for reply in replies] == ["42"] * 16


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=503),
        Answer(status=408),
        Answer(status=429, headers={"Retry-After": "0.1"}),
        Answer(b"{", cut=True),
        Answer(status=429, headers={"Retry-After": formatdate(usegmt=True)}),
        Answer(status=429, headers={"Retry-After": "soon"}),
        Answer(status=429, headers={"Retry-After": "Mon, 01 Jan 0001 00:00:00 GMT"}),
        Answer(status=429, headers={"Retry-After": "-5"}),
        Answer(gzip.compress(b"{}"), 500, {"Content-Encoding": "gzip"}),
    ],
)
def test_what_may_pass_is_tried_again(answer: Answer) -> None:
    with chat_server(answer, said("42")) as server:
        assert ask(server.base_url).content == "42"
        assert server.asked == [server.asked[0]] * 2


def test_a_request_without_an_answer_is_given_up_and_made_again() -> None:
    with chat_server(Answer(held=True), Answer(b" " * 500, drip=0.05), said("42")) as server:
        assert ask(server.base_url, timeout_s=0.3).content == "42"
        assert len(server.asked) >= 3


def test_a_server_that_is_down_is_an_error_of_the_reply() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        assert ask(url, deadline_s=1.0) == failed(
            "no answer in 1 s: the connection failed (All connection attempts failed)"
        )


def test_a_deadline_that_is_reached_says_what_happened_last() -> None:
    with chat_server(Answer(held=True)) as server:
        assert ask(server.base_url, deadline_s=0.3) == failed("no answer in 0.3 s: it was silent", lost=1)
        told = ask(server.base_url, deadline_s=1.0, timeout_s=0.3)
        lost = told.output_tokens // MOST_TOKENS
        assert told == failed("no answer in 1 s: a request had no answer after 0.3 s", lost=lost)
        assert lost >= len(server.asked) - 1 > 0  # one that a busy machine sent too late counts too
    with chat_server(Answer(status=500), Answer(held=True)) as server:
        assert ask(server.base_url, deadline_s=1.0) == failed("no answer in 1 s: it answered 500", lost=1)


def test_a_server_that_asks_to_wait_past_the_deadline_is_not_waited_for() -> None:
    with chat_server(Answer(status=429, headers={"Retry-After": "3600"})) as server:
        assert ask(server.base_url) == failed(
            "no answer in 20 s: the rate limit is reached (429), and it asks to wait 3600 s"
        )
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, b'{"error": {"message": "too many tokens"}}', "400: too many tokens"),
        (401, b"{}", "401: {}"),
        (404, b"", "404: no reason given"),
        (422, b"<html>\x1b[31m\n" + b"x" * 5000, "422: <html> [31m " + "x" * 187 + "…"),
        (400, b"[" * 100_000, "400: " + "[" * 199 + "…"),
        (400, b'{"error": {"message": "half \\ud800"}}', "400: half"),
        (302, b"elsewhere", "302: elsewhere"),
    ],
)
def test_a_refusal_stops_at_once(status: int, body: bytes, reason: str) -> None:
    with chat_server(Answer(body, status, {"Location": "http://127.0.0.1:9/"})) as server:
        assert ask(server.base_url) == failed(f"it refused ({reason})")
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(b"<html>busy</html>", headers={"Content-Type": "text/html"}), "it is not JSON that can be read"),
        (Answer(b"[" * 100_000), "it is not JSON that can be read"),
        (Answer(b"9" * 5000), "it is not JSON that can be read"),
        (Answer(b'{"choices": [{"message": {"content": "\xff"}}]}'), "it is not UTF-8"),
        (Answer(b"null"), "it has no choices"),
        (Answer(b'{"choices": []}'), "it has no choices"),
        (Answer(b'{"choices": {"0": 1}}'), "it has no choices"),
        (Answer(b'{"choices": [null]}'), "its first choice has no message"),
        (Answer(b'{"choices": [{"message": {"content": [1]}}]}'), "its content is not text"),
        (said(None), "it has neither content nor calls"),
        (said(""), "it has neither content nor calls"),
        (
            said(None, [{"id": "c1", "function": {"name": "look", "arguments": []}}]),
            "a call has no name, or arguments that are no object",
        ),
        (
            Answer(gzip.compress(said("42").body), headers={"Content-Encoding": "gzip"}),
            "it is compressed, which it was asked not to be",
        ),
        (Answer(b" " * 8_000_001), "it is longer than 8 MB"),
    ],
)
def test_a_reply_that_cannot_be_used_is_an_error_of_the_reply(answer: Answer, problem: str) -> None:
    with chat_server(answer) as server:
        reply = ask(server.base_url, TOOLS)
        assert (reply.error, reply.content, reply.tool_calls) == (f"its reply cannot be used: {problem}", None, ())
        assert reply.input_tokens > 20 and len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (said(None, reasoning_content="Hm."), "it has neither content nor calls"),
        (said([1]), "its content is not text"),
        (said(None, [{"id": "c1"}]), "a call has no name, or arguments that are no object"),
        (Answer(b'{"choices": []}'), "it has no choices"),
    ],
)
def test_a_reply_that_cannot_be_used_has_the_tokens_that_the_server_counted(answer: Answer, problem: str) -> None:
    counted = {**json.loads(answer.body), "usage": {"prompt_tokens": 12, "completion_tokens": 32_000}}
    with chat_server(Answer(status=500), Answer(json.dumps(counted).encode())) as server:
        reply = ask(server.base_url, TOOLS)
        assert reply == ExpertReply(
            error=f"its reply cannot be used: {problem}", input_tokens=12, output_tokens=32_000, kind="endpoint"
        )
        assert len(server.asked) == 2


def test_of_a_reply_that_cannot_be_used_tokens_are_approximated_too() -> None:
    thoughts = said(None, usage={"prompt_tokens": -1, "completion_tokens": 0}).body.replace(b"null", b'"<think>So 42"')
    for answer, counted in ((said(None, usage={"completion_tokens": 7}), (5, 7)), (Answer(thoughts), (5, 3))):
        with chat_server(answer) as server:
            reply = ask(server.base_url)
            assert (reply.input_tokens, reply.output_tokens) == counted


@pytest.mark.parametrize("answer", [Answer(b"<html>"), Answer(b"[" * 5_000), said(None), said(None, usage={})])
def test_a_reply_of_which_nothing_is_known_has_as_many_tokens_as_there_can_be(answer: Answer) -> None:
    with chat_server(answer) as server:
        assert ask(server.base_url).output_tokens == MOST_TOKENS


def test_tries_before_an_answer_are_charged_where_they_may_be_paid_for() -> None:
    counted = said("42", usage={"prompt_tokens": 12, "completion_tokens": 3})
    for first, lost in ((Answer(held=True), 1), (Answer(b"{", cut=True), 1), (Answer(status=503), 0)):
        with chat_server(first, counted) as server:
            reply = ask(server.base_url, timeout_s=0.3)
            assert (reply.content, reply.output_tokens) == ("42", 3 + lost * MOST_TOKENS)


@pytest.mark.parametrize(
    "line",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: {}. This model's maximum context length is 4096",
        "max_tokens={} cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=…",
    ],
    ids=["vLLM before 0.32", "vLLM 0.32"],
)
def test_a_reply_is_as_long_as_the_context_of_the_server_has_room_for(line: str) -> None:
    def small(body: dict[str, Any]) -> Answer:
        most = body["max_tokens"]
        refusal = json.dumps({"error": {"message": line.format(most)}}).encode()
        return said("42") if most < 4_000 else Answer(refusal, 400)

    with chat_server(reply=small) as server:
        assert ask(server.base_url).content == "42"
        assert [body["max_tokens"] for body in server.asked] == [16_384, 8_192, 4_096, 2_048]


def test_what_an_expert_thinks_is_no_part_of_its_answer() -> None:
    with chat_server(said("<think>43?</think> 42", usage={"prompt_tokens": 12, "completion_tokens": 9})) as server:
        assert ask(server.base_url) == ExpertReply(content="42", input_tokens=12, output_tokens=9, kind="endpoint")


@pytest.mark.parametrize("depth", [400, 600, 900, 5_000])
def test_a_reply_nested_to_any_depth_is_an_error_of_the_reply(depth: int) -> None:
    with chat_server(Answer(b"[" * depth + b"]" * depth)) as server:
        assert str(ask(server.base_url).error).startswith("its reply cannot be used: it ")


def test_calls_are_left_out_where_no_tools_were_handed_over() -> None:
    with chat_server(said("42", [CALL])) as server:
        assert ask(server.base_url).tool_calls == ()


def test_a_refusal_is_an_answer_in_its_words() -> None:
    refused = said(None, usage={"prompt_tokens": 9, "completion_tokens": 4}).body
    with chat_server(
        Answer(refused.replace(b'"content": null', b'"content": null, "refusal": "I will not."'))
    ) as server:
        assert ask(server.base_url) == ExpertReply(
            content="I will not.", input_tokens=9, output_tokens=4, kind="endpoint"
        )


def test_half_a_surrogate_pair_does_not_reach_the_record() -> None:
    with chat_server(Answer(b'{"choices": [{"message": {"content": "4\\ud800"}}]}')) as server:
        assert ask(server.base_url).content == "4?"


def test_half_a_surrogate_pair_in_a_question_can_be_asked() -> None:
    with chat_server(said("42")) as server:
        question = [{"role": "user", "content": "6 x 7 \ud83d"}]
        assert (
            asyncio.run(
                expert(server.base_url).reply(question, (), key=None, category="code", draw="", made=())
            ).content
            == "42"
        )


def test_the_key_is_sent_and_stands_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    def echo(headers: dict[str, str]) -> Answer:
        return Answer(json.dumps({"error": {"message": f"bad key: {headers['authorization']}"}}).encode(), 401)

    caplog.set_level(logging.DEBUG)
    with chat_server(echo=echo) as server:
        one = expert(server.base_url)
        assert ask(server.base_url) == failed("it refused (401: bad key: Bearer …)")
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    with chat_server(
        said(f"Your key is {KEY}.", [{**CALL, "function": {"name": "look", "arguments": json.dumps({"at": KEY})}}])
    ) as server:
        assert KEY not in ask(server.base_url, TOOLS).model_dump_json()
    assert KEY not in repr(one) + one.spec.model_dump_json() + caplog.text


def test_a_key_with_a_slash_is_hidden_as_json_may_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk/test/1234567890")
    with chat_server(Answer(b'{"detail": "no sk\\/test\\/1234567890"}', 403)) as server:
        assert ask(server.base_url) == failed('it refused (403: {"detail": "no …"})')


def test_a_server_gets_no_key_and_no_header_that_the_catalogue_does_not_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer other\nX-Secret: other")
    with chat_server(said("42")) as server:
        assert ask(server.base_url, api_key_env=None).content == "42"
        assert set(server.headers[0]) <= {
            "host",
            "accept",
            "accept-encoding",
            "connection",
            "content-length",
            "content-type",
            "user-agent",
        }


def test_a_short_key_is_no_secret_and_spoils_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "EMPTY")
    with chat_server(said("The list is EMPTY.")) as server:
        assert ask(server.base_url).content == "The list is EMPTY."


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the expert 'one' needs a key, and TEST_KEY is not set; set it to the key of http://h/v1"),
        ("", "the expert 'one' needs a key, and TEST_KEY is not set; set it to the key of http://h/v1"),
        (
            "sk-secret\n",
            "the key in TEST_KEY has a character that no key has; set it again, without spaces and line ends",
        ),
    ],
)
def test_a_key_that_is_missing_or_none_fails_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, value: str | None, message: str
) -> None:
    if value is None:
        monkeypatch.delenv("TEST_KEY")
    else:
        monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(UsageError) as caught:
        expert("http://h/v1")
    assert str(caught.value) == message


@pytest.mark.parametrize("address", ["", "h/v1", "ftp://h/v1", "http://", "http://h:port/v1", "http://[::1/v1"])
def test_an_address_that_cannot_be_one_fails_before_anything_runs(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        expert(address)
    assert (
        str(caught.value)
        == f"{address!r}, the base_url of the expert 'one', is not an address; write it as https://host/v1"
    )


@pytest.mark.parametrize("address", ["https://me:secret@h/v1", "https://h/v1?key=secret"])
def test_an_address_with_a_secret_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        expert(address)
    assert "secret" not in str(caught.value)


NAMES = st.sampled_from(
    ["choices", "message", "content", "tool_calls", "id", "function", "name", "arguments", "usage", "prompt_tokens"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
)
MESSAGE = st.fixed_dictionaries({}, optional={"content": JSON, "tool_calls": JSON})
COMPLETION = JSON | st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": MESSAGE | JSON}), max_size=2), "usage": JSON}
)


@given(st.binary(max_size=50) | COMPLETION.map(lambda value: json.dumps(value).encode()), st.booleans())
@settings(max_examples=300)
def test_whatever_comes_back_is_a_reply_or_garbled(body: bytes, tools: bool) -> None:
    try:
        choice = read_choice(body, KEY, tools)
    except GarbledError as error:
        assert (error.input_tokens or 0) >= 0 <= (error.output_tokens or 0)
        return
    request = ChatRequest("", tuple(QUESTION), tools=tuple(TOOLS) if tools else ())
    found = reply_of(choice, request, None)
    reply = expert_reply(found, Lost(), found.problem or None)
    assert bool(reply.content or reply.tool_calls) != bool(reply.error)
    assert ExpertReply.model_validate_json(reply.model_dump_json()) == reply
