from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscale.language.heard import Heard, contains_words
from toolscale.language.numerals import NUMBER_WORDS_PATTERN, TEENS, TENS, UNITS, parse_number_words
from toolscale.language.phrasing import expand_choices
from toolscale.language.render import FORMS, render

TODAY = "2026-03-16"
days = st.dates(date(1930, 1, 1), date(2060, 12, 31)).map(date.isoformat)


@given(st.integers(-10_000_000, 10_000_000), st.sampled_from(["money", "words"]), days)
def test_money_reads_back(cents: int, form: str, today: str) -> None:
    assert Heard(f"Please pay {render(cents, form, today)} now.", today).states("money", cents)


@given(days, st.integers(-40, 40), st.sampled_from(["date", "day", "nth"]))
def test_a_date_reads_back_on_its_side_of_today_and_without_a_side(today: str, away: int, form: str) -> None:
    day = (date.fromisoformat(today) + timedelta(days=away)).isoformat()
    text = f"Is it on {render(day, form, today)}?"
    sides = [None, *(["past"] if away <= 0 else []), *(["future"] if away >= 0 else [])]
    assert all(Heard(text, today).states("date", day, side) for side in sides)


@given(days, days, st.sampled_from(["date", "day", "nth"]), st.sampled_from([None, "past", "future"]))
def test_a_date_far_away_reads_back(today: str, day: str, form: str, tense: str | None) -> None:
    assert Heard(f"the charge on {render(day, form, today, tense)}", today).states("date", day, tense)


@given(st.integers(0, 2_000_000), days)
def test_a_number_reads_back(number: int, today: str) -> None:
    assert Heard(f"I want {render(number, 'number', today)} of them.", today).states("number", number)


@given(st.integers(0, 9999).map(lambda number: f"{number:04}"))
def test_card_digits_read_back(digits: str) -> None:
    assert Heard(f"Freeze my card ending in {render(digits, 'digits', TODAY)}.", TODAY).states("digits", digits)


def test_digits_may_stand_there_as_they_are() -> None:
    assert Heard("The postal code is 27491 now.", TODAY).states("digits", "27491")
    assert not Heard("The postal code is 274915 now.", TODAY).states("digits", "27491")


@given(st.from_regex(r"[a-z]{2,4}_[a-z2-7]{10}|[A-Z]{2,3}-[0-9]{4}", fullmatch=True))
def test_an_id_reads_back(name: str) -> None:
    assert Heard(f"What about {render(name, 'plain', TODAY)}?", TODAY).states("id", name)


@given(
    st.text(st.characters(categories=["L", "N", "Z"]), min_size=1).filter(
        lambda text: text.strip() and text.lower().isascii()
    )
)
def test_a_text_reads_back(name: str) -> None:
    assert Heard(f"I was at {render(name, 'text', TODAY)}, once.", TODAY).states("text", name)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (124050, "money", "$1,240.50"),
        (4000, "money", "$40"),
        (-305, "money", "-$3.05"),
        (4000, "words", "40 dollars"),
        (1250, "words", "12 dollars and 50 cents"),
        (100, "words", "1 dollar"),
        ("2026-03-20", "date", "March 20, 2026"),
        ("2026-03-20", "day", "Friday, the 20th"),
        ("2026-03-24", "day", "next Tuesday, the 24th"),
        ("2026-05-24", "day", "May 24, 2026"),
        ("2026-03-20", "nth", "the 20th"),
        ("2026-02-13", "nth", "February 13, 2026"),
        (12, "number", "12"),
        ("Visa", "lower", "visa"),
        ("4821", "digits", "4821"),
        ("tx_1", "plain", "tx_1"),
        (1, "bool", "yes"),
        (0, "bool", "no"),
        ("Blue Bottle", "text", "Blue Bottle"),
    ],
)
def test_every_form(value: str | int, form: str, text: str) -> None:
    assert render(value, form, TODAY) == text


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="'roman' is no form; use one of money, words"):
        render(1, "roman", TODAY)
    assert len(FORMS) == 25


def test_a_date_without_its_year_is_said_only_where_it_reads_as_itself() -> None:
    said = {form: render("2025-12-23", form, TODAY, "past") for form in ("short", "shortth", "numeric", "near")}
    assert said == {"short": "December 23", "shortth": "December 23rd", "numeric": "12/23", "near": "December 23"}
    born = {form: render("1980-04-02", form, TODAY) for form in ("short", "shortth", "numeric", "near")}
    assert born == {
        "short": "April 2, 1980",
        "shortth": "April 2nd, 1980",
        "numeric": "4/2/1980",
        "near": "April 2, 1980",
    }


def test_a_day_of_this_week_is_said_by_its_name() -> None:
    days = ("2026-03-13", "2026-03-15", "2026-03-16", "2026-03-17", "2026-03-20")
    assert [render(day, "near", "2026-03-16", "past" if day < "2026-03-16" else "future") for day in days] == [
        "last Friday",
        "yesterday",
        "today",
        "tomorrow",
        "this Friday",
    ]


def test_a_day_of_last_month_is_not_said_by_its_number() -> None:
    assert render("2026-02-20", "nth", TODAY, "past") == "the 20th"
    assert render("2026-02-12", "nth", TODAY, "past") == "February 12, 2026"


def test_words_are_whole() -> None:
    assert contains_words("Pay my City  Gas bill", "city gas")
    assert not contains_words("Pay my City Gasworks bill", "City Gas")
    assert not contains_words("anything", " ")


@given(st.integers(0, 999_999))
def test_numbers_in_words_are_read(number: int) -> None:
    words = in_words(number)
    assert re.fullmatch(NUMBER_WORDS_PATTERN, words, re.VERBOSE)
    assert parse_number_words(words) == number


def in_words(number: int) -> str:
    units, tens = (*UNITS, *TEENS), ("", "", *TENS)
    if number < 20:
        return units[number]
    if number < 100:
        return tens[number // 10] + (f"-{units[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{units[number // 100]} hundred" + (f" and {in_words(number % 100)}" if number % 100 else "")
    return f"{in_words(number // 1000)} thousand" + (f" {in_words(number % 1000)}" if number % 1000 else "")


def test_choices_are_expanded_and_leave_clean_text() -> None:
    assert expand_choices("[Pay|Settle|] my bill[ now|], please.", lambda count: count - 1) == "My bill, please."
    assert expand_choices("[Pay|Settle|] my bill[ now|], please.", lambda count: 0) == "Pay my bill now, please."
    assert expand_choices("Pay [it [today|now]|that].", lambda count: count - 1) == "Pay that."
    assert expand_choices("Plain {amount|money}.", lambda count: 1 // 0) == "Plain {amount|money}."
