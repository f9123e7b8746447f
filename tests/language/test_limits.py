"""A refusal may say the figure of its rule as the limit that it is; of other figures a bound says nothing firm."""

from __future__ import annotations

import pytest

from toolscale.language.facts import grade_answer
from toolscale.records import Fact

TODAY = "2026-03-16"
REFUSED = [Fact(kind="bool", value=0), Fact(kind="number", value=14)]


@pytest.mark.parametrize(
    "limit",
    [
        "no stay may last more than 14 nights",
        "a stay may not be longer than 14 nights",
        "stays last at most 14 nights",
        "a stay has 14 nights at most",
        "we take stays of up to 14 nights",
        "it would have to be 14 nights or fewer",
        "the longest stay that we take is 14 nights",
        "no booking is for more than 14 nights",
    ],
)
def test_a_limit_is_said_by_a_bound(limit: str) -> None:
    assert grade_answer(f"I'm sorry, I can't extend your booking: {limit}.", REFUSED, today=TODAY) is None


@pytest.mark.parametrize(
    "words",
    [
        "no stay may last more than 15 nights",
        "no stay may last more than about 14 nights",
        "I think no stay may last more than 14 nights",
        "is a stay of more than 14 nights what you want?",
        "you asked for more than 14 nights",
    ],
)
def test_what_is_no_limit_or_another_one_does_not_say_it(words: str) -> None:
    assert grade_answer(f"I'm sorry, I can't extend your booking: {words}.", REFUSED, today=TODAY) is not None


def test_a_count_is_not_said_by_a_bound() -> None:
    counted = [Fact(kind="bool", value=1), Fact(kind="number", value=14)]
    assert grade_answer("Done. You have at most 14 nights.", counted, today=TODAY) is not None


@pytest.mark.parametrize("deed", ["I can't change the booking to 6 people", "We won't change your booking"])
def test_a_change_that_is_not_made_is_a_no(deed: str) -> None:
    assert grade_answer(f"{deed}.", [Fact(kind="bool", value=0)], today=TODAY) is None
