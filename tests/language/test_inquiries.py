"""What a message asks a person for."""

from __future__ import annotations

from collections import Counter

import pytest

from research.inquiries import HELD_OUT, SEEN, Understood, understand_corpus
from toolscale.language.inquiries import Inquiry, besides_questions, read_inquiry
from toolscale.records import Reply


def reply(about: str, sort: str, kind: str, *words: str, held: bool = True) -> Reply:
    return Reply.model_validate(
        {"about": about, "sort": sort, "kind": kind, "words": words, "says": f"{about}.", "held": held}
    )


REPLIES = (
    reply("client.full_name", "identity", "text", "full name"),
    reply("client.date_of_birth", "identity", "date", "date of birth"),
    reply("bill", "row", "text", "bill", "biller"),
    reply("source", "row", "text", "account", "nickname", held=False),
    reply("amount", "value", "money", "amount"),
    reply("until", "value", "date", "until"),
)
WHO = ("client.full_name", "client.date_of_birth")


@pytest.mark.parametrize(
    ("message", "about"),
    [
        ("May I have your full name and date of birth?", WHO),
        ("dob pls", ("client.date_of_birth",)),
        ("I need your name to find you.", ("client.full_name",)),
        ("For security, please verify your identity first.", WHO),
        ("Who am I speaking with?", ("client.full_name",)),
        ("Which bill do you mean?", ("bill",)),
        ("Which account should I pay the bill from?", ("source",)),
        ("You have several unpaid bills. Which one is it?", ("bill",)),
        ("How much would you like to send?", ("amount",)),
        ("Which date do you want?", ("until",)),
        ("Which one, and on which date?", ("bill", "until")),
        ("Please tell me:\n- your full name\n- when you were born\n- which bill it is", (*WHO, "bill")),
        ("So that I can find the bill, please tell me your full name.", ("client.full_name",)),
        ("It's not clear to me which bill you have in mind.", ("bill",)),
        ("What is your mother's maiden dog called?", ()),
    ],
)
def test_a_question_is_heard_as_what_it_asks_for(message: str, about: tuple[str, ...]) -> None:
    assert read_inquiry(message, REPLIES) == Inquiry(asks=True, about=about)


@pytest.mark.parametrize("message", ["Shall I go ahead?", "Would you like me to freeze your cards instead?"])
def test_a_proposal_leaves_it_to_the_person(message: str) -> None:
    assert read_inquiry(message, REPLIES) == Inquiry(asks=True, leave=True)


@pytest.mark.parametrize(
    "message",
    [
        "Your bill is paid; $12.50 is left. Is there anything else I can help you with?",
        "I could not pay it, as the limit is $500. Let me know if you have any questions.",
        "Thank you for confirming your name. The bill has been paid.",
        "Please note that the fee was $3. If you'd like, I can schedule the next one.",
        "That is done.",
        "",
    ],
)
def test_whoever_offers_or_reports_asks_for_nothing(message: str) -> None:
    assert read_inquiry(message, REPLIES) == Inquiry(asks=False)


def test_what_is_said_besides_a_question_stays() -> None:
    assert besides_questions("The fee is $3.50. Shall I send it?\nYour account has $12 left.") == (
        "The fee is $3.50.\nYour account has $12 left."
    )
    assert besides_questions("What is your full name?") == ""


@pytest.fixture(scope="module")
def understood() -> list[Understood]:
    return list(understand_corpus())


def test_the_corpus_is_in_two_halves(understood: list[Understood]) -> None:
    assert Counter(one.kind for one in understood) == {"all": 240, "some": 240, "later": 240, "last": 240}
    assert Counter(one.half for one in understood) == {SEEN: 492, HELD_OUT: 468}


@pytest.mark.parametrize(
    ("half", "kind", "most"),
    [
        (SEEN, "all", 0.08),
        (SEEN, "some", 0.06),
        (SEEN, "last", 0.02),
        (HELD_OUT, "all", 0.12),
        (HELD_OUT, "some", 0.15),
        (HELD_OUT, "last", 0.06),
    ],
)
def test_messages_are_understood_as_often_as_they_were(
    understood: list[Understood], half: str, kind: str, most: float
) -> None:
    """Lower the shares as the rules get better."""
    part = [one for one in understood if (one.half, one.kind) == (half, kind)]
    assert sum(one.fault is not None for one in part) / len(part) <= most
