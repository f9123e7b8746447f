"""What is certain of a message: the values that stand in it, and those that must not."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.language.answers import state_facts
from toolscale.language.told import disclosed, untold
from toolscale.records import Fact

TODAY = "2026-03-16"
MONEY, DATE = Fact(kind="money", value=25761), Fact(kind="date", value="2026-03-20")


@pytest.mark.parametrize(
    "message",
    [
        "It is $257.61, due March 20, 2026.",
        "I think it may be about 257.61 dollars by Friday, or not.",  # whether that is right is for a reader
        "257.61 on 2026-03-20",
        "USD 257.61 this coming Friday the 20th",
        "25761 cents, 3/20/2026",
    ],
)
def test_a_value_stands_in_a_message_in_any_form_and_said_of_anything(message: str) -> None:
    assert untold(message, [MONEY, DATE], TODAY) is None


@pytest.mark.parametrize(
    ("message", "finding"),
    [
        ("It is $257.60, due March 20.", "the money 25761 stands nowhere in the message"),
        ("It is $1,257.61, due March 20.", "the money 25761 stands nowhere in the message"),
        ("It is $257.61, due March 21.", "the date '2026-03-20' stands nowhere in the message"),
        ("Done.", "the money 25761 stands nowhere in the message"),
    ],
)
def test_a_value_that_stands_nowhere_is_certainly_missing(message: str, finding: str) -> None:
    assert untold(message, [MONEY, DATE], TODAY) == finding


def test_what_people_say_without_a_figure_is_never_missing() -> None:
    counts = [Fact(kind="number", value=count) for count in (0, 1, 2)]
    assert untold("Both cards are frozen, with no fee.", [*counts, Fact(kind="money", value=0)], TODAY) is None
    assert untold("Some are frozen.", [Fact(kind="number", value=3)], TODAY) is not None


def test_words_are_compared_without_case_and_joints() -> None:
    told = [Fact(kind="text", value="in_transit"), Fact(kind="time", value="09:30")]
    assert untold("It is In-Transit since half past nine.", told, TODAY) is None


@given(st.integers(3, 10_000_000), st.dates(date(1930, 1, 1), date(2060, 12, 31)).map(str))
def test_the_golden_message_says_every_fact(value: int, day: str) -> None:
    facts = [
        Fact(kind=kind, value=value, about=about) for kind in ("money", "number") for about in (None, "my savings")
    ]
    facts += [Fact(kind="date", value=day), Fact(kind="text", value="Cedar Insurance"), Fact(kind="bool", value=0)]
    assert untold(state_facts(facts, TODAY), facts, TODAY) is None


def test_a_withheld_value_is_disclosed_in_any_form_unless_it_may_be_said() -> None:
    hidden = [Fact(kind="time", value="09:30", withheld=True), Fact(kind="text", value="Ann Lee", withheld=True)]
    assert disclosed("Around 9:30 am, I think.", hidden, frozenset(), TODAY) == (
        "discloses the time that is withheld: 09:30"
    )
    assert disclosed("I can say nothing of ann lee.", hidden, frozenset(), TODAY) is not None
    assert disclosed("I can say nothing of it.", hidden, frozenset(), TODAY) is None
    assert disclosed("Ann Lee may see it.", hidden, frozenset({("text", "Ann Lee")}), TODAY) is None
    told = Fact(kind="time", value="09:30")
    assert disclosed("It leaves at 9:30 am.", [*hidden, told], frozenset(), TODAY) is None
