"""What a model thinks is apart from what it says, wherever a server leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.models.thoughts import Spoken, spoken


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The answer is 8.", Spoken("The answer is 8.")),
        (" 8 < 9\n", Spoken(" 8 < 9\n")),
        ("<think>9? No.</think>\n\n8", Spoken("8", "9? No.")),
        ("\n<THINK>\nNo.\n</THINK> 8", Spoken("8", "No.")),
        ("<thinking>I <think> so.</thinking>8", Spoken("8", "I <think> so.")),
        ("[THINK]No.[/THINK]8", Spoken("8", "No.")),
        ("<think>No.</think><think>Yes.</think>8", Spoken("8", "No.</think><think>Yes.", is_stray=True)),
        ("9? No.</think>8", Spoken("8", "9? No.", is_stray=True)),
        ("<think></think>8", Spoken("8")),
        ("<think>It is 8", Spoken("", "It is 8", is_open=True)),
        ("<think>No.</think><think>It is 8", Spoken("", "No.\nIt is 8", is_open=True)),
        ("<think>No.</think>", Spoken("", "No.")),
    ],
)
def test_a_text_is_what_is_said_after_the_thoughts(text: str, found: Spoken) -> None:
    assert spoken(text) == found


PIECES = ("<think>", "</think>", "<reasoning>", "</reasoning>", "[THINK]", "[/THINK]", " ", "x")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_is_said_holds_no_thoughts(text: str) -> None:
    found = spoken(text)
    assert found.text == "" if found.is_open else spoken(found.text).text == found.text
