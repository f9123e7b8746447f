"""What stands around a deed: who speaks, and that each matter is a message."""

from __future__ import annotations

import random

import pytest

from toolscale.records import LanguageSpec, Persona
from toolscale.tasks.message import NEXT, compose_message, signed, small

NOBODY = Persona(text="")


def messages(body: str, seed: int = 0, persona: Persona = NOBODY, **words: object) -> list[str]:
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
def test_a_text_goes_on_in_small_letters_within_a_sentence(text: str, within: str) -> None:
    assert small(text) == within


def test_each_matter_is_a_message_of_its_own() -> None:
    three = f"Pay {{bill}}. {NEXT} [Freeze|Please freeze] {{card}}. {NEXT} Call me."
    assert messages(three, signatures=["{client}"]) in (
        ["Pay {bill}. {client}", "Freeze {card}.", "Call me."],
        ["Pay {bill}. {client}", "Please freeze {card}.", "Call me."],
    )


def test_who_speaks_is_said_first_or_last() -> None:
    frames = {"openings": ["Hi, I'm {client}.", "Hi,"], "signatures": ["{client}"]}
    found = {messages("Pay {bill}. {more} How much is left?", seed, **frames)[0] for seed in range(40)}
    assert found == {
        "Hi, I'm {client}. Pay {bill}. {more} How much is left?",
        "Hi, pay {bill}. {more} How much is left? {client}",
    }


@pytest.mark.parametrize(("text", "whole"), [("pay {bill} pls", "pay {bill} pls."), ("Pay {bill}?", "Pay {bill}?")])
def test_a_whole_message_ends_before_who_is_speaking(text: str, whole: str) -> None:
    found = {signed(text, "client", random.Random(seed)) for seed in range(30)}
    assert found == {
        f"{whole} {said}" for said in ("I'm {client}.", "My name is {client}.", "This is {client}.", "{client}")
    }
