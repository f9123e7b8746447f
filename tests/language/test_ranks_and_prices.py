"""A number that is told as a rank, what one of several things costs, the name of whoever is greeted: all were refused
to people who told what is right."""

from __future__ import annotations

import pytest

from toolscale.language.facts import grade_answer
from toolscale.language.shown import Shown, ShownRow
from toolscale.records import Fact

TODAY = "2026-03-16"


@pytest.mark.parametrize(
    ("answer", "place", "is_right"),
    [
        ("You're top of the table now, in 1st place.", 1, True),
        ("You are in second place.", 2, True),
        ("You're third on the waiting list.", 3, True),
        ("You are 12th in line.", 12, True),
        ("You are in 2nd place.", 1, False),
        ("You are not in 1st place.", 1, False),
        ("It was on the 1st of the month.", 1, False),
        ("First, thank you.", 1, False),
    ],
)
def test_a_rank_tells_a_number(answer: str, place: int, is_right: bool) -> None:
    assert (grade_answer(answer, [Fact(kind="number", value=place)], today=TODAY) is None) is is_right


def test_a_rank_stands_beside_another_number() -> None:
    facts = [
        Fact(kind="number", value=1, about="place", others=("points",)),
        Fact(kind="number", value=22, about="points", others=("place",)),
    ]
    assert grade_answer("You're top of the table now, in 1st place with 22 points.", facts, today=TODAY) is None


@pytest.mark.parametrize(
    ("column", "is_right"),
    [("price_cents", True), ("part_cents", True), ("monthly_cents", True), ("total_cents", False)],
)
def test_what_one_costs_may_be_told_of_each(column: str, is_right: bool) -> None:
    bought = ShownRow(frozenset(("soap dispenser",)), {column: ("money", 2050)}, written=False)
    order = ShownRow(frozenset(("order",)), {"new_total_cents": ("money", 32695)}, written=True)
    finding = grade_answer(
        "3 soap dispensers are in your order now, at $20.50 each. The new total is $326.95.",
        [Fact(kind="money", value=32695)],
        today=TODAY,
        shown=Shown((bought, order)),
    )
    assert (finding is None) is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("hi stephanie, only melanie needs a new passport.", True),
        ("Good morning, Stephanie! It is Melanie who needs one.", True),
        ("Melanie, or Stephanie.", False),
        ("Hi, it is Stephanie or Melanie.", False),
    ],
)
def test_whoever_is_greeted_is_no_answer(answer: str, is_right: bool) -> None:
    names = frozenset(("Melanie", "Stephanie"))
    finding = grade_answer(answer, [Fact(kind="text", value="Melanie")], observed={"text": names}, today=TODAY)
    assert (finding is None) is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("The ticket price is $24.60, it goes from platform 4, and the bike is booked.", True),
        ("It leaves from platform 4; the ticket price is $24.60.", True),
        ("The ticket price is $24.60. The platform is 4.", True),
        ("It leaves from platform 5; the ticket price is $24.60.", False),
        ("Your seat is in room 4; the ticket price is $24.60.", False),
    ],
)
def test_a_platform_is_told_by_its_number(answer: str, is_right: bool) -> None:
    facts = [
        Fact(kind="money", value=2460, about="ticket price"),
        Fact(kind="number", value=4, about="platform"),
    ]
    assert (grade_answer(answer, facts, today=TODAY) is None) is is_right
