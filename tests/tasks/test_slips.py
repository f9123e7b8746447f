"""Slips of the finger hit free words only."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from toolscale.tasks.slips import misspell

TEXT = (
    "please settle the lowest balance there on Friday, the twentieth, "
    "for three hundred dollars from \ue0000\ue001 which covers it"
)
KEPT = {
    "lowest",
    "covers",
    "Friday",
    "twentieth",
    "three",
    "hundred",
    "dollars",
    "the",
    "on",
    "for",
    "from",
    "which",
    "it",
} - {"which"}


@given(st.integers(0, 5000))
def test_cues_number_words_days_and_marks_are_never_misspelt(seed: int) -> None:
    slipped = misspell(TEXT, random.Random(seed), frozenset(("lowest", "covers")))
    before, after = re.findall(r"\S+", TEXT), re.findall(r"\S+", slipped)
    assert len(after) == len(before)
    changed = [(old.strip(","), new.strip(",")) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) <= 2
    assert not {old for old, _ in changed} & KEPT
    assert "\ue0000\ue001" in after


@given(st.integers(0, 5000))
def test_a_slip_never_makes_a_number_of_a_word(seed: int) -> None:
    assert "three" not in misspell(
        "are there active holds, and are there others, there and there", random.Random(seed), frozenset()
    )
