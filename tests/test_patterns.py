"""A pattern that is compiled when it is first used does what a compiled one does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.patterns import regex

WORDS = regex(r"(?P<first>[a-c]+)(?P<rest>\d*)", re.IGNORECASE)
COMPILED = re.compile(WORDS.pattern, WORDS.flags)


@given(st.text(alphabet="abcABC12 ", max_size=12))
def test_it_finds_and_replaces_what_a_compiled_one_does(text: str) -> None:
    assert WORDS.findall(text) == COMPILED.findall(text)
    assert [found.groupdict() for found in WORDS.finditer(text)] == [
        found.groupdict() for found in COMPILED.finditer(text)
    ]
    assert (WORDS.search(text, 1) is None) == (COMPILED.search(text, 1) is None)
    assert WORDS.sub("-", text) == COMPILED.sub("-", text)
    assert WORDS.groupindex == COMPILED.groupindex


def test_a_fault_is_told_when_it_is_first_used() -> None:
    broken = regex("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")
