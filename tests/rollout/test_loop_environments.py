"""The loop on environment tasks: real worlds, hand-over to experts, grading by the Verifier."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from stage import (
    CATALOGUE,
    EXPERTS,
    OFFERED,
    WISH,
    Calculator,
    Reciting,
    ask,
    call,
    calling,
    errors,
    hand_over,
    play,
    played,
    saying,
    working,
)

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.population import populate
from toolscale.environment.prompt import system_message
from toolscale.errors import UsageError
from toolscale.models.pricing import expected_cost
from toolscale.records import ExpertReply, Limits, OfferedExpert, Rollout, RolloutTask, Task
from toolscale.rollout.actions import price_at, references
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.grading import regrade
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.offering import Offering, TaskSource
from toolscale.rollout.policy import Message
from toolscale.rollout.scripted import ScriptedPolicy, at_random
from training.scoring import task_references


def golden_messages(domain: Domain, task: Task) -> list[Message]:
    """The golden calls, one a turn, and the golden answer."""
    right = domain.key(task).right
    return [
        *(calling(call(made.name, made.arguments, number)) for number, made in enumerate(right.calls)),
        saying(right.answer),
    ]


def test_whoever_does_the_golden_calls_is_right(domain: Domain, mock_tasks: list[Task]) -> None:
    for task in mock_tasks:
        rollout = play(working(task), *golden_messages(domain, task), domain=domain)
        assert (rollout.right, rollout.finding, rollout.calls) == (True, "right", domain.key(task).right.calls)
        results = [json.loads(message["content"]) for message in rollout.messages if message["role"] == "tool"]
        assert results == [golden.result for golden in task.golden_calls]


def test_the_prompt_is_that_of_the_dataset_with_the_wish_after_the_request(
    domain: Domain, mock_tasks: list[Task]
) -> None:
    rollout = play(working(mock_tasks[0]), saying("Done."), domain=domain)
    assert rollout.messages[:2] == (
        {"role": "system", "content": system_message(domain.environment)},
        {"role": "user", "content": f"{mock_tasks[0].request}\n\n{WISH.instruction}"},
    )


def test_references_of_an_environment_task_are_those_of_all_its_turns(mock_tasks: list[Task]) -> None:
    """They were of one answer: whoever did the task paid several references, and to do nothing was best."""
    sage = CATALOGUE.experts[0]
    for task in mock_tasks:
        answers = len(task.golden_calls) + 1
        assert references(working(task), CATALOGUE) == (
            answers * expected_cost(sage, sage.price, "tools"),
            answers * 8.0,
        )
        scored = task_references(working(task), {spec.name: spec for spec in CATALOGUE.experts})
        assert (scored.cost_usd, scored.latency_s) == references(working(task), CATALOGUE)


def test_references_count_what_an_expert_reads_before_it_answers(domain: Domain, mock_tasks: list[Task]) -> None:
    """They counted 200 tokens: with long policies a cheap expert cost many references, and a dear one hardly more than
    one."""
    task = TaskSource(
        Offering(CATALOGUE, most=3), "train", 0, {"tools": 1}, tasks=mock_tasks, input_tokens=domain.input_tokens
    )[0]
    assert task.task is not None
    rollout = play(task, calling(hand_over(task.experts[0].alias)), domain=domain)
    read = next(charge.input_tokens for charge in rollout.ledger if charge.kind == "expert")
    assert task.input_tokens == domain.input_tokens(task.task) == read > 200
    specs, answers = {spec.name: spec for spec in CATALOGUE.experts}, len(task.task.golden_calls) + 1
    costs = [answers * expected_cost(specs[each.expert], price_at(each), "tools", read) for each in task.experts]
    assert task_references(task, specs).cost_usd == references(task, CATALOGUE)[0] == max(costs)


def test_a_right_expert_scores_1_and_a_wrong_one_0(domain: Domain, mock_tasks: list[Task]) -> None:
    for task in mock_tasks:
        right, wrong = (
            play(working(task), calling(hand_over(alias)), domain=domain) for alias in ("expert-1", "expert-3")
        )
        key = domain.key(task)
        assert (right.right, right.calls, right.answer) == (True, key.right.calls, key.right.answer)
        assert (wrong.right, wrong.stop) == (False, "answered")
        assert (wrong.calls, wrong.answer) in [(script.calls, script.answer) for script in key.wrong]
        assert [charge.terminal for charge in right.ledger if charge.kind == "expert"] == [False] * len(
            key.right.calls
        ) + [True]


def test_every_wrong_script_scores_0_and_there_are_three_at_least(domain: Domain, mock_tasks: list[Task]) -> None:
    for task in mock_tasks:
        key = domain.key(task)
        assert len({repr(script) for script in key.wrong}) == len(key.wrong) >= 3
        assert [domain.grade(task, script.calls, script.answer).score for script in (key.right, *key.wrong)] == [1] + [
            0
        ] * len(key.wrong)


def test_a_hand_over_is_a_conversation_that_can_be_read_again(domain: Domain, mock_tasks: list[Task]) -> None:
    task = mock_tasks[0]
    first = domain.key(task).right.calls[0]
    policy = Reciting([calling(hand_over("expert-1"), ask("expert-2")), *golden_messages(domain, task)[1:]])
    rollout = asyncio.run(played(working(task), policy, domain))[0]
    handed = rollout.messages[5]
    assert rollout.messages[3:5] == (
        {"role": "tool", "tool_call_id": "call-1", "content": "expert-1 answers this turn."},
        {"role": "tool", "tool_call_id": "call-1", "content": rollout.messages[4]["content"]},
    )
    assert (handed["role"], handed["tool_calls"][0]["function"]["name"]) == ("assistant", first.name)
    assert rollout.messages[6]["tool_call_id"] == handed["tool_calls"][0]["id"]
    assert policy.heard[1] == list(rollout.messages[3:7])
    assert (rollout.right, rollout.calls) == (True, domain.key(task).right.calls)


def test_calls_after_a_hand_over_in_one_message_are_not_made(domain: Domain, mock_tasks: list[Task]) -> None:
    task = mock_tasks[0]
    write = domain.key(task).right.calls[-1]
    rollout = play(
        working(task),
        calling(hand_over("expert-1"), call(write.name, write.arguments, 2)),
        saying("Done."),
        domain=domain,
    )
    assert errors(rollout)[:2] == [
        None,
        "Not made: expert-1 was asked to answer this turn. Make it in the next turn if it is still wanted.",
    ]
    assert [made.name for made in rollout.calls] == [domain.key(task).right.calls[0].name]


def test_a_refusal_of_a_tool_is_an_observation(domain: Domain, mock_tasks: list[Task]) -> None:
    broken = call("find_member", {"full_name": "Nobody", "date_of_birth": "yesterday"})
    rollout = play(
        working(mock_tasks[0]),
        calling(broken, call("renew_loan", {"loan_id": "lo_0"}, 2)),
        saying("No."),
        domain=domain,
    )
    told = [json.loads(message["content"])["error"] for message in rollout.messages if message["role"] == "tool"]
    assert told == errors(rollout) and all(told)
    assert (rollout.malformed, [made.name for made in rollout.calls], rollout.right) == (
        0,
        ["find_member", "renew_loan"],
        False,
    )


class Awkward:
    """An expert that calls what it must not, then nothing at all."""

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        self.spec, self.replies, self.seen = CATALOGUE.experts[0], replies, list[list[Message]]()

    async def reply(self, messages: Any, tools: Any, **_: Any) -> ExpertReply:
        """Give the next reply."""
        self.seen.append(list(messages))
        return ExpertReply(**self.replies[min(len(self.seen) - 1, len(self.replies) - 1)])


def with_awkward(
    task: RolloutTask, domain: Domain, replies: list[dict[str, Any]], *messages: Message
) -> tuple[Rollout, Awkward]:
    """One rollout with an awkward expert, and the expert."""
    expert = Awkward(replies)
    bench = Bench({"sage": expert}, {"calculator": Calculator()}, {"mock": domain})
    offered = OfferedExpert(alias="expert-1", expert="sage", input_price=1, output_price=1, card="awkward")
    changed = task.model_copy(update={"experts": (offered,), "basic_tools": ("calculator",)})
    return asyncio.run(run_rollouts([changed], Reciting(messages), bench, 1))[0][0], expert


def test_an_expert_calls_only_what_the_domain_has(domain: Domain, mock_tasks: list[Task]) -> None:
    calls = (
        call("call_expert", {"expert": "expert-1"}, 5),
        call("calculator", {"expression": "1"}, 6),
        call("find_member", "{", 7),
    )
    rollout, _ = with_awkward(
        working(mock_tasks[0]), domain, [{"tool_calls": calls}], calling(hand_over("expert-1")), saying("No.")
    )
    assert [error and error[:40] for error in errors(rollout)] == [
        None,
        "call_expert is not a tool of the domain.",
        "calculator is not a tool of the domain. ",
        "The arguments are not JSON: Expecting pr",
    ]
    assert (rollout.malformed, rollout.calls) == (0, ())
    stored = [
        item["function"]["arguments"] for message in rollout.messages[4:] for item in message.get("tool_calls", ())
    ]
    # What cannot be read would make servers refuse all that follows.
    assert stored == ['{"expert": "expert-1"}', '{"expression": "1"}', "{}"]


def test_an_expert_that_fails_is_an_observation_and_costs_what_it_used(domain: Domain, mock_tasks: list[Task]) -> None:
    replies: list[dict[str, Any]] = [
        {"error": "no answer in 600 s", "latency_s": 600.0},
        {"input_tokens": 1000, "output_tokens": 500},
        {"content": "All done."},
    ]
    rollout, _ = with_awkward(working(mock_tasks[0]), domain, replies, calling(hand_over("expert-1")))
    charges = [
        (charge.error, charge.cost_usd, charge.latency_s, charge.terminal)
        for charge in rollout.ledger
        if charge.kind == "expert"
    ]
    assert charges == [
        ("expert-1 gave no answer: no answer in 600 s", 0.0, 600.0, False),
        ("expert-1 gave an empty answer.", 0.0015, 0.0, False),
        (None, 0.0, 0.0, True),
    ]
    assert (rollout.answer, rollout.malformed, rollout.stop) == ("All done.", 0, "answered")


def test_an_expert_sees_the_conversation_without_the_wishes_and_without_experts(
    domain: Domain, mock_tasks: list[Task]
) -> None:
    task = mock_tasks[0]
    first = domain.key(task).right.calls[0]
    messages = [
        calling(call("calculator", {"expression": "1+1"}, 1), call("nothing", {}, 2), content="Let me see."),
        saying(""),
        calling(hand_over("expert-1")),
        calling(call(first.name, first.arguments, 3)),
        calling(hand_over("expert-1")),
    ]
    replies: list[dict[str, Any]] = [{"error": "away"}, {"content": "Done."}]
    rollout, expert = with_awkward(working(task), domain, replies, *messages)
    shown = expert.seen[-1]
    assert shown[:2] == [{"role": "system", "content": domain.system}, {"role": "user", "content": task.request}]
    assert [
        (message["role"], message.get("content") or message["tool_calls"][0]["function"]["name"])
        for message in shown[2:4]
    ] == [
        ("assistant", "Let me see."),
        ("tool", "2"),
    ]
    assert [item["function"]["name"] for message in shown for item in message.get("tool_calls", ())] == [
        "calculator",
        first.name,
    ]
    assert shown[-1] == rollout.messages[-4]


def test_a_denied_tool_is_denied_to_experts_too(domain: Domain, mock_tasks: list[Task]) -> None:
    task = mock_tasks[0]
    write = domain.key(task).right.calls[-1].name
    rollout = play(
        working(task), calling(hand_over("expert-1")), domain=domain, limits=Limits(turns=5, denied=(write,))
    )
    assert write not in [made.name for made in rollout.calls]
    assert f"{write} may not be used for this task. Go on without it." in errors(rollout)


def test_regrading_repeats_the_grade(domain: Domain, mock_tasks: list[Task]) -> None:
    for task in mock_tasks:
        for alias in ("expert-1", "expert-2", "expert-3"):
            rollout = play(working(task), calling(hand_over(alias)), domain=domain)
            stored = Rollout.model_validate_json(rollout.model_dump_json())
            assert regrade(stored, working(task), domain) == (rollout.right, rollout.finding)
    with pytest.raises(UsageError, match="needs the environment of its domain"):
        regrade(rollout, working(task))
    with pytest.raises(UsageError, match="is of the task"):
        regrade(rollout, working(mock_tasks[0], id="another"), domain)


class Slow:
    """An expert that lets the others go first."""

    def __init__(self, expert: Any) -> None:
        self.spec, self._expert = expert.spec, expert

    async def reply(self, *arguments: Any, **named: Any) -> Any:
        """Wait a moment, then answer."""
        for _ in range(3):
            await asyncio.sleep(0)
        return await self._expert.reply(*arguments, **named)


@pytest.mark.parametrize("most_worlds", [1, 3, 64])
def test_rollouts_do_not_see_each_other_however_few_the_worlds(
    domain: Domain, mock_tasks: list[Task], most_worlds: int
) -> None:
    tasks = [working(task) for task in mock_tasks]
    policy = ScriptedPolicy("random", at_random(1))

    def rollouts(experts: Any, where: Domain) -> list[list[Rollout]]:
        return asyncio.run(run_rollouts(tasks, policy, Bench(experts, {}, {"mock": where}), 6))

    few = Domain(domain.environment, populate(domain.environment), most_worlds)
    interleaved = rollouts({name: Slow(expert) for name, expert in EXPERTS.items()}, few)
    assert interleaved == rollouts(EXPERTS, domain)
    assert few.worlds == few.free
    assert few.worlds == most_worlds if most_worlds < 64 else 3 < few.worlds <= 48  # who only reads needs none
    few.close()


def test_a_task_of_another_environment_is_refused(domain: Domain, mock_tasks: list[Task]) -> None:
    other = mock_tasks[0].model_copy(update={"environment_hash": "0", "id": "other"})
    with pytest.raises(UsageError, match="task other was made in another version of the environment 'mock'"):
        play(working(other), saying("Done."), domain=domain)
    with pytest.raises(UsageError, match=r"is of the domain 'mock'; the bench has none"):
        play(working(mock_tasks[0]), saying("Done."))
    nobody = OFFERED[0].model_copy(update={"expert": "nobody"})
    with pytest.raises(UsageError, match=r"offers the expert 'nobody'; the bench has coin, fool, sage"):
        play(working(mock_tasks[0], experts=(nobody,)), saying("Done."), domain=domain)


def test_a_form_is_filled_by_a_call_or_by_a_message_that_is_nothing_else(
    domain: Domain, form_tasks: list[Task]
) -> None:
    for task in form_tasks:
        right = domain.key(task).right
        made = [calling(call(step.name, step.arguments, number)) for number, step in enumerate(right.calls)]
        by_call = play(
            working(task), *made, saying("All done!"), calling(call(FINAL_ANSWER, right.answer, 99)), domain=domain
        )
        assert (by_call.right, by_call.stop, by_call.answer, by_call.calls, by_call.malformed) == (
            True,
            "answered",
            right.answer,
            right.calls,
            0,
        )
        assert json.loads(by_call.messages[-1]["content"]) == {"taken": True}
        problem = {"error": f"This task is answered by a call of {FINAL_ANSWER}, not by a message."}
        assert [json.loads(message["content"]) for message in by_call.messages[2:] if message["role"] == "user"] == [
            problem
        ]
        assert play(working(task), *made, saying(right.answer), domain=domain).right
        assert play(working(task), *[saying("All done!")] * 3, saying(right.answer), domain=domain).malformed == 2
        assert regrade(by_call, working(task), domain) == (True, "right")


def test_an_expert_fills_the_form_too_and_its_words_end_nothing(domain: Domain, form_tasks: list[Task]) -> None:
    task = form_tasks[0]
    steps = len(task.golden_calls) + 1
    rollout = play(working(task), *[calling(hand_over("expert-1"))] * steps, domain=domain)
    assert (rollout.right, rollout.stop, rollout.answer) == (True, "answered", domain.key(task).right.answer)
    assert {tool["function"]["name"] for tool in domain.tools_of(task)} - {
        tool["function"]["name"] for tool in domain.tools
    } == {FINAL_ANSWER}
