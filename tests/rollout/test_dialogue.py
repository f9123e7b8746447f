"""Dialogues: what is needed is told when asked, nothing more, and the last message is graded."""

from __future__ import annotations

import json

import pytest
from stage import call, calling, play, saying, working

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.exports.golden import golden_messages
from toolscale.records import Task
from toolscale.rollout.domain import Domain
from toolscale.rollout.person import LEAVE, NOTED, STILL_THERE, UNKNOWN, answer_to
from toolscale.rollout.unanswered import MOST_REPLIES
from toolscale.tasks.dialogue import question_for


@pytest.fixture(scope="module")
def finance() -> Domain:
    environment = load_environment("finance")
    return Domain(environment, populate(environment))


@pytest.fixture(scope="module")
def bill(dialogue_tasks: list[Task]) -> Task:
    """A task whose person says at first neither who they are nor which bill they mean."""
    return next(task for task in dialogue_tasks if {"client.full_name", "bill"} <= held(task))


def held(task: Task) -> set[str]:
    return {reply.about for reply in task.candidate.held}


def says(task: Task, about: str) -> str:
    return next(reply.says for reply in task.candidate.replies if reply.about == about)


def test_whoever_asks_first_and_then_does_the_golden_calls_is_right(
    finance: Domain, dialogue_tasks: list[Task]
) -> None:
    for task in dialogue_tasks:
        right = finance.key(task).right
        calls = [calling(call(made.name, made.arguments, number)) for number, made in enumerate(right.calls)]
        question = question_for(task.candidate.held)
        rollout = play(working(task), saying(question), *calls, saying(right.answer), domain=finance)
        assert (rollout.right, rollout.finding, rollout.stop) == (True, "right", "answered")
        assert rollout.messages[3] == {
            "role": "user",
            "content": " ".join(reply.says for reply in task.candidate.held),
        }


def test_a_form_ends_a_dialogue_and_what_was_said_is_not_graded(finance: Domain, form_dialogues: list[Task]) -> None:
    for task in form_dialogues:
        right = finance.key(task).right
        calls = [calling(call(made.name, made.arguments, number)) for number, made in enumerate(right.calls)]
        filled = calling(call(FINAL_ANSWER, json.loads(right.answer), 99))
        asked, told = saying(question_for(task.candidate.held)), saying("Everything is done, and nothing is.")
        rollout = play(working(task), asked, *calls, told, filled, domain=finance)
        assert (rollout.right, rollout.finding, rollout.stop, rollout.malformed) == (True, "right", "answered", 0)
        assert rollout.messages[-3] == {"role": "user", "content": NOTED}
        assert FINAL_ANSWER in rollout.messages[0]["content"]
    endless = play(working(task), *(saying("One moment.") for _ in range(40)), domain=finance)
    assert (endless.right, endless.stop) == (False, "left")


def test_the_person_comes_back_with_the_next_matter_and_the_form_is_for_all_of_them(
    finance: Domain, returning_tasks: list[Task]
) -> None:
    for task in returning_tasks:
        right = finance.key(task).right
        calls = [calling(call(made.name, made.arguments, number)) for number, made in enumerate(right.calls)]
        filled = calling(call(FINAL_ANSWER, json.loads(right.answer), 99))
        asked = [saying(question_for(task.candidate.held))] if task.candidate.held else []
        heard_out = [saying("Anything else?")] * len(task.candidate.agenda)
        rollout = play(working(task), *asked, filled, *heard_out, *calls, filled, domain=finance)
        assert (rollout.right, rollout.finding, rollout.malformed) == (True, "right", 0)
        told = [message["content"] for message in rollout.messages[2:] if message["role"] in ("user", "tool")]
        assert told[len(asked)] == json.dumps({"error": STILL_THERE}, separators=(",", ":"))
        assert told[len(asked) + 1 :][: len(heard_out)] == list(task.candidate.agenda)


def test_a_person_says_each_thing_once_and_then_has_no_more(returning_tasks: list[Task]) -> None:
    candidate = returning_tasks[0].candidate
    assert answer_to(candidate, "That is done.") == candidate.agenda[0]
    assert answer_to(candidate, "<think>What is their name?</think>That is done.") == candidate.agenda[0]
    assert answer_to(candidate, "That is done.", candidate.agenda) is None
    scene = golden_messages([{"role": "user", "content": candidate.opening}], returning_tasks[0], "{}")
    assert set(candidate.agenda) <= {message["content"] for message in scene if message["role"] == "user"}


def test_the_golden_conversation_asks_before_it_calls(bill: Task) -> None:
    prompt = [{"role": "system", "content": "…"}, {"role": "user", "content": bill.request}]
    asked, told, made, *_ = golden_messages(prompt, bill, "Paid.")[2:]
    assert asked == {"role": "assistant", "content": question_for(bill.candidate.held)}
    assert told == {"role": "user", "content": " ".join(reply.says for reply in bill.candidate.held)}
    assert made["tool_calls"][0]["function"]["name"] == bill.golden_calls[0].name


def test_who_never_asks_is_graded_by_what_was_done(finance: Domain, bill: Task) -> None:
    rollout = play(working(bill), saying("Your bill has been paid."), domain=finance)
    assert (rollout.right, rollout.stop, len(rollout.messages)) == (False, "answered", 3)


def test_who_asks_again_and_again_is_left(finance: Domain, bill: Task) -> None:
    rollout = play(working(bill), *(saying("And what is your full name?") for _ in range(40)), domain=finance)
    assert (rollout.right, rollout.stop) == (False, "left")
    assert rollout.finding == f"no answer: the person was asked more than {MOST_REPLIES} times, and left"
    replies = [message["content"] for message in rollout.messages[2:] if message["role"] == "user"]
    assert replies == [says(bill, "client.full_name")] * MOST_REPLIES


def test_what_the_person_does_not_know_they_do_not_tell(finance: Domain, bill: Task) -> None:
    rollout = play(working(bill), saying("What is your blood type?"), saying("Sorry."), domain=finance)
    assert [message["content"] for message in rollout.messages[3:]] == [UNKNOWN, "Sorry."]
    assert (rollout.right, rollout.stop) == (False, "answered")


def test_a_proposal_permits_nothing_but_what_was_asked_for(bill: Task) -> None:
    assert answer_to(bill.candidate, "Shall I freeze all of your cards as well?") == LEAVE
    assert answer_to(bill.candidate, "Would you like me to go ahead?") == LEAVE


def test_the_answer_is_what_was_said_since_the_last_change(finance: Domain, dialogue_tasks: list[Task]) -> None:
    """A balance that was told before a question need not be told again after it; what was true before a change is not
    the answer."""
    task = next(task for task in dialogue_tasks if task.row_changes and task.communicate)
    right = finance.key(task).right
    calls = [calling(call(made.name, made.arguments, number)) for number, made in enumerate(right.calls)]
    before = play(
        working(task), saying("I have not done anything yet. Shall I?"), *calls, saying(right.answer), domain=finance
    )
    assert before.right and before.answer == right.answer
    told = play(
        working(task), *calls, saying(f"{right.answer} Shall I send a letter too?"), saying("Fine."), domain=finance
    )
    assert told.undecided and told.answer == f"{right.answer}\n\nFine."
