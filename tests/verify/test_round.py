"""The recorded round of strangers gets the grades that it got."""

from __future__ import annotations

import pytest
from courts import Court

from research.round import FILES, regraded


@pytest.mark.parametrize("name", FILES)
def test_what_strangers_did_gets_the_grades_that_it_got(bank: Court, name: str) -> None:
    """Where only ids differ, the environment of finance changed: `python -m research.round --write` renews them."""
    lines = regraded(name, bank[1])
    assert [line.found for line in lines] == [line.recorded for line in lines]
    assert [line.solution["task"] for line in lines] == [line.recorded["task"] for line in lines]
