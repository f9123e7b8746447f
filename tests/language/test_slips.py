"""A digit too many, too few or another one: in the year of a date, in an amount, and in what a thing is called."""

from __future__ import annotations

import pytest

from toolscale.language.facts import grade_answer
from toolscale.language.misnamed import is_one_off
from toolscale.language.shown import Shown, ShownRow
from toolscale.records import Fact

TODAY = "2026-03-16"
DUE = [Fact(kind="date", value="2026-04-23")]
SHOWN = Shown(
    rows=(
        ShownRow(frozenset(("8820",)), {"last4": ("digits", "8820"), "daily_limit_cents": ("money", 200_000)}),
        ShownRow(frozenset(("7224",)), {"last4": ("digits", "7224"), "points": ("number", 8823)}),
        ShownRow(frozenset(("165764",)), {"order_number": ("text", "165764"), "phone": ("text", "+1 555-013-4567")}),
    )
)
REFUSED = Fact(kind="bool", value=0, about="8820", others=("7224",))
LIMIT = Fact(kind="money", value=200_000, about="8820", others=("7224",))


@pytest.mark.parametrize(
    "said",
    [
        "April 23, 2026",
        "April 23",
        "April 23rd, 2026",
        "Thursday, April 23, 2026",
        "23 April 2026",
        "23 Apr. 2026",
        "the 23rd of April, 2026",
        "April 23 of 2026",
        "4/23/2026",
        "2026-04-23",
        "2026/04/23",
    ],
)
@pytest.mark.parametrize("year", ["42026", "1026", "3026", "20264", "2027", "226", "202"])
def test_another_year_is_another_date(said: str, year: str) -> None:
    right, wrong = f"It is due on {said}.", f"It is due on {said.replace('2026', year)}."
    assert grade_answer(right, DUE, today=TODAY) is None
    assert (grade_answer(wrong, DUE, today=TODAY) is None) == (wrong == right)


@pytest.mark.parametrize(
    "answer",
    [
        "On April 23, 1,026 points were booked.",
        "On April 23, 15 people come.",
        "On 23 April 1500 euros were paid.",
        "On April 23, 1026 Main Street was visited.",
        "On April 23, 8820 was charged.",
        "It was April 23, 300 of them came.",
        "It is due on April 23: 1026 points.",
    ],
)
def test_what_is_counted_after_a_day_is_no_year(answer: str) -> None:
    assert grade_answer(answer, DUE, today=TODAY) is None


@pytest.mark.parametrize(
    ("answer", "cents", "is_right"),
    [
        ("It is $4.00.", 400, True),
        ("It is $4.000.", 400, False),
        ("It is 4.000 dollars.", 400, False),
        ("It is $1.250 million.", 125_000_000, True),
        ("It is 4 dollars and 48 cents.", 448, True),
        ("It is 4 dollars and 448 cents.", 448, False),
    ],
)
def test_a_digit_too_many_is_no_amount(answer: str, cents: int, is_right: bool) -> None:
    assert (grade_answer(answer, [Fact(kind="money", value=cents)], today=TODAY) is None) is is_right


@pytest.mark.parametrize("figure", ["48820", "88204", "820", "882", "8825", "4820", "4-8820", "8820.4"])
@pytest.mark.parametrize("about", ["the card ending in {}", "the card ending in **{}**", "card {}", "{}", "****{}"])
def test_a_card_with_a_wrong_digit_is_another_card(about: str, figure: str) -> None:
    told = "I'm sorry, but I couldn't do that for {}. For {}, the limit is $2,000."
    right, wrong = about.format("8820"), about.format(figure)
    found = [
        grade_answer(told.format(*both), [REFUSED, LIMIT], today=TODAY, shown=SHOWN)
        for both in ((right, right), (right, wrong), (wrong, right))
    ]
    assert [finding is None for finding in found] == [True, False, False], found


def test_without_any_call_a_label_is_known_by_the_facts() -> None:
    facts = [LIMIT]
    assert grade_answer("For the card ending in 8820, it is $2,000.", facts, today=TODAY) is None
    assert grade_answer("For the card ending in 48820, it is $2,000.", facts, today=TODAY) == "says 48820 for 8820"


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ("I couldn't do that for the card ending in 8820.", None),
        ("I couldn't do that for 8820. Your cards are 8820/7224.", None),
        ("I couldn't do that for the card ending in 1111.", "says 1111 as the ending of what nothing gave"),
        ("I couldn't do that for 8820 or your Visa 7225.", "says 7225 for 7224"),
        ("I couldn't do that for 8820 and order 4165764.", "says 4165764 for 165764"),
        ("I couldn't do that for 8820 and order 16576.", "says 16576 for 165764"),
        ("I couldn't do that for 8820. Call the number ending in 4567.", None),
        ("I couldn't do that for 8820. You have 8823 points.", None),
        ("I couldn't do that for 8820. You have 8,824 points, 8824 dollars or $8824.", None),
        ("I couldn't do that for 8820. Your card ending in 4242 is another matter.", None),
        ("I couldn't do that for 8820. It ends in 2031.", None),
        ("I couldn't do that for 8820. You ended with 1523 points.", None),
    ],
)
def test_a_figure_that_nothing_gave_names_nothing(answer: str, finding: str | None) -> None:
    found = grade_answer(answer, [REFUSED], today=TODAY, shown=SHOWN, request="Raise the limit of 8820, leave 4242.")
    assert found == finding


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("Savings 2 has $5.", True),
        ("Savings 42 has $5.", False),
        ("Savings 24 has $5.", False),
        ("Savings 2 has $5, and 42 days are left.", True),
    ],
)
def test_a_number_in_a_name_is_a_part_of_it(answer: str, is_right: bool) -> None:
    fact = Fact(kind="money", value=500, about="Savings 2", others=("Savings 3",))
    assert (grade_answer(answer, [fact], today=TODAY) is None) is is_right


@pytest.mark.parametrize(
    ("figure", "other", "expected"),
    [
        ("48820", "8820", True),
        ("820", "8820", True),
        ("8823", "8820", True),
        ("8820", "8820", False),
        ("8280", "8820", False),
        ("448820", "8820", False),
        ("1111", "8820", False),
    ],
)
def test_one_digit_off(figure: str, other: str, expected: bool) -> None:
    assert is_one_off(figure, other) is expected
