"""Dates as people say them: one written form -> the set of dates that it may mean.

A form that leaves the month or the year open takes the nearest date on the side of `tense` (past for charges, future
for schedules); without a tense it takes the nearest one if it is clearly the nearest, else both. More than one date
means that the form is ambiguous, on purpose.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from toolscale.language.numerals import ORDINALS
from toolscale.patterns import regex

Tense = Literal["past", "future"]
Readings = frozenset[str]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH_NUMBER = {name: index for index, name in enumerate(MONTHS, 1)}
_MONTH_NUMBER |= {name[:3]: index for name, index in _MONTH_NUMBER.items()} | {"sept": 9}
MONTH_WORDS = frozenset(_MONTH_NUMBER)

WEEKDAY_PATTERN = "|".join(WEEKDAYS)
_MONTH_PATTERN = "|".join(sorted(MONTH_WORDS, key=len, reverse=True))
_ORDINAL_WORDS = "|".join(re.escape(word) for word in sorted(ORDINALS, key=len, reverse=True))
_NTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{_ORDINAL_WORDS})(?![\w-])"
AFTER_A_DAY = frozenset((
    "of", "and", "or", "for", "at", "in", "by", "to", "from", "is", "was", "will", "would", "if", "please", "instead",
    "on", "with", "so", "because", "this", "next", "when", "but", "as", "it", "i", "you", "we", "they", "he", "she",
    "then", "could", "can", "should", "may", "might", "through", "until", "about", "that", "there", "has", "have",
    "had", "are", "were", "does", "did", "do", "not", "now", "only", "also", "too", "since", "before", "after", "while",
))  # fmt: skip
"""Words that may follow a day without its month, or a day of May in small letters."""

_VERBS = frozenset((
    "is", "was", "will", "would", "could", "can", "should", "may", "might", "has", "have", "had", "are", "were",
    "does", "did", "do",
))  # fmt: skip
_AFTER_A_YEAR = "|".join(sorted(AFTER_A_DAY - _VERBS - {"of", "only"}))
_YEAR = r"(?:19|20)\d\d(?!\w|[.,/-]\d)"
_ANY_YEAR = rf"(?:{_YEAR}|(?<=\s)'\d\d(?!\w))"
_TO_YEAR = rf"(?:,\s*|\s+|[-–]|,?\s+(?:of|in)\s+|\s\((?={_YEAR}\)))"
_NO_YEAR = (
    r"(?:[-–]\d{3,}(?![\w.,])|(?:,[^\S\n]*|[^\S\n]+(?:(?:of|in)\s+)?)\d{3,}(?:[.,/-]\d)?(?!\w|[.,:/-]\d|\s?[%$€£¥°])"
    r"(?:(?=\s*(?:$|[\n.,;:!?()\"'|—–]|-\s))"
    rf"|(?=\s+(?:{_AFTER_A_YEAR})\b(?!\s(?:so|more|less|fewer|total|all|cash)\b))"
    rf"|(?<=\d{{5}})(?=\s+(?:{'|'.join(sorted(_VERBS))})\b)))"
)
"""A number in the place of a year that is none: `April 23, 42026`, `April 23, 226`. What it counts (`April 23, 1500
points`) does not follow it, nor a verb of which four digits may be the subject, as the ending of a card."""

_DATE = regex(
    rf"""
    (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})(?:t\d\d:\d\d(?::\d\d)?z?)?(?![\w-])
    | (?P<year6>\d{{4}})/(?P<month6>\d{{1,2}})/(?P<day6>\d{{1,2}})(?![\w/-]|[.,]\d)
    | (?<!\d/)(?P<month1>\d{{1,2}})/(?P<day1>\d{{1,2}})(?:/(?P<year1>\d{{4}}|\d{{2}}))?(?![\w/]|[.,]\d)
    | (?P<month2>{_MONTH_PATTERN})\b\.?\s+(?:the\s+)?(?P<day2>{_NTH}|\d{{1,2}}(?![\w/]|[:.,]\d))
      (?:(?:\s?[-–]\s?|\sor\s(?:the\s)?)(?P<until>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:]))?"""
    rf""" (?:{_TO_YEAR}(?P<year2>{_ANY_YEAR})|(?P<odd2>{_NO_YEAR}))?
    | (?P<month5>{_MONTH_PATTERN})\b\.?,?\s+(?P<year5>{_YEAR})
    | (?P<day3>{_NTH}|\d{{1,2}})\s+(?:day\s+)?(?:of\s+)?(?P<month3>{_MONTH_PATTERN})\b
      (?:\.?{_TO_YEAR}(?P<year3>{_ANY_YEAR})|(?P<odd3>(?:(?<=\b[a-z]{{3}})\.)?{_NO_YEAR}))?
    | (?P<day4>{_NTH})\s+(?:day\s+)?of\s+(?P<which>the|this|next|last)\s+month\b
    | (?P<nth>{_NTH})
    """,
    re.VERBOSE,
)

_MONTH_END = regex(
    rf"(?:end|last\s+day)\s+of\s+(?:(?P<which>the|this|next|last)\s+month|(?P<month>{_MONTH_PATTERN}))\b"
    rf"(?:,?\s+(?P<year>{_YEAR})|(?P<odd>{_NO_YEAR}))?|month(?:'s\s|-)end\b"
)
_MAY_DAY = regex(r"may\s+(?:\d{1,2}(?:st|nd|rd|th)(?!\w)|\d{1,2},?\s+(?:19|20)\d\d(?!\w))")
"""The month May in small letters: an ordinal, or a day and a year, after it tells it from the verb."""
_BARE_MAY_DAY = regex(
    r"may\s+\d{1,2}(?!\w)"
    rf"(?:(?=\s*(?:$|\n|[,;)!?:–]|\.(?!\d)))|(?=\s+(?:{'|'.join(sorted(AFTER_A_DAY - {'of'}))})\b))"
)
"""A day of May in small letters, with behind it what follows a day and hardly ever a number: not `may 2 of us come`."""
_NTH_OF = regex(r"\d(?:st|nd|rd|th)\s+of\s+$")
_MAY_COMPANY = regex(
    r"(?:\b(?:on|by|until|till|from|before|after|since|for|to|than|around|between|of|through|and|or)|[,;:.(\n]|^)\s*$"
)
"""What stands before a day of May, and never before the verb with its number: `on may 5`, not `we may 5`."""
_CLEARLY_NEARER = 7
_SAME_YEAR = 45
_AHEAD = 50
"""A year of two digits lies no more years ahead."""


def parse_day(text: str) -> date:
    """Return the date of `YYYY-MM-DD`, read once for many uses."""
    return _parse_day(text)


_parse_day = lru_cache(maxsize=4096)(date.fromisoformat)


def _make(year: int, month: int, day: int) -> date | None:
    return date(year, month, day) if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1] else None


def _nearest(candidates: list[date], today: date, tense: Tense | None, certain: int) -> Readings:
    before = max((day for day in candidates if day <= today), default=None)
    after = min((day for day in candidates if day >= today), default=None)
    if tense == "past":
        return frozenset((before.isoformat(),)) if before else frozenset()
    if tense == "future":
        return frozenset((after.isoformat(),)) if after else frozenset()
    both = [day for day in (before, after) if day]
    near = min(both, key=lambda day: abs((day - today).days), default=None)
    if near and all(day == near or _clearly_nearer(near, day, today, certain) for day in both):
        return frozenset((near.isoformat(),))
    return frozenset(day.isoformat() for day in both)


def _clearly_nearer(near: date, far: date, today: date, certain: int) -> bool:
    return abs((near - today).days) <= certain and abs((far - today).days) - abs((near - today).days) >= _CLEARLY_NEARER


def _in_month(today: date, offset: int, day: int) -> date | None:
    months = today.year * 12 + today.month - 1 + offset
    return _make(months // 12, months % 12 + 1, day)


def add_months(day: date, months: int) -> date:
    """Return the same day some months on, clipped to the end of the month."""
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def nth_readings(day: int, today: date, tense: Tense | None) -> Readings:
    """Return what "the 13th" may mean."""
    return _nearest([made for offset in range(-3, 4) if (made := _in_month(today, offset, day))], today, tense, 31)


def month_day_readings(month: int, day: int, today: date, tense: Tense | None) -> Readings:
    """Return what "March 20" may mean."""
    years = range(today.year - 4, today.year + 5)
    return _nearest([made for year in years if (made := _make(year, month, day))], today, tense, _SAME_YEAR)


def weekday_readings(weekday: int, which: str, today: date, tense: Tense | None) -> Readings:
    """Return what a weekday may mean; `which` is `this`, `next`, `last` or empty."""
    after = today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    before = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    if which == "next":
        days = [after] if weekday == today.weekday() else [after, after + timedelta(days=7)]
    elif which == "last":
        days = [before, before - timedelta(days=7)] if weekday < today.weekday() else [before]
    elif which == "this":
        days = [today, after] if weekday == today.weekday() else [after]
    elif weekday == today.weekday():
        days = [today, before if tense == "past" else after]
    else:
        days = [before] if tense == "past" else [after] if tense == "future" else [before, after]
    return frozenset(day.isoformat() for day in days)


def is_weekday(day: str, weekday: int) -> bool:
    """Whether the ISO date falls on this weekday (Monday is 0)."""
    return parse_day(day).weekday() == weekday


def shift(day: date, count: int, unit: str) -> str:
    """Return the ISO date `count` days, weeks, fortnights, months or years on."""
    if unit.startswith(("month", "year")):
        return add_months(day, count * (12 if unit.startswith("year") else 1)).isoformat()
    return (day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit.rstrip("s")])).isoformat()


def is_may(text: str, lower: str, start: int) -> bool:
    """Whether the word `may` at `start` is the month, and not the verb. `lower`: the text in small letters."""
    if text[start].isupper() or _MAY_DAY.match(lower, start) or _NTH_OF.search(lower, max(0, start - 12), start):
        return True
    return bool(_BARE_MAY_DAY.match(lower, start) and _MAY_COMPANY.search(lower, max(0, start - 12), start))


class DateText:
    """A date found at a position of a lower-case text."""

    __slots__ = ("bare", "day", "end", "month_only", "readings")

    def __init__(self, readings: Readings, end: int, *, bare: bool = False, day: int = 0, month_only: bool = False):
        self.readings, self.end, self.bare, self.day, self.month_only = readings, end, bare, day, month_only


def date_at(lower: str, position: int, today: date, tense: Tense | None) -> DateText | None:
    """Read a date that names its day at `position`. `bare` marks a lone ordinal, which is a date only in the right
    company."""
    found = _DATE.match(lower, position)
    if not found:
        return None
    end, group = found.end(), found.group
    if group("odd2") or group("odd3"):
        return DateText(frozenset(), end)
    if group("iso"):
        return DateText(_exact(*map(int, group("iso").split("-"))), end)
    if group("year6"):
        return DateText(_exact(*map(int, group("year6", "month6", "day6"))), end)
    if group("month1"):
        month, day = int(group("month1")), int(group("day1"))
        month, day = (day, month) if month > 12 else (month, day)
        return DateText(_month_day(group("year1"), month, day, today, tense), end)
    if group("month2"):
        month, readings = _MONTH_NUMBER[group("month2")], frozenset[str]()
        for text in filter(None, (group("day2"), group("until"))):
            readings |= _month_day(group("year2"), month, day_number(text), today, tense)
        return DateText(readings, end)
    if group("month5"):
        return DateText(frozenset((f"{group('year5')}-{_MONTH_NUMBER[group('month5')]:02}",)), end, month_only=True)
    if group("month3"):
        return DateText(
            _month_day(group("year3"), _MONTH_NUMBER[group("month3")], day_number(group("day3")), today, tense), end
        )
    if group("which"):
        return DateText(_of_month(group("which"), day_number(group("day4")), today, tense), end)
    day = day_number(group("nth"))
    return DateText(nth_readings(day, today, tense), end, bare=True, day=day)


def month_end_at(lower: str, position: int, today: date, tense: Tense | None) -> DateText | None:
    """Read "end of the month", "last day of March" at `position`."""
    found = _MONTH_END.match(lower, position)
    if not found:
        return None
    if not found["month"]:
        offset = {"next": 1, "last": -1}.get(found["which"] or "this", 0)
        first = add_months(today.replace(day=1), offset)
        return DateText(
            frozenset((first.replace(day=calendar.monthrange(first.year, first.month)[1]).isoformat(),)), found.end()
        )
    if found["odd"]:
        return DateText(frozenset(), found.end())
    month = _MONTH_NUMBER[found["month"]]
    years = (int(found["year"]),) if found["year"] else range(today.year - 1, today.year + 2)
    ends = [date(year, month, calendar.monthrange(year, month)[1]) for year in years]
    return DateText(
        _nearest(ends, today, tense, _SAME_YEAR) if not found["year"] else frozenset((ends[0].isoformat(),)),
        found.end(),
    )


def day_number(text: str) -> int:
    """Return the number of `20`, `20th` or `twentieth`."""
    return ORDINALS.get(text) or int(text.rstrip("stndrh"))


def _exact(year: int, month: int, day: int) -> Readings:
    made = _make(year, month, day) if year else None
    return frozenset((made.isoformat(),)) if made else frozenset()


def _month_day(year: str | None, month: int, day: int, today: date, tense: Tense | None) -> Readings:
    if year:
        number = int(year.removeprefix("'"))
        if number < 100:
            number += 2000 if number + 2000 <= today.year + _AHEAD else 1900
        return _exact(number, month, day)
    return month_day_readings(month, day, today, tense)


def _of_month(which: str, day: int, today: date, tense: Tense | None) -> Readings:
    if which == "the":
        return nth_readings(day, today, tense)
    made = _in_month(today, {"this": 0, "next": 1, "last": -1}[which], day)
    return frozenset((made.isoformat(),)) if made else frozenset()
