"""What was looked up and not written is quoted: *it would be $30.96 if you cancelled* says it. All of these were
refused to people who told what is right."""

from __future__ import annotations

import pytest

from toolscale.language.facts import grade_answer
from toolscale.language.shown import Shown, ShownRow
from toolscale.records import Fact

TODAY = "2026-03-16"
REFUND = Fact(kind="money", value=3096)


def quoted(answer: str, written: bool = False) -> str | None:
    row = ShownRow(frozenset(("wexley",)), {"refund_cents": ("money", 3096)}, written=written)
    return grade_answer(answer, [REFUND], today=TODAY, shown=Shown((row,)))


@pytest.mark.parametrize(
    "answer",
    [
        "Cancelling it would bring you $30.96 back.",
        "If you cancelled today you'd get $30.96 back.",
        "If you cancelled it, the refund would be $30.96.",
        "It would have given back only $30.96.",
        "For the two of you it would come to $30.96.",
    ],
)
def test_a_quoted_amount_is_said_by_what_would_be(answer: str) -> None:
    assert quoted(answer) is None
    assert quoted(answer, written=True) is not None  # it was paid: what would be is no report of it


@pytest.mark.parametrize(
    "answer",
    [
        "It might be $30.96.",
        "It would be about $30.96.",
        "Would it be $30.96?",
        "If $30.96 would help you, tell me.",
        "It would not be $30.96.",
        "I think it would be $30.96.",
    ],
)
def test_a_quoted_amount_may_still_be_doubted(answer: str) -> None:
    assert quoted(answer) is not None


def test_a_forecast_is_expected() -> None:
    row = ShownRow(frozenset(("kestrel bay",)), {"gust_kmh": ("number", 18)})
    facts = [Fact(kind="number", value=18, about="gust")]
    answer = "That's the first calm day in Kestrel Bay: we're expecting gusts of 18 km/h."
    assert grade_answer(answer, facts, today=TODAY, shown=Shown((row,))) is None


def test_a_total_of_quoted_amounts_is_quoted() -> None:
    rows = tuple(
        ShownRow(frozenset((name,)), {"fee_cents": ("money", cents)}) for name, cents in (("one", 2100), ("two", 5000))
    )
    answer = "Together they would have cost $71.00."
    assert grade_answer(answer, [Fact(kind="money", value=7100)], today=TODAY, shown=Shown(rows)) is None


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("It runs from 8:30 am to 4:00 pm.", True),
        ("It starts at 4:00 pm.", False),
        ("Your 4:00 pm train left too early.", True),
    ],
)
def test_a_time_may_end_a_span_or_name_a_train(answer: str, is_right: bool) -> None:
    row = ShownRow(frozenset(("alert",)), {"start_time": ("time", "08:30"), "end_time": ("time", "16:00")})
    facts = [Fact(kind="bool", value=1)]
    finding = grade_answer(f"Done. {answer}", facts, today=TODAY, shown=Shown((row,)))
    assert (finding is None) is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("The remaining $5.00 went on your bank card.", True),
        ("That leaves $5.00 still to pay.", True),
        ("The remaining $5.00 are yours.", False),
    ],
)
def test_what_remains_may_be_paid_from_elsewhere(answer: str, is_right: bool) -> None:
    row = ShownRow(frozenset(("bank card",)), {"paid_cents": ("money", 500)}, written=True)
    finding = grade_answer(f"Done. {answer}", [Fact(kind="bool", value=1)], today=TODAY, shown=Shown((row,)))
    assert (finding is None) is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("Announce it by March 25, 2026 at the latest.", True),
        ("It is March 25, 2026 at the latest.", True),
        ("It is before March 25, 2026.", False),
        ("It is around March 25, 2026 at the latest.", False),
    ],
)
def test_a_last_day_may_be_bounded_by_its_name(answer: str, is_right: bool) -> None:
    fact = Fact(kind="date", value="2026-03-25", field="last_day")
    assert (grade_answer(answer, [fact], today=TODAY) is None) is is_right
