"""The loop on questions: whole rollouts, calls that cannot be made, limits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage import OWN_PRICE, WISH, Reciting, ask, asking, call, calling, errors, play, played, question, saying

from toolscale.records import Charge, Limits, Preference, RolloutTask
from toolscale.rollout.grading import regrade
from toolscale.rollout.loop import MOST_TURNS
from toolscale.rollout.policy import Turn
from toolscale.rollout.prompt import body_of, first_messages

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("asks_then_answers", [calling(ask("expert-2"), content="Let me ask."), saying("The answer is 8.")]),
        ("expert_answers", [calling(ask("expert-1", final=True))]),
        (
            "computes_and_asks",
            [calling(call("calculator", {"expression": "7 + 1"}), ask("expert-3")), saying("It is 8.")],
        ),
    ],
)
def test_whole_rollouts(name: str, messages: list[dict[str, Any]]) -> None:
    rollout = play(asking(), *messages)
    path = GOLDEN / f"{name}.json"
    assert json.loads(rollout.model_dump_json()) == json.loads(path.read_text(encoding="utf-8"))
    assert rollout == type(rollout).model_validate_json(path.read_text(encoding="utf-8"))


def test_the_user_says_question_wish_and_what_is_denied() -> None:
    rollout = play(asking(limits=Limits(denied=("expert-2", "calculator"))), saying("8"))
    assert (
        rollout.messages[1]["content"]
        == "What is `7 + 1`?\n\nKeep it cheap.\n\nDo not use expert-2 or calculator: that is not allowed."
    )
    assert play(asking(preference=Preference(instruction="")), saying("8")).messages[1]["content"] == "What is `7 + 1`?"


@pytest.mark.parametrize("denied", [(), ("expert-2",)])
@pytest.mark.parametrize("instruction", ["", "Keep it cheap.", "Keep it cheap.\n \n\nAnd quick."])
def test_the_question_is_found_again_before_the_wishes(instruction: str, denied: tuple[str, ...]) -> None:
    for text in ("What is `7 + 1`?", "What is printed?\n```python\nx = 8\n\nprint(x)\n```"):
        task = asking(preference=Preference(instruction=instruction), limits=Limits(denied=denied))
        asked = task.model_copy(update={"question": question().model_copy(update={"text": text})})
        assert body_of(first_messages(asked, None)[1]["content"]) == text


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            calling(call("call_expert", '{"expert": "expert-1", ')),
            "The arguments are not JSON: Expecting property name enclosed in double quotes",
        ),
        (
            calling(call("call_expert", "[1]")),
            "The arguments are not a JSON object. Write them again as one JSON object.",
        ),
        (
            calling(call("call_expert", '{"expert": NaN}')),
            "The arguments are not JSON: NaN is not JSON. Write them again as one JSON object.",
        ),
        (
            calling(call("calculator", '{"expression": "\\ud800"}')),
            "The arguments are not JSON: 'utf-8' codec can't encode character",
        ),
        (calling(call("calculator", "[" * 50_000)), "The arguments are not JSON: "),
        (
            calling(call("calculator", "1" * 100_001)),
            "The arguments have 100001 characters; 100000 at most are read. Write them shorter.",
        ),
        (calling(call("telephone", {})), "There is no tool 'telephone'. The tools are: call_expert, calculator."),
        (
            calling(ask("gpt-5")),
            "The arguments do not fit call_expert: expert: 'gpt-5' is not one of ['expert-1', 'expert-2', 'expert-3'].",
        ),
        (
            calling(call("call_expert", {"expert": "expert-1"})),
            "The arguments do not fit call_expert: 'question' is a required property.",
        ),
        (
            calling(ask("expert-1", final="yes")),
            "The arguments do not fit call_expert: final: 'yes' is not of type 'boolean'.",
        ),
        (calling(call("calculator", "")), "The arguments do not fit calculator: 'expression' is a required property."),
        (
            calling({"id": "call-1", "function": {"name": "calculator"}}),
            'A call needs a "function" with a "name" and "arguments", both texts.',
        ),
        (calling({"id": "call-1"}), 'A call needs a "function" with a "name" and "arguments", both texts.'),
    ],
)
def test_a_call_that_cannot_be_read_is_answered_and_costs_nothing(message: dict[str, Any], error: str) -> None:
    rollout = play(asking(), message, saying("8"))
    told = rollout.messages[3]
    charges = [charge for charge in rollout.ledger if charge.kind != "orchestrator"]
    assert (told["role"], told["tool_call_id"], list(json.loads(told["content"]))) == ("tool", "call-1", ["error"])
    assert json.loads(told["content"])["error"].startswith(error)
    assert [(charge.error, charge.cost_usd, charge.latency_s) for charge in charges] == [
        (json.loads(told["content"])["error"], 0.0, 0.0)
    ]
    assert (rollout.malformed, rollout.right, rollout.stop, rollout.uses()) == (1, True, "answered", {})


def test_what_is_no_message_is_answered_by_the_user() -> None:
    torn = Turn(
        {"role": "assistant", "content": "<tool_call>{"},
        "The call is not closed. Write </tool_call> after it.",
        20,
        10,
        0.5,
    )
    rollout = play(asking(), torn, saying("  "), saying(None), saying("8"))
    told = [message["content"] for message in rollout.messages[2:] if message["role"] == "user"]
    assert [json.loads(text)["error"] for text in told] == [
        "The call is not closed. Write </tool_call> after it.",
        *["Your message is empty. Call a tool, or write the final answer."] * 2,
    ]
    assert (rollout.malformed, rollout.right, len(rollout.ledger)) == (3, True, 4)


def test_broken_calls_of_one_message_count_once_and_do_not_stop_the_others() -> None:
    rollout = play(
        asking(),
        calling(call("nothing", {}, 1), call("calculator", {"expression": "7 + 1"}, 2), call("calculator", "{", 3)),
        saying("8"),
    )
    assert [message["tool_call_id"] for message in rollout.messages[3:6]] == ["call-1", "call-2", "call-3"]
    assert (rollout.malformed, rollout.uses(), [error is None for error in errors(rollout)]) == (
        1,
        {"calculator": 1},
        [False, True, False],
    )


def test_what_is_denied_is_refused_and_is_not_malformed() -> None:
    denied = Limits(denied=("expert-1", "calculator"))
    calls = calling(ask("expert-1", final=True), call("calculator", {"expression": "1"}), ask("expert-2"))
    rollout = play(asking(), calls, saying("8"), limits=denied)
    assert errors(rollout) == [
        "expert-1 may not be used for this task. Go on without it.",
        "calculator may not be used for this task. Go on without it.",
        None,
    ]
    assert (rollout.malformed, rollout.uses(), rollout.stop) == (0, {"expert-2": 1}, "answered")
    assert errors(play(asking(), calling(ask("expert-2")), saying("8"), limits=Limits(denied=("call_expert",)))) == [
        "call_expert may not be used for this task. Go on without it."
    ]


def test_after_the_final_answer_of_an_expert_nothing_is_done() -> None:
    rollout = play(asking(), calling(ask("expert-1", final=True), ask("expert-2")), saying("not reached"))
    assert (rollout.uses(), rollout.answer, rollout.right, rollout.ledger[-1].terminal) == (
        {"expert-1": 1},
        "The answer is 8.",
        True,
        True,
    )
    assert rollout.messages[-1]["content"] == '{"error":"Not made: the final answer was given before."}'


@pytest.mark.parametrize(
    ("limits", "stop", "turns", "calls"),
    [
        (Limits(turns=3), "turns", 3, 3),
        (Limits(turns=1_000), "turns", MOST_TURNS, MOST_TURNS),
        (Limits(tokens=60), "tokens", 2, 2),
        (Limits(tokens=61), "tokens", 3, 3),
        (Limits(dollars=0.0), "dollars", 1, 0),
        (Limits(dollars=0.0021), "dollars", 3, 2),
    ],
)
def test_limits_stop_a_rollout(limits: Limits, stop: str, turns: int, calls: int) -> None:
    rollout = play(asking(), calling(call("calculator", {"expression": "1"})), limits=limits)
    found = (
        rollout.stop,
        sum(charge.kind == "orchestrator" for charge in rollout.ledger),
        rollout.uses().get("calculator", 0),
    )
    assert found == (stop, turns, calls)
    assert (rollout.answer, rollout.right, rollout.finding) == (
        None,
        False,
        f"no answer: the limit of {stop} was reached",
    )
    assert regrade(rollout, asking()) == (False, rollout.finding)


def test_an_answer_may_be_given_when_the_money_is_spent() -> None:
    rollout = play(
        asking(), calling(call("calculator", {"expression": "1"})), saying("8"), limits=Limits(dollars=0.0001)
    )
    assert (rollout.stop, rollout.right) == ("answered", True)


def test_a_right_expert_is_right_and_a_wrong_one_wrong() -> None:
    tasks: list[RolloutTask] = [asking(number) for number in range(12)]
    assert [play(task, calling(ask("expert-1", final=True))).right for task in tasks] == [True] * 12
    assert [play(task, calling(ask("expert-3", final=True))).right for task in tasks] == [False] * 12
    assert {play(task, calling(ask("expert-2", final=True))).right for task in tasks} == {True, False}


def test_asking_again_repeats_the_answer() -> None:
    rollout = play(asking(), calling(ask("expert-2")), calling(ask("expert-2", "Are you sure? 7 + 1")), saying("8"))
    replies = [message["content"] for message in rollout.messages if message["role"] == "tool"]
    assert replies[0] == replies[1]


MESSAGES = st.lists(
    st.sampled_from(
        [
            calling(ask("expert-1")),
            calling(ask("expert-2"), ask("expert-3")),
            calling(call("calculator", {"expression": "1/0"})),
            saying(""),
            calling(ask("nobody")),
            calling(call("calculator", "{")),
            calling(ask("expert-2", final=True)),
            saying("8"),
            saying("9"),
            Turn(saying("<tool_call>"), "It is not closed.", 5, 6, 0.25),
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(
    MESSAGES,
    st.sampled_from([Limits(turns=4), Limits(tokens=70), Limits(dollars=0.002), Limits(denied=("expert-2",), turns=5)]),
)
def test_the_ledger_adds_up(messages: list[Any], limits: Limits) -> None:
    rollout = play(asking(), *messages, limits=limits)
    prices = {"reciting": OWN_PRICE, "calculator": None} | {offered.alias: offered for offered in asking().experts}

    def priced(charge: Charge) -> float:
        if charge.kind == "basic":
            return 0.001 if charge.input_tokens == 0 and charge.latency_s else 0.0
        price: Any = prices.get(charge.name)
        if charge.kind == "orchestrator":
            return (charge.input_tokens * price.input + charge.output_tokens * price.output) / 1e6
        return (
            0.0
            if price is None
            else (charge.input_tokens * price.input_price + charge.output_tokens * price.output_price) / 1e6
        )

    assert rollout.cost_usd == pytest.approx(sum(priced(charge) for charge in rollout.ledger), abs=1e-12)
    written = [message for message in rollout.messages if message["role"] == "assistant"]
    assert len(written) == sum(charge.kind == "orchestrator" for charge in rollout.ledger) <= MOST_TURNS
    called = {item["id"] for message in written for item in message.get("tool_calls", ())}
    assert called == {message["tool_call_id"] for message in rollout.messages if message["role"] == "tool"}
    assert (rollout.stop == "answered") == (rollout.answer is not None)
    assert regrade(rollout, asking()) == (rollout.right, rollout.finding)


def test_a_session_hears_what_came_since_its_last_message() -> None:
    policy = Reciting([calling(call("calculator", {"expression": "7 + 1"})), saying(""), saying("8")])
    rollout = asyncio.run(played(asking(), policy))[0]
    assert policy.heard == [[], [rollout.messages[3]], [rollout.messages[5]]]
    assert question().text in rollout.messages[1]["content"] and WISH.instruction in rollout.messages[1]["content"]
