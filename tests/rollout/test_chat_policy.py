"""A policy behind a server: its calls are made, what it thinks is nobody's business, what cannot be read is told to it,
and its silence fails one rollout and no other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from server import chat_server, completion
from stage import OWN_PRICE, asking, call, played, question

from toolscale.errors import RolloutError
from toolscale.models.chat import ChatClient, ChatModel, ReplyStore
from toolscale.records import Endpoint, Rollout
from toolscale.rollout.chat_policy import ChatPolicy

Answered = tuple[int, str]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolscale.models.transport.FIRST_WAIT", 0.01)


CALCULATES = call("calculator", {"expression": "7 + 1"})


def rollout_of(folder: Path, *answers: Answered) -> tuple[Rollout, list[dict[str, Any]]]:
    """A rollout with a server that gives these answers, and what it was asked."""
    asked = list[dict[str, Any]]()

    def say(request: dict[str, Any]) -> Answered:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    async def play(endpoint: Endpoint) -> Rollout:
        model = ChatModel(endpoint.model_copy(update={"deadline_s": 2.0}), OWN_PRICE)
        with ReplyStore(folder / "replies") as store:
            async with ChatClient(model, store) as client:
                return (await played(asking(), ChatPolicy(client, "play")))[0]

    with chat_server(say) as endpoint:
        return asyncio.run(play(endpoint)), asked


def test_calls_are_made_and_answers_given(tmp_path: Path) -> None:
    rollout, asked = rollout_of(
        tmp_path, completion({"content": None, "tool_calls": [CALCULATES]}), completion({"content": "It is 8."}, 60, 5)
    )
    assert (rollout.right, rollout.stop, rollout.malformed, rollout.uses()) == (True, "answered", 0, {"calculator": 1})
    assert [
        (charge.input_tokens, charge.output_tokens, charge.cost_usd)
        for charge in rollout.ledger
        if charge.kind == "orchestrator"
    ] == [
        (20, 10, 40e-6),
        (60, 5, 70e-6),
    ]
    assert all(charge.latency_s > 0 for charge in rollout.ledger)
    assert asked[1]["messages"] == [
        *asked[0]["messages"],
        {"role": "assistant", "content": None, "tool_calls": [CALCULATES]},
        rollout.messages[3],
    ]
    assert asked[0]["messages"][1]["content"].startswith(question().text)
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["call_expert", "calculator"]


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "9?"}]}, {"type": "text", "text": "8"}]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>9? No.</think>\n\n8"},
        {"content": "9? No.</think>8"},
        {"content": "8", "reasoning_content": "9? No."},
        {"content": PARTS},
        {"content": "8", "tool_calls": None},
    ],
)
def test_a_right_answer_is_right_however_a_server_writes_it(tmp_path: Path, message: dict[str, Any]) -> None:
    rollout, _ = rollout_of(tmp_path, completion(message))
    assert (rollout.right, rollout.answer, rollout.malformed) == (True, "8", 0)


@pytest.mark.parametrize(
    "cut",
    [
        {"content": '<tool_call>\n{"name": "calc'},  # llama.cpp, before it knows the call
        {"content": "", "tool_calls": [call("calculator", {"expression": "7"})]},  # the last argument may be torn
        {"content": "It is 8, and"},
    ],
)
def test_a_message_that_was_cut_is_neither_an_answer_nor_a_call(tmp_path: Path, cut: dict[str, Any]) -> None:
    rollout, asked = rollout_of(tmp_path, completion(cut, finish="length"), completion({"content": "8"}))
    assert (rollout.right, rollout.malformed, rollout.uses()) == (True, 1, {})
    assert "it was cut off before its end: write less" in asked[1]["messages"][-1]["content"]


WRITTEN = CALCULATES["function"]
TORN = "Write them again as one JSON object."
NO_CALL = "a call in it is no JSON object with a name and arguments"


@pytest.mark.parametrize(
    "made",
    [
        {"function": WRITTEN},
        {"id": "", "function": WRITTEN},
        {"id": 7, "type": "tool", "function": {"name": "calculator", "arguments": {"expression": "7 + 1"}}},
    ],
)
def test_a_call_without_id_or_with_its_arguments_as_an_object_is_made(tmp_path: Path, made: dict[str, Any]) -> None:
    first = completion({"content": "<think>Let me see.</think>", "tool_calls": [made]})
    rollout, asked = rollout_of(tmp_path, first, completion({"content": "8"}))
    assert (rollout.right, rollout.malformed, rollout.uses()) == (True, 0, {"calculator": 1})
    said, heard = asked[1]["messages"][-2:]
    assert said == {"role": "assistant", "content": None, "tool_calls": [{**CALCULATES, "id": "call_1"}]}
    assert heard["tool_call_id"] == "call_1"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"content": None}, "it has neither content nor calls"),
        ({"content": ""}, "it has neither content nor calls"),
        ({"content": " \n"}, "it has neither content nor calls"),
        ({"content": "<think>9?</think>"}, "it has neither content nor calls"),
        ({"content": None, "reasoning_content": "Hm."}, "it has neither content nor calls"),
        ({"content": "<think>It is 8"}, "its thoughts have no end"),
        ({"content": "<think>I could call", "tool_calls": [CALCULATES]}, "its thoughts have no end"),
        ({"content": {"text": "8"}}, "its content is not text"),
        ({"content": [{"type": "image_url"}]}, "its content is not text"),
        # vLLM with Hermes' parser, and with Llama's, where the JSON of a call is torn: the message ends with `stop`
        ({"content": '<tool_call>\n{"name": "calculator", "arguments": {"expression": "7 +'}, NO_CALL),
        ({"content": 'So:\n<tool_call>\n{"name": "calculator"}\n</tool_call>'}, NO_CALL),
        ({"content": '{"name": "calculator", "parameters": {"expression": "7 + 1"'}, NO_CALL),
        ({"content": '{"name": "calculator", "'}, NO_CALL),
        ({"content": '<|python_tag|>{"name": "calculator", "parameters": '}, NO_CALL),
        ({"content": None, "tool_calls": {}}, "its calls are not a list"),
        ({"content": None, "tool_calls": [None]}, "a call has no name, or arguments that are no object"),
        ({"content": None, "tool_calls": [{"id": "c"}]}, "a call has no name, or arguments that are no object"),
        (
            {"content": None, "tool_calls": [{"function": {"name": "calculator", "arguments": [1]}}]},
            "a call has no name, or arguments that are no object",
        ),
        (
            {"content": "Well.", "tool_calls": [call("calculator", '{"expression": ')]},
            f"The arguments are not JSON: Expecting value: line 1 column 16 (char 15). {TORN}",
        ),
        (
            {"content": None, "tool_calls": [{"function": {"name": "calculator"}}]},
            "'expression' is a required property",
        ),
    ],
)
def test_what_cannot_be_read_is_told_to_the_model_which_goes_on(
    tmp_path: Path, message: dict[str, Any], told: str
) -> None:
    rollout, asked = rollout_of(tmp_path, completion(message, 20, 32_000), completion({"content": "8"}, 60, 5))
    assert (rollout.right, rollout.malformed, len(asked)) == (True, 1, 2)
    assert told in asked[1]["messages"][-1]["content"]
    assert [charge.cost_usd for charge in rollout.ledger if charge.kind == "orchestrator"] == [0.06402, 70e-6]


@pytest.mark.parametrize(
    "answer",
    ['{"name": "Ada", "age": 8}', "Write <tool> for it: 8", '{"name": "Ada"} it is', '{"done": "all", "name": "f"}'],
)
def test_an_answer_that_resembles_a_call_is_an_answer(tmp_path: Path, answer: str) -> None:
    rollout, _ = rollout_of(tmp_path, completion({"content": answer}))
    assert (rollout.answer, rollout.malformed) == (answer, 0)


def test_torn_calls_stand_in_the_conversation_as_text(tmp_path: Path) -> None:
    torn = completion({"content": "Well.", "tool_calls": [call("calculator", "{")]})
    _, asked = rollout_of(tmp_path, torn, completion({"content": "8"}))
    assert asked[1]["messages"][-2] == {"role": "assistant", "content": "Well.\ncalculator({)"}


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    rollout, asked = rollout_of(tmp_path, (503, "{}"), completion({"content": "8"}))
    assert (rollout.right, len(asked)) == (True, 2)


REFUSED = (400, '{"error": {"message": "the context is full"}}')


def test_a_server_that_refuses_from_the_first_request_on_ends_all(tmp_path: Path) -> None:
    with pytest.raises(RolloutError, match=r"it refused \(400: the context is full\); check the address"):
        rollout_of(tmp_path, REFUSED)


def test_a_conversation_that_a_server_refuses_later_fails_one_rollout(tmp_path: Path) -> None:
    rollout, _ = rollout_of(tmp_path, completion({"content": None, "tool_calls": [CALCULATES]}), REFUSED)
    assert (rollout.stop, rollout.right, rollout.answer) == ("failed", False, None)
    assert "it refused (400: the context is full)" in rollout.finding


def test_a_server_that_sends_no_message_at_all_fails_one_rollout(tmp_path: Path) -> None:
    rollout, asked = rollout_of(tmp_path, (200, "<html>"))
    assert (rollout.stop, len(asked)) == ("failed", 6)
    assert rollout.finding.endswith("6 replies to one request cannot be used: it is not JSON that can be read")
