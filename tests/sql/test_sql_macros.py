"""Every macro gives the same value on both engines, and the value that a calendar or a calculator would give."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolscale.errors import SpecError
from toolscale.records import ColumnType, SchemaSpec
from toolscale.sql.statements import compile_select

EMPTY = SchemaSpec(tables={})
Run = Callable[..., tuple[Any, Any]]

edges = ["2024-02-29", "2025-01-31", "2026-12-31", "1000-01-01", "8999-12-31"]
dates = st.dates(date(1000, 1, 1), date(8999, 12, 31)).map(str) | st.sampled_from(edges)
no_dates = st.sampled_from([
    "now", "", "2026-02-30", "2026-2-3", "2026-02-03 ", "20260203", "infinity", "-infinity", "epoch", "today",
    "0999-12-31", "9000-01-01", "10000-01-01", "2026-02-03T00:00:00", "2460000.5", "2026-13-01", "2026-00-10",
    "tomorrow", "12:00", "2026-02-03Z", "２０２６-02-03",
]) | st.text(max_size=12).filter(lambda text: "\0" not in text)  # fmt: skip
any_date = dates | no_dates | st.none()
shifts = (
    st.integers(-400, 400)
    | st.integers(-(2**62), 2**62)
    | st.sampled_from([-300_000, 300_000, 300_001, 10_000, -10_000, 10_001])
    | st.none()
)
numbers = st.integers(-(10**9), 10**9) | st.integers(-20, 20) | st.none()
letters = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")
texts = st.text(letters, max_size=8) | st.sampled_from(["ABC", "abc", "É", "é", "ß", " a "]) | st.none()


def value_of(run: Run, expression: str, types: dict[str, ColumnType], **values: Any) -> Any:
    """The value of an expression on both engines, which must be one."""
    statement = compile_select(f"SELECT {expression} AS value", EMPTY, params=types)
    one, two = run(statement, values)
    assert one == two, (statement.sqlite, values)
    return one[0][0]


def is_date(text: str | None) -> bool:
    """Whether a macro takes the text for a date."""
    try:
        return (
            text is not None
            and text.isascii()
            and len(text) == 10
            and str(date.fromisoformat(text)) == text
            and "1000" <= text[:4] <= "8999"
        )
    except ValueError:
        return False


@given(any_date, shifts)
@example("now", 1)
@example("2024-02-28", 1)
@settings(max_examples=150, deadline=None)
def test_add_days(on_both: Run, day: str | None, count: int | None) -> None:
    expected = None
    if is_date(day) and count is not None and abs(count) <= 300_000:
        expected = str(date.fromisoformat(str(day)) + timedelta(days=count))
    assert (
        value_of(on_both, "add_days(:day, :count)", {"day": "date", "count": "int"}, day=day, count=count) == expected
    )


@given(any_date, any_date)
@settings(max_examples=150, deadline=None)
def test_days_between(on_both: Run, first: str | None, second: str | None) -> None:
    expected = None
    if is_date(first) and is_date(second):
        expected = (date.fromisoformat(str(second)) - date.fromisoformat(str(first))).days
    assert value_of(on_both, "days_between(:a, :b)", {"a": "date", "b": "date"}, a=first, b=second) == expected


@given(any_date, shifts)
@example("2024-01-31", 1)
@example("2025-03-31", -1)
@settings(max_examples=150, deadline=None)
def test_add_months_clips_to_the_end_of_the_month(on_both: Run, day: str | None, count: int | None) -> None:
    expected = None
    if is_date(day) and count is not None and abs(count) <= 10_000:
        start = date.fromisoformat(str(day))
        year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
        expected = next(
            f"{year:04}-{month + 1:02}-{last:02}" for last in range(start.day, 0, -1) if _exists(year, month + 1, last)
        )
    assert (
        value_of(on_both, "add_months(:day, :count)", {"day": "date", "count": "int"}, day=day, count=count) == expected
    )


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


@given(any_date)
@settings(max_examples=100, deadline=None)
def test_month_of(on_both: Run, day: str | None) -> None:
    expected = str(day)[:7] if is_date(day) else None
    assert value_of(on_both, "month_of(:day)", {"day": "date"}, day=day) == expected


moments = st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds"))


@given(moments | any_date | st.sampled_from(["2026-01-01T24:00:00", "2026-01-01 10:00:00"]))
@example("2026-02-30T10:00:00")
@example("2026-02-28T10:00:60")
@settings(max_examples=150, deadline=None)
def test_date_of(on_both: Run, moment: str | None) -> None:
    found = value_of(on_both, "date_of(:moment)", {"moment": "datetime"}, moment=moment)
    assert found in (None, str(moment)[:10])
    if (
        moment is not None
        and len(moment) == 19
        and is_date(moment[:10])
        and moment[10] == "T"
        and moment[11:13] < "24"
        and moment[17:] < "60"
    ):
        assert found == moment[:10]


@given(numbers, numbers)
@example(-7, 2)
@example(7, 0)
@settings(max_examples=150, deadline=None)
def test_idiv_goes_toward_zero(on_both: Run, a: int | None, b: int | None) -> None:
    expected = None
    if a is not None and b:
        expected = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert value_of(on_both, "idiv(:a, :b)", {"a": "int", "b": "int"}, a=a, b=b) == expected


@given(numbers, numbers.filter(lambda bp: bp is None or abs(bp) <= 10**8))
@example(50, 100)
@example(-50, 100)
@example(49, 100)
@settings(max_examples=150, deadline=None)
def test_pct_cents_rounds_half_away_from_zero(on_both: Run, amount: int | None, points: int | None) -> None:
    expected = None
    if amount is not None and points is not None:
        product = amount * points
        expected = (abs(product) + 5000) // 10000 * (-1 if product < 0 else 1)
    assert value_of(on_both, "pct_cents(:a, :p)", {"a": "cents", "p": "int"}, a=amount, p=points) == expected


@given(texts, texts)
@example("abc", "")
@example("É", "é")
@settings(max_examples=150, deadline=None)
def test_contains_ci_folds_a_to_z(on_both: Run, text: str | None, part: str | None) -> None:
    found = value_of(on_both, "contains_ci(:t, :p)", {"t": "text", "p": "text"}, t=text, p=part)
    fold = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
    assert found == (None if text is None or part is None else int(part.translate(fold) in text.translate(fold)))


@pytest.mark.parametrize(("macro", "pick"), [("least_of", min), ("greatest_of", max)])
@given(a=numbers, b=numbers)
@settings(max_examples=60, deadline=None)
def test_least_and_greatest_of_need_both(
    on_both: Run, macro: str, pick: Callable[[Any, Any], Any], a: int | None, b: int | None
) -> None:
    expected = None if a is None or b is None else pick(a, b)
    assert value_of(on_both, f"{macro}(:a, :b)", {"a": "int", "b": "int"}, a=a, b=b) == expected


@given(texts, st.integers(-9, 9), st.integers(-9, 9), texts)
@settings(max_examples=200, deadline=None)
def test_text_functions(on_both: Run, text: str | None, start: int, count: int, other: str | None) -> None:
    expression = (
        "TRIM(:t) || '|' || LOWER(:t) || UPPER(:t) || SUBSTR(:t, :n, :m) || "
        "SUBSTR(:t, :n) || REPLACE(:t, :o, 'x') || INSTR(:t, :o) || LENGTH(:t)"
    )
    value_of(on_both, expression, {"t": "text", "n": "int", "m": "int", "o": "text"}, t=text, n=start, m=count, o=other)


@given(
    texts
    | st.integers(-(2**62), 2**62).map(str)
    | st.sampled_from(["007", "3.7", "1e3", "12abc", "-0", "+5", " 7", "9223372036854775808"])
)
@settings(max_examples=150, deadline=None)
def test_cast_to_integer_takes_whole_numbers_only(on_both: Run, text: str | None) -> None:
    found = value_of(on_both, "CAST(:t AS INTEGER)", {"t": "text"}, t=text)
    assert found is None or str(found) == text


@given(st.integers(-(10**8), 10**8), st.integers(-(10**8), 10**8))
@settings(max_examples=100, deadline=None)
def test_arithmetic_has_64_bits(on_both: Run, a: int, b: int) -> None:
    assert (
        value_of(on_both, ":a * :b + 3000000000 - (100000 * 100000)", {"a": "cents", "b": "int"}, a=a, b=b)
        == a * b + 3_000_000_000 - 10**10
    )


def test_macros_nest_and_take_any_expression(on_both: Run) -> None:
    expression = "add_days(add_months(date_of(:now), 1 + 1), -idiv(7, 2)) || month_of(:today)"
    assert value_of(on_both, expression, {}) == "2026-05-132026-03"


times = st.sampled_from(["00:00", "09:05", "23:59"]) | st.times().map(lambda time: time.isoformat(timespec="minutes"))
no_times = st.sampled_from(["24:00", "9:05", "09:60", "0905 ", "now", "12345", "14:05:00", "1e308", "-1:05", "２３:59"])
any_moment = moments | times | no_times | any_date


def minute_of(text: str | None) -> datetime | None:
    """The minute of a valid datetime or time of day, on some one day; None for all else."""
    if text is not None and text.isascii() and re.fullmatch(r"\d\d:\d\d", text):
        return datetime.fromisoformat(f"2000-01-01T{text}") if text < "24" and text[3:] < "60" else None
    if text is None or len(text) != 19 or not "1000" <= text < "9" or text[10] != "T":
        return None
    try:
        return datetime.fromisoformat(text).replace(second=0)
    except ValueError:
        return None


@given(moments | no_dates | st.none())
@example("2026-02-28T14:05:59")
@settings(max_examples=150, deadline=None)
def test_time_of(on_both: Run, moment: str | None) -> None:
    expected = str(moment)[11:16] if minute_of(moment) and len(str(moment)) == 19 else None
    assert value_of(on_both, "time_of(:moment)", {"moment": "datetime"}, moment=moment) == expected


@given(any_moment, any_moment)
@example("14:05", "13:00")
@example("14:05", "24:00")
@example("2026-03-01T14:05:33", "2026-03-02T14:04:59")
@example("2026-03-01T14:05:33", "14:05")
@settings(max_examples=300, deadline=None)
def test_minutes_between(on_both: Run, first: str | None, second: str | None) -> None:
    one, two = minute_of(first), minute_of(second)
    alike = one and two and len(str(first)) == len(str(second))
    expected = (two - one) // timedelta(minutes=1) if alike and one and two else None
    found = value_of(on_both, "minutes_between(:a, :b)", {"a": "text", "b": "text"}, a=first, b=second)
    assert found == expected


@given(moments | times | no_dates | st.none(), shifts | st.sampled_from([50_000_000, -50_000_001]))
@example("2026-03-01T23:55:01", 10)
@settings(max_examples=150, deadline=None)
def test_add_minutes(on_both: Run, moment: str | None, count: int | None) -> None:
    found = value_of(
        on_both, "add_minutes(:moment, :count)", {"moment": "datetime", "count": "int"}, moment=moment, count=count
    )
    fits = minute_of(moment) and len(str(moment)) == 19 and count is not None and abs(count) <= 50_000_000
    assert (found is None) == (not fits)
    if fits and moment is not None and count is not None and "1100" <= moment[:4] <= "8900":
        assert found == (datetime.fromisoformat(moment) + timedelta(minutes=count)).isoformat()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("time_of(:time)", "is a time, not a datetime"),
        ("minutes_between(:time, :moment)", "compares a time with a datetime"),
        ("minutes_between(:day, :day)", "is a date, not a datetime or a time"),
        ("add_minutes(:time, 5)", "is a time, not a datetime"),
        ("CASE WHEN :time < :moment THEN 1 END", "compares a time with a datetime"),
        ("CASE WHEN :time = :day THEN 1 END", "compares a time with a date"),
        (":time + 5", "use minutes_between"),
    ],
)
def test_times_are_compared_with_times_alone(expression: str, message: str) -> None:
    types: dict[str, ColumnType] = {"time": "time", "moment": "datetime", "day": "date"}
    with pytest.raises(SpecError, match=re.escape(message)):
        compile_select(f"SELECT {expression} AS value", EMPTY, params=types)
