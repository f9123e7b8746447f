"""A policy behind a server: its calls are made, its torn messages are answered, its silence fails one rollout and no
other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from server import chat_server, completion
from stage import OWN_PRICE, asking, call, played, question

from toolscale.errors import UsageError
from toolscale.records import Endpoint, Rollout
from toolscale.rollout.endpoint_policy import EndpointPolicy


def rollout_of(*answers: tuple[int, str]) -> tuple[Rollout, list[dict[str, Any]]]:
    """A rollout with a server that gives these answers, and what it was asked."""
    asked = list[dict[str, Any]]()

    def say(request: dict[str, Any]) -> tuple[int, str]:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    with chat_server(say) as endpoint:
        policy = EndpointPolicy("qwen", endpoint.model_copy(update={"deadline_s": 2.0}), OWN_PRICE)
        return asyncio.run(played(asking(), policy))[0], asked


def test_calls_are_made_and_answers_given() -> None:
    calculates = call("calculator", {"expression": "7 + 1"})
    rollout, asked = rollout_of(
        completion({"content": None, "tool_calls": [calculates]}), completion({"content": "The answer is 8."}, 60, 5)
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
        {"role": "assistant", "content": None, "tool_calls": [calculates]},
        rollout.messages[3],
    ]
    assert asked[0]["messages"][1]["content"].startswith(question().text)
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["call_expert", "calculator"]


def test_torn_arguments_and_torn_messages_are_answered() -> None:
    rollout, asked = rollout_of(
        completion({"content": None, "tool_calls": [call("calculator", '{"expression": ')]}),
        completion({"content": ""}),
        (200, "<html>"),
        completion({"content": "8"}),
    )
    assert (rollout.right, rollout.malformed, len(asked)) == (True, 3, 4)
    assert [message["content"] for message in asked[1]["messages"][-2:]] == [
        'calculator({"expression": )',
        '{"error":"The call of calculator could not be read. '
        "The arguments are not JSON: Expecting value: line 1 column 16 (char 15). "
        'Write them again as one JSON object."}',
    ]
    assert "Your message could not be read: it has neither content nor calls." in asked[2]["messages"][-1]["content"]
    assert "Your message could not be read: it is not JSON" in asked[3]["messages"][-1]["content"]


def test_a_torn_message_costs_what_the_server_counted() -> None:
    rollout, _ = rollout_of(
        completion({"content": None, "reasoning_content": "Hm."}, 20, 32_000), completion({"content": "8"}, 60, 5)
    )
    assert [(charge.input_tokens, charge.output_tokens, charge.cost_usd) for charge in rollout.ledger] == [
        (20, 32_000, 0.06402),
        (60, 5, 70e-6),
    ]


def test_a_busy_server_is_asked_again() -> None:
    rollout, asked = rollout_of((503, "{}"), completion({"content": "8"}))
    assert (rollout.right, len(asked)) == (True, 2)


def test_a_server_that_refuses_fails_the_rollout() -> None:
    rollout, _ = rollout_of((400, '{"error": {"message": "the context is full"}}'))
    assert (rollout.stop, rollout.right, rollout.answer) == ("failed", False, None)
    assert rollout.finding == "no answer: qwen: it refused (400: the context is full)"


def test_an_address_that_is_none_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="is not an address"):
        EndpointPolicy("qwen", Endpoint(base_url="nowhere", model="m"), OWN_PRICE)
