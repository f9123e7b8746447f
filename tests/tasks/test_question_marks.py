"""A question ends with a question mark."""

from __future__ import annotations

import pytest

from toolscale.environment.environment import load_environment
from toolscale.environment.registry import discover
from toolscale.records import Request
from toolscale.records.intent import Tell
from toolscale.tasks.question_marks import check_questions

SPEC = load_environment(discover()["mock"]).spec
(RENEW,) = [intent for intent in SPEC.intents.intents if intent.id == "renew_due_first"]


def asking(text: str, part: str = "asks") -> list[str]:
    """Where a domain whose one intent has this text is told of a question that ends with a full stop."""
    told = {"requests": (Request(say="Renew {loan}."),), "asks": (), "tell": ()}
    fact = Tell.model_validate({"kind": "date", "is": "renewed.due_on", "what": text})
    intent = RENEW.model_copy(update={**told, part: (fact if part == "tell" else Request(say=text),)})
    intents = SPEC.intents.model_copy(update={"intents": (intent,)})
    return [issue.place for issue in check_questions(SPEC.model_copy(update={"intents": intents}))]


@pytest.mark.parametrize(
    "text",
    [
        "How much do I owe.", "When is it due.", "How many loans are open.", "What is left.",
        "Which loans are overdue.", "Is it free.", "Are there any left.", "Thanks! And how much will that be.",
        "Can I still cancel it.",
        "Close it, and when is it due then.", "[Tell me the day|When is {loan} due].", "How long may I keep it then.",
    ],
)  # fmt: skip
def test_a_question_that_ends_with_a_full_stop_is_found(text: str) -> None:
    assert asking(text) == ["intents[renew_due_first].asks[0]"]
    assert asking(text, "tell") == ["intents[renew_due_first].tell[0].what"]


@pytest.mark.parametrize(
    "text",
    [
        "How much do I owe?", "Tell me when it is due.", "Tell me the date, and what is left.", "Do it today.",
        "When you are done, tell me the date.", "How many there were, please.", "What I owe, please.", "It is free.",
        "Have it closed.", "Could you tell me how much it is, please.", "I mean the one that is due, which is mine.",
        "If it is free, book it.", "Which one it was, I'd like to know.", "As it is late, close it.",
    ],
)  # fmt: skip
def test_what_is_no_question_may_end_with_one(text: str) -> None:
    assert asking(text) == asking(text, "requests") == asking(text, "tell") == []


def test_whole_requests_have_fewer_marks_and_only_what_is_certain_counts() -> None:
    assert asking("Renew {loan}. When is it due then.", "requests") == ["intents[renew_due_first].requests[0]"]
    assert asking("Renew {loan}, could it be for a week.", "requests") == []


@pytest.mark.parametrize("domain", sorted(discover()))
def test_no_domain_has_such_a_question(domain: str) -> None:
    assert [str(issue) for issue in check_questions(load_environment(discover()[domain]).spec)] == []
