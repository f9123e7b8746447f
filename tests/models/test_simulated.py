"""A simulated expert: as right, as long and as slow as published; the same answer whenever it is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.errors import UsageError
from toolscale.models.pricing import DRAWS, cost_usd, expected_cost, expected_latency, factors, latency_s, output_tokens
from toolscale.models.simulated import SimulatedExpert, drawn, steps_made
from toolscale.records import CATEGORIES, AnswerKey, Effort, ExpertReply, ExpertSpec, Price, Script, ToolCall

SPEC = ExpertSpec(
    name="one",
    title="One",
    price=Price(input=1, output=10),
    source="made for a test",
    skills=dict.fromkeys(CATEGORIES, 0.6),
    effort=dict.fromkeys(CATEGORIES, Effort(output_tokens=300, latency_s=4)),
)
KEY = AnswerKey(right=Script(answer="42"), wrong=(Script(answer="41"), Script(answer="24")))
QUESTION = [{"role": "user", "content": "6 x 7?"}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
LOOK, MOVE = ToolCall(name="look", arguments={"at": "a1"}), ToolCall(name="move", arguments={"to": 2})
TWO_STEPS = AnswerKey(right=Script(calls=(LOOK, MOVE), answer="Moved."), wrong=(Script(answer="I cannot."),))


def ask(
    draw: str = "0",
    spec: ExpertSpec = SPEC,
    key: AnswerKey | None = KEY,
    category: str = "arithmetic",
    tools: Sequence[dict[str, Any]] = (),
    made: Sequence[ToolCall] = (),
    pace: float = 0.0,
) -> ExpertReply:
    return asyncio.run(
        SimulatedExpert(spec, pace).reply(QUESTION, tools, key=key, category=category, draw=draw, made=made)
    )


def with_skill(skill: float) -> ExpertSpec:
    return SPEC.model_copy(update={"skills": dict.fromkeys(CATEGORIES, skill)})


def test_a_question_is_answered_in_words() -> None:
    tokens, seconds = ask().output_tokens, ask().latency_s
    assert ask(spec=with_skill(1)) == ExpertReply(
        content="The answer is 42.", input_tokens=2, output_tokens=tokens, latency_s=seconds
    )


def test_a_wrong_answer_looks_like_a_right_one_and_every_one_comes_up() -> None:
    assert {ask(str(draw), with_skill(0)).content for draw in range(20)} == {"The answer is 41.", "The answer is 24."}


def test_the_share_of_right_answers_is_the_skill() -> None:
    right = sum(ask(str(draw)).content == "The answer is 42." for draw in range(4000))
    assert abs(right / 4000 - 0.6) < 4 * (0.6 * 0.4 / 4000) ** 0.5


def test_asking_again_repeats_the_answer_and_another_expert_draws_for_itself() -> None:
    assert [ask(str(draw)) for draw in range(50)] == [ask(str(draw)) for draw in range(50)]
    other = SPEC.model_copy(update={"name": "two"})
    assert [ask(str(draw)) for draw in range(50)] != [ask(str(draw), other) for draw in range(50)]


def test_a_draw_is_the_same_on_every_machine() -> None:
    assert [(round(drawn(text, "one").chance, 6), drawn(text, "one").factor) for text in ("0", "1")] == [
        (0.688147, 10),
        (0.054969, 12),
    ]


def test_a_script_is_played_step_by_step_between_calls_of_others() -> None:
    def step(*made: ToolCall) -> Any:
        reply = ask(spec=with_skill(1), key=TWO_STEPS, category="tools", tools=TOOLS, made=made)
        return reply.content or [call["function"] for call in reply.tool_calls]

    other = ToolCall(name="look", arguments={"at": "b7"})
    look, move = [{"name": "look", "arguments": '{"at":"a1"}'}], [{"name": "move", "arguments": '{"to":2}'}]
    assert [step(), step(other), step(other, LOOK), step(LOOK, other), step(MOVE), step(LOOK, LOOK, MOVE)] == [
        look,
        look,
        move,
        move,
        look,
        "Moved.",
    ]


def test_calls_have_ids_that_differ_from_step_to_step() -> None:
    replies = [
        ask(spec=with_skill(1), key=TWO_STEPS, category="tools", tools=TOOLS, made=made) for made in ((), (LOOK,))
    ]
    assert len({call["id"] for reply in replies for call in reply.tool_calls}) == 2


def test_a_script_without_calls_is_said_as_it_stands_where_there_are_tools() -> None:
    assert ask(spec=with_skill(0), key=TWO_STEPS, category="tools", tools=TOOLS).content == "I cannot."


@given(st.lists(st.sampled_from([LOOK, MOVE]), max_size=6), st.lists(st.sampled_from([LOOK, MOVE]), max_size=6))
def test_the_steps_made_are_the_longest_prefix_that_is_a_subsequence(
    calls: list[ToolCall], made: list[ToolCall]
) -> None:
    def follows(prefix: list[ToolCall]) -> bool:
        rest = iter(made)
        return all(any(call == other for other in rest) for call in prefix)

    longest = max(k for k in range(len(calls) + 1) if follows(calls[:k]))
    assert steps_made(Script(calls=tuple(calls), answer=""), made) == longest


@given(st.floats(0, 1.5))
def test_the_factors_have_mean_one_and_do_not_fall(spread: float) -> None:
    found = factors(spread)
    assert abs(sum(found) / DRAWS - 1) < 1e-12
    assert list(found) == sorted(found) and len(found) == 16 and found[0] > 0


def test_the_expected_cost_and_latency_are_the_averages_over_all_sizes() -> None:
    sizes = {(reply.output_tokens, reply.latency_s) for reply in (ask(str(draw)) for draw in range(500))}
    assert sizes == {(output_tokens(SPEC, "code", factor), latency_s(SPEC, "code", factor)) for factor in factors(0.5)}
    assert expected_cost(SPEC, SPEC.price, "code", 50) == pytest.approx(
        sum(cost_usd(SPEC.price, 50, tokens) for tokens, _ in sizes) / 16, rel=1e-12
    )
    assert expected_latency(SPEC, "code") == pytest.approx(4, rel=1e-12)


def test_what_is_handed_over_is_counted() -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    messages = [called, {"role": "tool", "content": "abc"}]
    reply = asyncio.run(SimulatedExpert(SPEC).reply(messages, TOOLS, key=KEY, category="code", draw="", made=()))
    assert reply.input_tokens == -(
        -(6 + 3 + len('[{"function":{"name":"look","parameters":{"type":"object"}},"type":"function"}]')) // 4
    )


def test_pace_really_waits_and_changes_no_figure() -> None:
    assert ask(pace=1e-6) == ask()


def test_without_a_key_or_in_an_unknown_category_there_is_nothing_to_play() -> None:
    with pytest.raises(UsageError, match="simulated expert 'one' cannot answer without an answer key"):
        ask(key=None)
    with pytest.raises(UsageError, match="'sums' is not a category"):
        ask(category="sums")
