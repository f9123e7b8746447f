"""What stands around a deed: who speaks, how matters are joined, and how people type."""

from __future__ import annotations

import random

import pytest

from toolscale.records import LanguageSpec, Persona
from toolscale.tasks.message import NEXT, compose_message, small
from toolscale.tasks.slips import handwritten

NOBODY = Persona(text="")


def message(body: str, seed: int = 0, persona: Persona = NOBODY, **words: object) -> str:
    language = LanguageSpec.model_validate({"describe": {}, "openings": [""], **words})
    return compose_message(body, {"client", "card", "bill"}, language, persona, random.Random(seed))


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("Could you freeze {card}?", "could you freeze {card}?"),
        ("I can't find {card}.", "I can't find {card}."),
        ("I'd like {bill} paid.", "I'd like {bill} paid."),
        ("{card^} is gone.", "{card} is gone."),
        ("{card} is gone.", "{card} is gone."),
        ("In June I moved.", "in June I moved."),
        ("So I owe {bill}.", "I owe {bill}."),
        ("Also, freeze {card}.", "freeze {card}."),
    ],
)
def test_a_matter_goes_on_in_small_letters_within_a_sentence(text: str, within: str) -> None:
    assert small(text) == within


@pytest.mark.parametrize(
    ("join", "joined"),
    [
        ("{first} Also, {second}", "Pay {bill}. {more} Also, could you freeze {card}?"),
        ("{first}\n\n{second}", "Pay {bill}. {more}\n\nCould you freeze {card}?"),
        ("1) {first}\n2) {second}", "1) Pay {bill}. {more}\n2) Could you freeze {card}?"),
        ("{first}, and {second}", "Pay {bill}, and could you freeze {card}?"),
        ("Two things: {first} {second}", "Two things: pay {bill}. {more} could you freeze {card}?"),
    ],
)
def test_two_matters_are_joined_as_people_do(join: str, joined: str) -> None:
    assert message(f"Pay {{bill}}. {{more}} {NEXT} Could you freeze {{card}}?", joins=[join]) == joined


def test_only_one_plain_sentence_goes_into_one_with_the_next() -> None:
    two = f"Pay {{bill}}. Take it from savings. {{more}} {NEXT} Freeze {{card}}."
    assert message(two, joins=["{first}, and {second}"]) == "Pay {bill}. Take it from savings. {more}\n\nFreeze {card}."


def test_three_matters_take_a_join_for_three() -> None:
    three = f"Pay {{bill}}. {NEXT} Freeze {{card}}. {NEXT} Call me."
    assert (
        message(three, joins=["{first} Also, {second}", "{first} Also, {second} And {third}"])
        == "Pay {bill}. Also, freeze {card}. And call me."
    )


def test_who_speaks_is_said_first_in_between_or_last() -> None:
    frames = {"openings": ["Hi, I'm {client}.", "Hi,"], "middles": ["It's under {client}."], "signatures": ["{client}"]}
    found = {message("Pay {bill}. {more} How much is left?", seed, **frames) for seed in range(40)}
    assert found == {
        "Hi, I'm {client}. Pay {bill}. {more} How much is left?",
        "Hi, pay {bill}. It's under {client}. {more} How much is left?",
        "Hi, pay {bill}. {more} How much is left? {client}",
    }


def test_two_matters_are_not_parted_by_who_speaks() -> None:
    frames = {
        "openings": [""],
        "middles": ["It's under {client}."],
        "signatures": ["{client}"],
        "joins": ["{first} Also, {second}"],
    }
    assert message(f"Pay {{bill}}. {{more}} {NEXT} Freeze {{card}}. {{more_2}}", **frames).endswith("{client}")


@pytest.mark.parametrize(
    ("habits", "typed"),
    [
        ({"bare"}, "Please pay my bill. I'm out of town. Don't use my \ue0000\ue001 account"),
        ({"bare", "loose"}, "Please pay my bill. I'm out of town, don't use my \ue0000\ue001 account"),
        ({"short"}, "Pls pay my bill. I'm out of town. Don't use my \ue0000\ue001 acct."),
        ({"loose"}, "Please pay my bill. I'm out of town, don't use my \ue0000\ue001 account."),
    ],
)
def test_habits_leave_values_and_protected_words_alone(habits: set[str], typed: str) -> None:
    text = "Please pay my bill. I'm out of town. Don't use my \ue0000\ue001 account."
    assert (
        handwritten(text, habits, {"please": "pls", "account": "acct"}, random.Random(1), frozenset({"i'm", "don't"}))
        == typed
    )
    assert handwritten(text, {"short"}, {"account": "acct"}, random.Random(1), frozenset({"account"})) == text
