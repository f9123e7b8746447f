"""A chat model that our own stages ask: each reply is paid for once, a cap is not passed, and faults are outlived."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from chat_server import Answer, ChatServer, chat_server, said
from hypothesis import given, settings
from hypothesis import strategies as st

from toolscale.errors import (
    BudgetError,
    ModelUnavailableError,
    StorageError,
    ToolScaleError,
    UnusableReplyError,
    UsageError,
)
from toolscale.limits import RunLimits
from toolscale.models.chat import (
    Budget,
    ChatClient,
    ChatModel,
    ChatReply,
    ChatRequest,
    ReplyStore,
    StageCost,
)
from toolscale.models.chat.client import SHOWN
from toolscale.models.chat.places import Places
from toolscale.models.chat.structured import findings, read_json
from toolscale.records import Endpoint, Price

KEY = "sk-test-1234567890"
PET = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
T = TypeVar("T")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr("toolscale.models.transport.FIRST_WAIT", 0.01)


def request(text: str = "Name a pet.", **rest: Any) -> ChatRequest:
    return ChatRequest(**{"stage": "pets", "messages": ({"role": "user", "content": text},), "max_tokens": 100, **rest})


def model(server: ChatServer, **rest: Any) -> ChatModel:
    endpoint = Endpoint(base_url=server.base_url, model="m", api_key_env="TEST_KEY", timeout_s=5, deadline_s=20)
    return ChatModel(endpoint, **{"price": Price(input=1, output=10), **rest})


def run(
    server: ChatServer,
    path: Path,
    work: Callable[[ChatClient], Coroutine[Any, Any, T]],
    most: float | None = None,
    **rest: Any,
) -> tuple[T, ChatClient]:
    """Do some work with a client whose replies are kept in a file; return what it returns, and the client."""

    async def done() -> tuple[T, ChatClient]:
        with ReplyStore(path) as store:
            async with ChatClient(model(server, **rest), store, Budget(RunLimits(max_cost=most))) as client:
                return await work(client), client

    return asyncio.run(done())


def text_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def counted(content: str, read: int = 10, wrote: int = 5, **rest: Any) -> Answer:
    return said(content, usage={"prompt_tokens": read, "completion_tokens": wrote}, **rest)


def test_a_reply_is_paid_for_once_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    with chat_server(counted("Rex")) as server:
        first, client = run(server, tmp_path / "replies", lambda client: client.ask(request()))
        assert (first.content, first.input_tokens, first.output_tokens, first.dollars) == ("Rex", 10, 5, 60e-6)
        assert client.ledger.rows()[0].paid_usd == client.budget.spent == 60e-6
        again, client = run(server, tmp_path / "replies", lambda client: client.ask(request()))
        assert again == first and len(server.asked) == 1
        assert client.ledger.rows() == [
            StageCost("pets", "m", replies=1, kept=1, input_tokens=10, output_tokens=5, worth_usd=60e-6)
        ]
        assert server.asked[0] == {
            "path": "/v1/chat/completions", "model": "m", "max_tokens": 100,
            "messages": [{"role": "user", "content": "Name a pet."}],
        }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [{"text": "Name two."}, {"sample": 1}, {"temperature": 0.5}, {"max_tokens": 99}, {"schema": {}}],
    ids=lambda other: next(iter(other)),
)
def test_whatever_the_reply_depends_on_is_asked_for_itself(tmp_path: Path, other: dict[str, Any]) -> None:
    with chat_server(counted("{}")) as server:
        run(server, tmp_path / "replies", lambda client: client.ask(request()))
        run(server, tmp_path / "replies", lambda client: client.ask(request(**other)))
        run(server, tmp_path / "replies", lambda client: client.ask(request(stage="another")))
        assert len(server.asked) == 2


def test_the_same_request_twice_at_once_is_sent_once(tmp_path: Path) -> None:
    with chat_server(counted("Rex")) as server:
        replies, client = run(
            server, tmp_path / "replies", lambda client: gathered(client.ask(request()) for _ in range(5))
        )
        assert len(server.asked) == 1 and len(set(replies)) == 1
        assert (client.ledger.total().replies, client.ledger.total().kept) == (5, 4)


async def gathered(asked: Any) -> list[Any]:
    return list(await asyncio.gather(*asked))


FAULTS = {
    "busy": Answer(b"{}", 429, {"Retry-After": "0.01"}),
    "broken": Answer(b"oh no", 500),
    "cut": Answer(b'{"choices": [', cut=True),
    "no JSON": Answer(b'{"choices": [{"mess'),
    "no choices": Answer(b"{}"),
    "compressed": Answer(b"x", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_may_pass_is_tried_again(tmp_path: Path, fault: str) -> None:
    with chat_server(FAULTS[fault], counted("Rex")) as server:
        reply, client = run(server, tmp_path / "replies", lambda client: client.ask(request()))
        assert reply.content == "Rex" and len(server.asked) == 2
        assert (client.ledger.total().replies, client.ledger.total().failures) == (1, 1)


def test_a_server_that_asks_to_wait_is_asked_again_after_that(tmp_path: Path) -> None:
    with chat_server(Answer(b"{}", 429, {"Retry-After": "0.5"}), counted("Rex")) as server:
        began = time.monotonic()
        reply, _ = run(server, tmp_path / "replies", lambda client: client.ask(request()))
    assert reply.content == "Rex" and 0.5 <= time.monotonic() - began < 5


def test_with_faults_in_one_of_five_all_come_back_with_few_more_requests(tmp_path: Path) -> None:
    numbers, faults = itertools.count(), itertools.cycle(FAULTS.values())

    def reply(body: dict[str, Any]) -> Answer:
        return next(faults) if next(numbers) % 5 == 4 else counted(text_of(body).upper())

    with chat_server(reply=reply) as server:
        replies, client = run(
            server, tmp_path / "replies", lambda client: gathered(client.ask(request(f"pet {n}")) for n in range(200))
        )
        assert [each.content for each in replies] == [f"PET {n}" for n in range(200)]
        assert len(server.asked) <= 1.3 * 200
        assert client.ledger.total().failures == len(server.asked) - 200


def test_a_server_that_stays_down_is_one_line(tmp_path: Path) -> None:
    with chat_server(Answer(b"{}", 503)) as server, pytest.raises(ModelUnavailableError) as caught:
        run(server, tmp_path / "replies", lambda client: shortened(client).ask(request()))
    assert str(caught.value).endswith(
        "no answer in 1 s: it answered 503; run it again later: what was paid for is kept"
    )


def shortened(client: ChatClient) -> ChatClient:
    endpoint = client.model.endpoint.model_copy(update={"deadline_s": 1.0})
    client.model = ChatModel(endpoint, client.model.price)
    return client


def test_a_refusal_stops_at_once_and_does_not_show_the_key(tmp_path: Path) -> None:
    refusal = Answer(json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode(), 401)
    with chat_server(refusal) as server, pytest.raises(UsageError) as caught:
        run(server, tmp_path / "replies", lambda client: client.ask(request()))
    assert str(caught.value) == (
        f"{server.base_url}: it refused (401: wrong key …); check the address, the key and the name of the model"
    )
    assert len(server.asked) == 1 and KEY not in str(vars(caught.value))


LLAMA_CPP = "request (9031 tokens) exceeds the available context size (4096 tokens), try increasing it"
VLLM = (
    "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, "
    "which exceeds this limit even without any output tokens."
)


@pytest.mark.parametrize("told", [LLAMA_CPP, VLLM])
def test_a_request_that_is_too_long_says_so(tmp_path: Path, told: str) -> None:
    refusal = Answer(json.dumps({"error": {"message": told, "code": 400}}).encode(), 400)
    with chat_server(refusal) as server, pytest.raises(UsageError) as caught:
        run(server, tmp_path / "replies", lambda client: client.ask(request()))
    assert str(caught.value) == (
        f"{server.base_url}: it refused (400: {told}); "
        "the request is too long for it: start it with a longer context, or take a model that has one"
    )


def test_a_server_that_has_no_answer_yet_says_why(tmp_path: Path) -> None:
    loading = Answer(b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}', 503)
    with chat_server(loading) as server, pytest.raises(ModelUnavailableError, match="it answered 503: Loading model"):
        run(server, tmp_path / "replies", lambda client: shortened(client).ask(request()))


def test_a_setting_bounds_every_reply(tmp_path: Path) -> None:
    async def work(client: ChatClient) -> list[ChatReply]:
        client.model = replace(client.model, most_tokens=40)
        return [await client.ask(request()), await client.ask(request(max_tokens=30))]

    with chat_server(counted("Hi")) as server:
        run(server, tmp_path / "replies", work)
    assert [asked["max_tokens"] for asked in server.asked] == [40, 30]


def test_a_setting_makes_every_reply_with_tools_a_call(tmp_path: Path) -> None:
    async def work(client: ChatClient) -> None:
        tools = ({"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}},)
        await client.ask(request(tools=tools))
        client.model = replace(client.model, tool_choice="required")
        await client.ask(request(tools=tools))
        await client.ask(request())

    with chat_server(counted("Hi")) as server:
        run(server, tmp_path / "replies", work)
    assert [asked.get("tool_choice") for asked in server.asked] == [None, "required", None]


def test_replies_that_are_garbled_again_and_again_are_paid_for_and_given_up(tmp_path: Path) -> None:
    garbled = Answer(b'{"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}')
    seen: list[ChatClient] = []

    async def work(client: ChatClient) -> ChatReply:
        seen.append(client)
        return await client.ask(request())

    with (
        chat_server(garbled) as server,
        pytest.raises(UnusableReplyError, match=r"6 replies .* cannot be used: it has no choices"),
    ):
        run(server, tmp_path / "replies", work)
    assert seen[0].budget.spent == pytest.approx(6 * 60e-6)


def test_a_server_teaches_its_dialect(tmp_path: Path) -> None:
    """It knows neither `max_tokens` nor schemas: both are learned once, and the schema is said in words."""

    def reply(body: dict[str, Any]) -> Answer:
        for name in ("max_tokens", "response_format"):
            if name in body:
                told = "use max_completion_tokens instead" if name == "max_tokens" else "response_format is unknown"
                return Answer(json.dumps({"error": {"message": told}}).encode(), 400)
        return counted('{"name": "Rex", "age": 3}')

    with chat_server(reply=reply) as server:
        values, client = run(
            server, tmp_path / "replies",
            lambda client: in_turn(client, [request("one", schema=PET), request("two", schema=PET)]),
        )  # fmt: skip
        assert values == [{"name": "Rex", "age": 3}] * 2 and len(server.asked) == 4
        assert server.asked[-1]["max_completion_tokens"] == 100
        assert server.asked[-1]["messages"][-1]["content"].endswith(json.dumps(PET))
        assert client.ledger.total().failures == 0


@pytest.mark.parametrize(
    "told",
    [
        'Grammar error: Unimplemented keys: ["uniqueItems"]',  # vLLM 0.32
        "This response_format type is unavailable now",
        "Invalid schema for response_format 'reply'",
    ],
)
def test_a_schema_that_a_server_cannot_hold_to_is_said_in_words(tmp_path: Path, told: str) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        refusal = {"error": {"message": told, "type": "BadRequestError", "param": None, "code": 400}}
        return Answer(json.dumps(refusal).encode(), 400) if "response_format" in body else counted(REX)

    with chat_server(reply=reply) as server:
        value, _ = run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET)))
    assert value == {"name": "Rex", "age": 3} and len(server.asked) == 2


async def in_turn(client: ChatClient, requests: list[ChatRequest]) -> list[Any]:
    return [await client.ask_json(each) for each in requests]


def test_a_schema_is_strict_only_where_a_server_can_hold_to_it(tmp_path: Path) -> None:
    loose = {"type": "object", "properties": {"name": {"type": "string"}}}
    with chat_server(counted('{"name": "Rex", "age": 3}')) as server:
        run(server, tmp_path / "replies", lambda client: in_turn(client, [request(schema=PET), request(schema=loose)]))
        assert [each["response_format"]["json_schema"]["strict"] for each in server.asked] == [True, False]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("Rex, 3 years", "it is not JSON: Expecting value in line 1, near 'Rex, 3 years'"),
        ('{"name": "Rex", "age": -1}', "age: -1 is less than the minimum of 0"),
        ('{"name": "Rex"}', "the whole: 'age' is a required property"),
        ('{"name": "Rex", "name": "Tom", "age": 3}', "it is not JSON that can be used: a key stands twice"),
        ('{"name": "Rex", "age": NaN}', "it is not JSON that can be used: NaN is not JSON"),
        ('{"name": "Rex", "age": 1e999}', "it is not JSON that can be used: 1e999 is too large a number"),
        ('Here: {"name": "Rex", "age": 1e999}.', "it is not JSON that can be used: 1e999 is too large a number"),
        ('Here: {"name": "Rex", "age": NaN}', "it is not JSON that can be used: NaN is not JSON"),
        ('{"name": "\\ud800", "age": 3}', "surrogates not allowed"),
        ("Look: [3] or {}.", "it is not JSON: Expecting value in line 1, near 'Look: [3] or {}.'"),
        ("", "it has neither content nor calls"),
        ("[" * 100_000, "it is not JSON that can be used: lists and objects are nested more than 64 levels deep"),
        ("Here: " + "[" * 100_000, "lists and objects are nested more than 64 levels deep"),
        ('{"name": "Rex", "age": ' + "9" * 5_000 + "}", "Exceeds the limit (4300 digits) for integer string"),
        ('{"name": "ox", "age": 3}', "an ox is no pet"),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_used_is_shown_once_and_written_again(tmp_path: Path, bad: str, told: str) -> None:
    def problem(value: Any) -> list[str]:
        return ["an ox is no pet"] if value["name"] == "ox" else []

    with chat_server(counted(bad), counted('{"name": "Rex", "age": 3}')) as server:
        value, _ = run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET), problem))
        assert value == {"name": "Rex", "age": 3}
        shown, correction = server.asked[1]["messages"][-2:]
        whole = len(bad) <= 2 * SHOWN
        assert shown["content"] == (bad if whole else f"{bad[:SHOWN]}\n…\n{bad[-SHOWN:]}")
        assert told in correction["content"] and correction["content"].endswith("Write it again, whole and corrected.")
    with chat_server(counted(bad)) as server, pytest.raises(UnusableReplyError) as caught:
        run(server, tmp_path / "other", lambda client: client.ask_json(request(schema=PET), problem))
    assert len(server.asked) == 2 and caught.value.reply == bad
    assert str(caught.value).startswith("pets: the model 'm' wrote what cannot be used, twice: ")


REX = '{"name": "Rex", "age": 3}'


@pytest.mark.parametrize(
    "written",
    [
        f"```json\n{REX}\n```", f"```json\n{REX}", f"Here:\n{REX}", f"{REX}\nI hope that this helps.",
        f'<think>{{"name": "Tom"}}? No.</think>\n{REX}', f"A dog?</think>Here it is: {REX}",
    ],
)  # fmt: skip
def test_a_value_is_read_behind_thoughts_and_among_words(tmp_path: Path, written: str) -> None:
    with chat_server(counted(written)) as server:
        value, _ = run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET)))
        assert value == {"name": "Rex", "age": 3} and len(server.asked) == 1


def test_thoughts_without_an_end_are_no_value(tmp_path: Path) -> None:
    with chat_server(counted(f"<think>It may be {REX}"), counted(REX)) as server:
        run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET)))
        assert "its thoughts have no end: close them" in text_of(server.asked[1])


def test_a_reply_that_was_kept_with_its_thoughts_is_read_without_them(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "replies") as store:
        store.put(request().key("m"), request(), ChatReply("<think>Tom? No.</think>Rex", 1, 1, 0.0, 0.0))
        kept = store.get(request().key("m"))
    assert kept is not None and kept.content == "Rex"


MOST = (len(json.dumps([[{"role": "user", "content": "Name a pet."}], [], None])) + 100 * 10) * 1e-6
"""Dollars that the request may cost: a token for each byte that is sent, and 100 that are written."""
BAD = b'{"choices": []}'
HELD = Answer(held=True)
ZEROS = {"prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("answers", "spent"),
    [
        ([said("Rex")], MOST),
        ([said("Rex", usage=ZEROS)], MOST),
        ([said(None)], MOST),
        ([said("Rex", usage={"prompt_tokens": 10})], 10e-6 + 1000e-6),
        ([Answer(BAD), counted("Rex")], MOST + 60e-6),
        ([Answer(b'{"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}'), counted("Rex")], 120e-6),
        ([HELD, counted("Rex")], MOST + 60e-6),
        ([Answer(b"{", cut=True), counted("Rex")], MOST + 60e-6),
        ([Answer(b"{}", 503), counted("Rex")], 60e-6),
    ],
    ids=["none", "zeros", "nothing written", "half", "garbled", "garbled and counted", "silent", "cut", "busy"],
)
def test_what_a_server_did_not_count_is_booked_at_all_that_it_can_cost(
    tmp_path: Path, answers: list[Answer], spent: float
) -> None:
    async def work(client: ChatClient) -> ChatReply:
        client.model = ChatModel(client.model.endpoint.model_copy(update={"timeout_s": 0.3}), client.model.price)
        return await client.ask(request())

    with chat_server(*answers) as server:
        _, client = run(server, tmp_path / "replies", work)
    assert client.budget.spent == client.ledger.total().paid_usd == pytest.approx(spent)


@pytest.mark.parametrize("answer", [Answer(BAD), Answer(b"{", cut=True), said("x" * 400), said("x", usage=ZEROS)])
def test_a_cap_holds_whatever_a_server_leaves_out(tmp_path: Path, answer: Answer) -> None:
    """By its own count, each request costs all that it can."""

    async def all_of(client: ChatClient) -> list[Any]:
        asked = (client.ask(request(f"pet {number}")) for number in range(9))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    with chat_server(answer) as server:
        replies, client = run(server, tmp_path / "replies", all_of, most=0.004)
    assert any(isinstance(each, BudgetError) for each in replies)
    assert len(server.asked) == 3 and client.budget.spent <= 0.004


def test_thoughts_are_counted_where_the_server_does_not_count(tmp_path: Path) -> None:
    with chat_server(said("Rex", usage=None), said("<think>" + "Tom? " * 200 + "</think>Rex")) as server:
        first, _ = run(server, tmp_path / "one", lambda client: client.ask(request()))
        second, _ = run(server, tmp_path / "two", lambda client: client.ask(request()))
    aside = {"role": "assistant", "content": "Rex", "reasoning": "Tom? " * 200}
    with chat_server(Answer(json.dumps({"choices": [{"message": aside}]}).encode())) as server:
        third, _ = run(server, tmp_path / "three", lambda client: client.ask(request()))
    assert [reply.content for reply in (first, second, third)] == ["Rex"] * 3
    assert [reply.output_tokens for reply in (first, second, third)] == [1, 255, 251]


def test_a_reply_that_was_cut_off_is_told_so(tmp_path: Path) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": '{"name": "Re'}, "finish_reason": "length"}
    with chat_server(
        Answer(json.dumps({"choices": [choice]}).encode()), counted('{"name": "Rex", "age": 3}')
    ) as server:
        run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET)))
        assert "it was cut off after 100 tokens, so write less" in text_of(server.asked[1])


def test_a_model_that_refuses_says_so(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I can't help with pets."}
    refusal = Answer(json.dumps({"choices": [{"message": message}]}).encode())
    with chat_server(refusal) as server, pytest.raises(UnusableReplyError, match="the model refuses: I can't help"):
        run(server, tmp_path / "replies", lambda client: client.ask_json(request(schema=PET)))


def test_the_cap_is_not_passed_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """Each reply may cost $0.001 and a little, and costs $0.0005; the cap allows three at once."""
    wanted = [request(f"pet {n}") for n in range(12)]

    async def all_of(client: ChatClient) -> list[Any]:
        return list(await asyncio.gather(*map(client.ask, wanted), return_exceptions=True))

    with chat_server(reply=lambda body: counted(text_of(body), read=10, wrote=50)) as server:
        replies, client = run(server, tmp_path / "replies", all_of, most=0.0035)
        bought = [each for each in replies if isinstance(each, ChatReply)]
        stopped = [each for each in replies if isinstance(each, BudgetError)]
        assert len(bought) + len(stopped) == 12 and 3 <= len(bought) <= 6 and client.budget.spent <= 0.0035
        assert client.budget.spent == pytest.approx(0.00051 * len(bought)) and len(server.asked) == len(bought)
        assert str(stopped[0]).startswith("the next request may cost $0.0010, and $0.00")
        assert str(stopped[0]).endswith("run it again with a higher MAX_COST: what was paid for is kept")
        replies, client = run(server, tmp_path / "replies", all_of, most=1)
        assert [each.content for each in replies] == [f"pet {n}" for n in range(12)] and len(server.asked) == 12
        assert client.ledger.total().kept == len(bought)


def test_what_was_sent_is_kept_when_a_run_ends_early(tmp_path: Path) -> None:
    async def first_fails(client: ChatClient) -> None:
        asked = [asyncio.create_task(client.ask(request(f"pet {n}"))) for n in range(3)]
        await asyncio.sleep(0.3)
        assert not any(task.done() for task in asked)
        raise UsageError("somebody stopped it")

    def slow(body: dict[str, Any]) -> Answer:
        return Answer(counted(text_of(body)).body, drip=0.005)

    with chat_server(reply=slow) as server:
        with pytest.raises(UsageError, match="somebody stopped it"):
            run(server, tmp_path / "replies", first_fails, at_once=2)
        assert len(server.asked) == 2
    with ReplyStore(tmp_path / "replies") as store:
        kept = [store.get(request(f"pet {n}").key("m")) for n in range(3)]
        assert [reply and reply.content for reply in kept] == ["pet 0", "pet 1", None]


@settings(max_examples=25, deadline=None)
@given(
    costs=st.lists(st.integers(0, 100), min_size=1, max_size=30),
    cap=st.integers(1, 2_000),
    order=st.randoms(use_true_random=False),
)
def test_however_requests_come_and_go_the_cap_holds(costs: list[int], cap: int, order: Any) -> None:
    async def spend(budget: Budget, cost: int) -> None:
        async with budget.reserve(100 / 1_000):
            for _ in range(order.randrange(5)):
                await asyncio.sleep(0)
            budget.spent += cost / 1_000
            assert budget.spent <= cap / 1_000 + 1e-9

    async def all_of() -> Budget:
        budget = Budget(RunLimits(max_cost=cap / 1_000))
        await asyncio.gather(*(spend(budget, cost) for cost in costs), return_exceptions=True)
        return budget

    budget = asyncio.run(all_of())
    assert budget.spent <= cap / 1_000 + 1e-9 and budget.reserved == 0


def test_places_are_halved_by_a_complaint_and_come_back() -> None:
    async def work() -> list[int]:
        places, seen = Places(16), []
        places.complained()
        places.complained()  # sent together with the first: the same complaint
        for _ in range(200):
            seen.append(int(places.open))
            places.answered()
        return seen

    seen = asyncio.run(work())
    assert seen[0] == 8 and seen[9] == 9 and seen[-1] == 16 and seen == sorted(seen)


def test_no_more_are_under_way_than_places_are_open() -> None:
    async def work() -> int:
        places, most = Places(4), 0

        async def one() -> None:
            nonlocal most
            async with places:
                most = max(most, places.taken)
                await asyncio.sleep(0.001)

        await asyncio.gather(*(one() for _ in range(40)))
        assert places.taken == 0
        return most

    assert asyncio.run(work()) == 4


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but a text that is long enough to be looked at\n" * 20)
    with pytest.raises(UsageError, match="text is no database; name another file for the replies"):
        ReplyStore(tmp_path / "text")
    import sqlite3

    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(UsageError, match="other is a database of something else"):
        ReplyStore(tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot open"):
        ReplyStore(tmp_path / "file" / "replies")


def test_a_cap_without_a_price_is_refused(tmp_path: Path) -> None:
    with (
        chat_server(counted("Rex")) as server,
        pytest.raises(UsageError, match="MAX_COST needs a price: set TOOLSCALE_MODEL_PRICE"),
    ):
        run(server, tmp_path / "replies", lambda client: client.ask(request()), most=1.0, price=None)


@given(st.text(max_size=200))
def test_any_reply_is_a_value_or_one_reason(text: str) -> None:
    try:
        value = read_json(text)
    except ValueError as error:
        assert str(error)
    else:
        assert all(isinstance(line, str) for line in findings(value, PET))


def test_many_findings_are_cut_short() -> None:
    lines = findings([{"name": n, "age": "x" * 1_000} for n in range(20)], {"type": "array", "items": PET})
    assert len(lines) == 9 and lines[-1] == "and 32 more" and max(map(len, lines)) <= 300


def test_every_failure_is_one_of_ours() -> None:
    assert all(issubclass(kind, ToolScaleError) for kind in (BudgetError, UnusableReplyError, ModelUnavailableError))
