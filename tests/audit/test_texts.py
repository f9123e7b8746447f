"""What a text holds: values of arguments, and answers that are looked for as a part of a message."""

from __future__ import annotations

import pytest

from toolscale.audit.needles import wrong_sentence
from toolscale.audit.stated import look_for

TEXTS = (
    "You are Mei Kovacs in zip code 28236. Fly on May 20 with two bags, in basic economy, for $1,240.50.",
    '{"id": "credit_card_95", "item": "8538875209"}',
    "Orders are at https://shop.example/orders. Points are 1 cent each; today is 2025-11-14.",
)


def test_what_texts_hold_is_not_reported() -> None:
    said = {
        "first_name": "mei",
        "zip": "28236",
        "date": "2024-05-20",
        "bags": 2,
        "cabin": "basic_economy",
        "total": 1240.5,
        "payment": {"id": "credit_card_95"},
        "items": ["8538875209"],
        "insured": True,
        "note": None,
        "arguments": '{"user": {"name": "Mei Kovacs", "zip": "28236"}, "bags": [2, 2.0], "insured": false}',
        "nothing": "{}",
        "page": "https://shop.example/orders/8538875209?card=credit_card_95&zip=28236&zip=20#kovacs",
        "items_in_a_text": "8538875209, credit_card_95",
        "filter": "zip=28236&name=Mei%20Kovacs".replace("%20", " "),
        "options": "size: two; cabin = basic economy",
        "written": "['8538875209', 'credit_card_95']",
        "noticed": "11/14/2025",
        "in_words": ["November 14, 2025", "14 November 2025", "14th of Nov. 2025", "nov 14", "May 20, 2024"],
        "paid": "$1240.50",
        "points": "20 points",
    }
    assert list(look_for(said, TEXTS)) == []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2823", ""),
        ("credit_card_9", ""),
        ("Oslo", ""),
        (3, "is a number that may be counted or computed"),
        ("1240.50 - 20", "is an expression, or a number that may be computed"),
        ("2024-05-21", "is a date that may be counted from another one"),
        ("The person wants a refund", "is free text, which the agent may put in its own words"),
        ("The person wants a refund, please", "is free text, which the agent may put in its own words"),
        ("6300 points", "is a number that may be counted or computed"),
        ("11/15/2025", "is a date that may be counted from another one"),
        ("November 15, 2025", "is a date that may be counted from another one"),
        ("14 Nov 2024", "is a date that may be counted from another one"),
        ("May 32", ""),
        ("AT&T", ""),
        ("[1] Oslo", ""),
        ("http://[::1", ""),
        ("a=" * 3000, ""),
        (10**400, "is a number that may be counted or computed"),
    ],
)
def test_what_no_text_holds_is_reported_and_why_it_may_be_right(value: object, why: str) -> None:
    assert list(look_for({"it": [value]}, TEXTS)) == [("it[0]", value, why)]


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        ('{"user": {"id": "u_7", "name": "Mei Kovacs"}}', ("it.user.id", "u_7")),
        ('["8538875209", {"id": "credit_card_9"}]', ("it[1].id", "credit_card_9")),
        ('{"inner": "{\\"id\\": \\"u_7\\"}"}', ("it.inner.id", "u_7")),
        ("https://shop.example/orders/77?card=credit_card_95", ("it.path[0]", "77")),
        ("https://shop.example/orders/8538875209?card=credit_card_9", ("it.card[0]", "credit_card_9")),
        ("https://bank.example", ("it.host", "bank.example")),
        ("8538875209, 8538875208", ("it[1]", "8538875208")),
        ("a1, 8538875209, credit_card_95, 28236", ("it[0]", "a1")),
        ("zip=28236&card=credit_card_9", ("it[1]", "credit_card_9")),
        ("cabin = first", ("it", "first")),
    ],
)
def test_what_a_text_is_made_of_is_looked_for_part_by_part(value: str, lost: tuple[str, str]) -> None:
    assert list(look_for({"it": value}, TEXTS)) == [(*lost, "")]


def test_texts_inside_texts_are_taken_apart_only_so_deep() -> None:
    address = "http://h/?u=" * 2000
    assert {why for _, _, why in look_for({"it": address}, TEXTS)} == {""}


@pytest.mark.parametrize(
    ("needle", "text", "sentence"),
    [
        ("5", "I have 15 of them.", "It is 15."),
        ("10", "It costs 10.99 or 210.", "It is 210."),
        ("54.04", "That is 154.04.", "It is 154.04."),
        ("IL", "Your email, please.", "It is email."),
        ("4", "Nothing.", "It is 44."),
        ("1000", "It is 1,000.00.", None),
        ("shirt", "Two shirts.", None),
        ("credit", "Pay by credit-card.", None),
        ("829.43", "It is 829.43.", None),
        ("two words", "two wordsmiths", None),
    ],
)
def test_a_wrong_sentence_is_one_that_says_another_value(needle: str, text: str, sentence: str | None) -> None:
    wrong = wrong_sentence(needle, [("a text", text)])
    assert (wrong and wrong.sentence) == sentence
