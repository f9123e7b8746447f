from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.language.heard import Heard
from toolscale.language.mentions import Mention, _mentions, mentions

TODAY = "2026-03-16"
CASES = [
    tuple(part.strip() for part in line.split("||"))
    for line in (Path(__file__).parent / "golden_mentions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def described(mention: Mention) -> str:
    readings = ",".join(sorted(str(reading) for reading in mention.readings))
    return f"{mention.kind}={readings}" + (f" {mention.qualifier}" if mention.qualifier else "")


@pytest.mark.parametrize(("text", "tense", "expected"), CASES)
def test_golden_text_is_read(text: str, tense: str, expected: str) -> None:
    found = mentions(text.replace("\\n", "\n"), TODAY, None if tense == "-" else tense)
    assert "; ".join(map(described, found)) == expected


@pytest.mark.parametrize("tense", ["past", "future"])
def test_what_is_read_once_for_all_tenses_reads_the_same_under_each(tense: str) -> None:
    texts = [text.replace("\\n", "\n") for text, _, _ in CASES]
    assert [mentions(text, TODAY, tense) for text in texts] == [_mentions(text, TODAY, tense)[0] for text in texts]


def test_a_mention_knows_where_it_stands() -> None:
    assert mentions("Pay about $40.", TODAY) == (Mention("money", frozenset((4000,)), "hedge", 10, 13),)


@pytest.mark.parametrize("wish", ["I'd like", "I would like", "we'd like", "i’d like", "id like"])
def test_what_somebody_would_like_is_not_about_so_much(wish: str) -> None:
    assert [mention.qualifier for mention in mentions(f"{wish} 4 seats.", TODAY)] == [None]
    assert [mention.qualifier for mention in mentions("It costs like 4 dollars.", TODAY)] == ["hedge"]


def test_a_threshold_is_stated_and_a_hedge_is_not() -> None:
    assert Heard("only if it is under $300", TODAY).states("money", 30000)
    assert not Heard("about $300", TODAY).states("money", 30000)
    assert not Heard("anything but not $300", TODAY).states("money", 30000)
    assert not Heard("next Friday", TODAY).states("date", "2026-03-20", "future")


@given(st.text(max_size=60), st.sampled_from([None, "past", "future"]))
def test_any_text_can_be_read_and_mentions_never_overlap(text: str, tense: str | None) -> None:
    found = mentions(text, TODAY, tense)
    assert all(0 <= mention.start < mention.end <= len(text) for mention in found)
    assert all(left.end <= right.start for left, right in pairwise(found))


WORDS = (
    "the", "a", "$", "5", "20", "March", "May", "Friday", "next", "on", "in", "two", "weeks", "ago", "of", "and", "or",
    "about", "not", "4", "pm", "%", "cents", ",", ".", "3/4", "20th", "ending", "thousand", "dollars", "-", "2026",
    "end", "last", "month", "1,000", "day", "twenty", "first",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_pile_of_words_can_be_read(text: str) -> None:
    found = mentions(text, TODAY)
    assert all(left.end <= right.start for left, right in pairwise(found))
