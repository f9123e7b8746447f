"""Typed mentions: what values a text names, of which kind, and how firmly.

One pass over the words of the text; only a word that can begin a value is looked at again, by the one pattern for it.
Kinds that tasks use: `id`, `date`, `time`, `duration`, `money`, `number`, `digits`. Kinds that exist so that their
figures are not taken for numbers: `percent`, `foreign` (another currency), `month`, `ordinal`, `marker` (of a list). An
ambiguous form has several readings; a form that means nothing has none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from toolscale.language.dates import (
    AFTER_A_DAY,
    MONTH_WORDS,
    WEEKDAYS,
    DateText,
    Tense,
    date_at,
    is_may,
    is_weekday,
    month_end_at,
    parse_day,
    shift,
    weekday_readings,
)
from toolscale.language.numerals import NUMBER_WORDS, ORDINALS
from toolscale.language.qualifiers import Qualifier, qualifier_at
from toolscale.language.quantities import (
    Clock,
    half_at,
    indefinite_at,
    measure_at,
    money_at,
    quantity_at,
)
from toolscale.language.times import other_length_at, time_at
from toolscale.patterns import regex


class Mention(NamedTuple):
    """A value that stands in a text from `start` to `end`. A hedge (`about`) never states a value, a bound (`under`)
    states a threshold at most, and a value that is `denied` (`not $5`) is not said to hold."""

    kind: str
    """id, date, money, number, digits, time, percent, foreign, month, duration, ordinal or marker."""
    readings: frozenset[Any]
    qualifier: Qualifier | None
    start: int
    end: int


Found = tuple[str, frozenset[Any], int]

_WORD = regex(r"([a-z]+)(?!\w)|\w+|\$")
_ID = regex(r"[a-z][a-z0-9]*_[a-z0-9]+(?:_[a-z0-9]*\d[a-z0-9]*)?(?![\w])|[a-z]{1,6}-?\d{2,}(?:-\d+)*(?!\w)")
_UPPER_ID = regex(r"[A-Z]{1,6}-\d{2,}(?:-\d+)*(?!\w)")
_JOINED = regex(r"\d+(?:-\d+)+(?!\w)")
_RANGE = regex(r"(\d{1,3})\s?[-–]\s?(\d{1,3})(?![\w-]|\.\d)")
_PLAIN_DIGITS = regex(r"\d{2,12}(?![\w]|[.,]\d)")
_FOREIGN = "€£¥"
_NUMERAL = regex(r"[\d.,]*\d")
_CARD = regex(
    r"(?:\bend(?:s|ed|ing)?(?:\s+(?:in|with|on))?|\blast\s+(?:four|4)(?:\s+digits)?(?:\s+of)?(?:\s+(?:are|is|being))?|[*•·]{2,}|\bx{2,}"
    r"|\b(?:cards?|visa|mastercard|amex)(?:\s+(?:number|no\.?))?)[\s:(#*-]*$"
)
_LAST_FOUR = regex(r"\blast\s+$")
_MARKER = regex(r"(?:\d{1,2}[.)](?=\s)|\d{1,2}(?=\s?[.:)]\s?\*))")
_INLINE_MARKER = regex(r"\d{1,2}\)(?=\s)")
_MARKED = regex(r"(?:^|\n)[ \t>]*(?:\*\*)?$")
_STEP = regex(r"\bstep\s+$")
_NO_COUNT_BEFORE = frozenset((
    "this", "that", "the", "which", "each", "every", "no", "any", "another", "other", "only", "new", "old", "last",
    "next", "first", "right", "wrong",
))  # fmt: skip
_NO_COUNT_AFTER = regex(
    r"\s+(?:of\s+(?:the|your|my|our|them|these|those)|moment|more\s+thing|last\s+thing|by\s+one|another)\b"
)
_DAY_COMPANY = regex(r"\b(?:the|on|of)\s+$")
_FIRM_DAY_COMPANY = regex(r"\b(?:on|by|until|from|before|after|since|till)\s+the\s+$")
_NEXT_WORD = regex(r"\s+([a-z]+)")
_WHICH = regex(rf"(?:coming\s+|upcoming\s+)?({'|'.join(WEEKDAYS)})\b")
_MOMENT = regex(r"\d{4}-\d\d-\d\dt((?:[01]\d|2[0-3]):[0-5]\d)")
_SENTENCE_ENDS = regex(r"\s*(?:$|\n)|\s+[\"'(]?[A-Z]")
_DAYS_APART = regex(r"day\s+(?:(after\s+tomorrow)|before\s+yesterday)\b")
_TO_THE_DATE = regex(r"(?:\s*[,(]\s*|\s+)(?:on\s+)?(?:the\s+)?")
_TO_THE_WEEKDAY = regex(
    rf"\s*(?:\(|,\s*(?:a\s+)?)(?:which is a\s+)?({'|'.join(WEEKDAYS)})\b"
    rf"(?!,? (?:the|{'|'.join(sorted(MONTH_WORDS))}|\d))"
)
_SHORT_WEEKDAY = {name[:3]: index for index, name in enumerate(WEEKDAYS)} | {
    "tues": 1,
    "thur": 3,
    "thurs": 3,
    "weds": 2,
}
_ALTERNATIVE = regex(
    r"\s*(?:,?\s*\(?(?:or|and/or)\s+(?:(?:maybe|perhaps|possibly|even|it|is|could|be|else)\s+){0,4}|/)\s*$"
)
_SPREAD = regex(r"\s*(?:-|–|—|to|through)\s*$")
_MOVED = regex(
    r"\b(?:chang|mov|rais|increas|decreas|reduc|lower|went|go(?:es|ne)|dropp|rose|fell|updat|reschedul|adjust|up|down)\w*\b.{0,40}\bfrom\s+$"
)


_DATED = frozenset(("date", "ordinal", "month"))
"""What may be another value under another tense."""


def mentions(text: str, today: str, tense: Tense | None = None) -> tuple[Mention, ...]:
    """Return all values that `text` names, in order; dates are read as said on `today`."""
    found, is_dated = _mentions(text, today, None)
    return _mentions(text, today, tense)[0] if is_dated and tense is not None else found


@lru_cache(maxsize=1024)
def _mentions(text: str, today: str, tense: Tense | None) -> tuple[tuple[Mention, ...], bool]:
    """Return the values, and whether they may be others under another tense: whether there is any date."""
    lower = lower_keeping_length(text)
    scan = _Scan(text, lower, Clock(parse_day(today), tense))
    found: list[Mention] = []
    end = 0
    for word in _WORD.finditer(lower):
        start = word.start()
        if start < end:
            continue
        name = word[1]
        if name is None:
            hit = scan.figures(start, found)
        elif name in _TRIGGERS:
            hit = _TRIGGERS[name](scan, start)
        elif lower[word.end() : word.end() + 1] == "-":
            hit = scan.upper_id(start)
        else:
            continue
        if hit is not None:
            kind, readings, end = hit
            firm = qualifier_at(lower, start, end)
            if kind == "date" and (moment := _MOMENT.match(lower, start, end)):
                found.append(Mention(kind, readings, firm, start, moment.start(1) - 1))
                kind, readings, start = "time", frozenset((moment[1],)), moment.start(1)
            found.append(Mention(kind, readings, firm, start, end))
    return tuple(_alternatives(found, lower)), any(mention.kind in _DATED for mention in found)


def lower_keeping_length(text: str) -> str:
    """Return `text` in lower case with plain apostrophes and minus signs, every character at its place."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return (
        lower if lower.isascii() else lower.replace("’", "'").replace("−", "-").replace("\u00a0", " ").replace("‑", "-")
    )


def is_said_of_a_card(lower: str, start: int) -> bool:
    """Whether the words before `start` say that digits are the number of a card, or its last ones."""
    return _CARD.search(lower, max(0, start - 32), start) is not None


def _alternatives(found: list[Mention], lower: str) -> list[Mention]:
    """Hedge both sides of `$5 or $6`, `between $5 and $6`, and of amounts in `$5 to $6`: neither is stated."""
    for index in range(len(found) - 1, 0, -1):
        left, right = found[index - 1], found[index]
        if (
            left.kind != right.kind
            or left.qualifier
            or right.qualifier not in (None, "hedge")
            or right.start - left.end > 40
        ):
            continue
        between = lower[left.end : right.start]
        listed = (
            between.strip() == ","
            and index + 1 < len(found)
            and right.qualifier == "hedge"
            and found[index + 1].qualifier == "hedge"
        )
        spread = (
            left.kind in ("money", "number", "duration")
            and _SPREAD.match(between)
            and not _MOVED.search(lower, max(0, left.start - 60), left.start)
        )
        between_two = between.strip() == "and" and lower[max(0, left.start - 8) : left.start] == "between "
        if listed or spread or between_two or _ALTERNATIVE.match(between):
            found[index - 1], found[index] = left._replace(qualifier="hedge"), right._replace(qualifier="hedge")
    return found


class _Scan:
    """The text being read, with one method for each way in which a value begins."""

    __slots__ = ("clock", "lower", "text")

    def __init__(self, text: str, lower: str, clock: Clock):
        self.text, self.lower, self.clock = text, lower, clock

    def figures(self, start: int, before: list[Mention]) -> Found | None:
        """Read what begins with a digit or a dollar sign, or a word with digits in it."""
        lower = self.lower
        first = lower[start]
        if first == "$":
            return self.dollars(start)
        if not first.isdigit():
            return self.identifier(start)
        if lower[start - 1 : start] in (".", ",") and lower[max(0, start - 2) : start - 1].isdigit():
            return None  # the tail of a figure in another locale's writing: 1.160,10
        if lower[start - 1 : start] in _FOREIGN and start:
            end = _NUMERAL.match(lower, start)
            return "foreign", frozenset(), end.end() if end else start + 1
        digits = _PLAIN_DIGITS.match(lower, start)
        if digits and self._ends_a_card(digits, before):
            return "digits", frozenset((digits[0],)), digits.end()
        if (time := time_at(lower, start)) is not None:
            return self._without_stop(time)
        if _STEP.search(lower, max(0, start - 8), start) and (numeral := _NUMERAL.match(lower, start)):
            return "marker", frozenset(), numeral.end()
        if (marker := _MARKER.match(lower, start)) and _MARKED.search(lower, max(0, start - 12), start):
            return "marker", frozenset(), marker.end()
        if (marker := _INLINE_MARKER.match(lower, start)) and lower.rfind("(", 0, start) <= lower.rfind(")", 0, start):
            return "marker", frozenset(), marker.end()
        if (day := date_at(lower, start, self.clock.today, self.clock.tense)) is not None and self._may_is_a_month(
            day, start
        ):
            return self._day(day, start)
        if found := _RANGE.match(lower, start):
            return "number", frozenset((int(found[1]), int(found[2]))), found.end()
        if joined := _JOINED.match(lower, start):
            return "digits", frozenset((joined[0],)), joined.end()
        if length := other_length_at(lower, start):
            return length
        if digits and digits[0][0] == "0":
            return "digits", frozenset((digits[0],)), digits.end()
        if _LAST_FOUR.search(lower, max(0, start - 8), start):
            return "marker", frozenset(), start + 1
        return measure_at(lower, start) or quantity_at(lower, start, self.clock)

    def _ends_a_card(self, digits: re.Match[str], before: list[Mention]) -> bool:
        start = digits.start()
        if is_said_of_a_card(self.lower, start):
            return len(digits[0]) == 4 or bool(re.search(r"end|[*•·x]|last", self.lower[max(0, start - 32) : start]))
        if not before or before[-1].kind != "digits" or len(digits[0]) != before[-1].end - before[-1].start:
            return False
        return re.fullmatch(r",?\s*(?:and|or|&|,)\s*(?:the\s+one\s+)?", self.lower[before[-1].end : start]) is not None

    def dollars(self, start: int) -> Found | None:
        """Read `$5`, `-$5`, `minus $5`."""
        found = money_at(self.lower, start)
        before = self.lower[max(0, start - 13) : start]
        minus = before.endswith("-") and (len(before) == 1 or not before[-2].isalnum()) and not before.endswith("--")
        if found and (minus or before.endswith(("minus ", "negative ", "overdrawn by "))):
            return "money", frozenset(-item for item in found[1]), found[2]
        return found

    def coded(self, start: int) -> Found | None:
        """Read `USD 40`."""
        return money_at(self.lower, start)

    def identifier(self, start: int) -> Found | None:
        """Read `tx_ab12`, `INV2041`, `usd40`."""
        if self.lower.startswith("usd", start) and (found := self.coded(start)):
            return found
        found_id = _ID.match(self.lower, start)
        return ("id", frozenset((self.text[start : found_id.end()],)), found_id.end()) if found_id else None

    def upper_id(self, start: int) -> Found | None:
        """Read `INV-2041`."""
        found = _UPPER_ID.match(self.text, start)
        return ("id", frozenset((found[0],)), found.end()) if found else None

    def number(self, start: int) -> Found | None:
        """Read a number in words; `two-factor`, `that one` and `one of them` count nothing."""
        if (time := time_at(self.lower, start)) is not None:
            return self._without_stop(time)
        found = quantity_at(self.lower, start, self.clock)
        if found is None:
            return None
        kind, _, end = found
        if kind == "number":
            if self.lower[end : end + 1] == "-":
                return None
            if self.lower[start:end] == "one":
                before = self.lower[max(0, start - 12) : start].split()
                if (before and before[-1] in _NO_COUNT_BEFORE) or _NO_COUNT_AFTER.match(self.lower, end):
                    return None
            if self.lower[start:end] == "four" and _LAST_FOUR.search(self.lower, max(0, start - 8), start):
                return None
        return found

    def indefinite(self, start: int) -> Found | None:
        """Read what begins with `a`."""
        return time_at(self.lower, start) or indefinite_at(self.lower, start, self.clock)

    def half(self, start: int) -> Found | None:
        """Read what begins with `half` or `quarter`."""
        return time_at(self.lower, start) or half_at(self.lower, start)

    def time(self, start: int) -> Found | None:
        """Read `noon`, `midnight`."""
        return time_at(self.lower, start)

    def minus(self, start: int) -> Found | None:
        """Read `minus 3 degrees`."""
        return measure_at(self.lower, start)

    def _without_stop(self, found: Found) -> Found:
        """Leave the full stop of `p.m.` to the sentence that it ends."""
        kind, readings, end = found
        ends = self.lower[end - 1] == "." and _SENTENCE_ENDS.match(self.text, end)
        return kind, readings, end - 1 if ends else end

    def month(self, start: int) -> Found | None:
        """Read `March 20th`."""
        if self.lower.startswith("may", start) and not is_may(self.text, self.lower, start):
            return None
        found = date_at(self.lower, start, self.clock.today, self.clock.tense)
        if found is None:
            return None
        return ("month", found.readings, found.end) if found.month_only else self._day(found, start)

    def ordinal(self, start: int) -> Found | None:
        """Read `the first of April`, `on the twentieth`."""
        found = date_at(self.lower, start, self.clock.today, self.clock.tense)
        if found is None or not self._may_is_a_month(found, start):
            return None
        if found.bare and found.day <= 10 and not _FIRM_DAY_COMPANY.search(self.lower, max(0, start - 14), start):
            return None
        return self._day(found, start) if not found.bare or self._is_a_day(found, start) else None

    def ordinal_or_number(self, start: int) -> Found | None:
        """Read `twenty-first of April`, `twenty dollars`."""
        return self.ordinal(start) or self.number(start)

    def weekday(self, start: int) -> Found | None:
        """Read `Friday`, `Friday, March 20`, `Friday the 20th`."""
        return self._weekday(start, start, "")

    def short_weekday(self, start: int) -> Found | None:
        """Read `Fri, Mar 20`; alone it is no date (`sat`, `sun`)."""
        name = _WORD.match(self.lower, start)
        end = name.end() if name else start
        weekday = _SHORT_WEEKDAY[self.lower[start:end]]
        day = self._date_after(end + self.lower.startswith(".", end))
        return self._both(weekday, frozenset(), day) if day and self.text[start].isupper() else None

    def relative_weekday(self, start: int) -> Found | None:
        """Read `next Friday`, `this coming Friday`, `last Friday`, `last day of March`."""
        which = self.lower[start : start + 4]
        found = _WHICH.match(self.lower, start + 5)
        if found:
            return self._weekday(start, found.start(1), which)
        return self.end_of_month(start) if which == "last" else None

    def end_of_month(self, start: int) -> Found | None:
        """Read `end of the month`, `month's end`."""
        found = month_end_at(self.lower, start, self.clock.today, self.clock.tense)
        return ("date", found.readings, found.end) if found else None

    def near_day(self, start: int) -> Found | None:
        """Read `today`, `tomorrow`, `yesterday`."""
        word = _WORD.match(self.lower, start)
        end = word.end() if word else start
        offset = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}[self.lower[start:end]]
        return "date", frozenset((shift(self.clock.today, offset, "day"),)), end

    def days_apart(self, start: int) -> Found | None:
        """Read `day after tomorrow`, `day before yesterday`."""
        found = _DAYS_APART.match(self.lower, start)
        return (
            ("date", frozenset((shift(self.clock.today, 2 if found[1] else -2, "day"),)), found.end())
            if found
            else None
        )

    def _weekday(self, start: int, name_start: int, which: str) -> Found:
        name = _WORD.match(self.lower, name_start)
        end = name.end() if name else name_start
        weekday = WEEKDAYS.index(self.lower[name_start:end])
        readings = weekday_readings(weekday, which, self.clock.today, self.clock.tense)
        day = self._date_after(end)
        if day is None:
            return "date", readings, end
        return self._both(weekday, readings if which in ("next", "last") else frozenset(), day)

    def _date_after(self, end: int) -> DateText | None:
        gap = _TO_THE_DATE.match(self.lower, end)
        day = date_at(self.lower, gap.end(), self.clock.today, self.clock.tense) if gap else None
        if day is None or not gap or day.month_only or not self._may_is_a_month(day, gap.end()):
            return None
        if day.bare and not gap[0].endswith("the ") and not self.lower[gap.end()].isdigit():
            return None
        return day

    def _both(self, weekday: int, readings: frozenset[str], day: DateText) -> Found:
        """Intersect a weekday with a date; if they contradict each other, all readings stand and none is stated. A date
        that is none stays none."""
        dates = day.readings
        if not dates:
            return "date", dates, day.end
        if day.bare:
            dates |= frozenset(item for item in readings if int(item[8:]) == day.day)
        agreed = frozenset(item for item in dates if is_weekday(item, weekday) and (not readings or item in readings))
        if not agreed:
            agreed = dates | readings | frozenset(weekday_readings(weekday, "", self.clock.today, self.clock.tense))
        return "date", agreed, day.end

    def _day(self, day: DateText, start: int) -> Found:
        if day.bare and not self._is_a_day(day, start):
            return "ordinal", frozenset(), day.end
        if not day.readings and "/" in self.lower[start : day.end]:
            return "ordinal", frozenset(), day.end
        trailing = None if day.bare else _TO_THE_WEEKDAY.match(self.lower, day.end)
        if trailing:
            kind, readings, _ = self._both(WEEKDAYS.index(trailing[1]), frozenset(), day)
            return kind, readings, trailing.end()
        return "date", day.readings, day.end

    def _is_a_day(self, day: DateText, start: int) -> bool:
        if not _DAY_COMPANY.search(self.lower, max(0, start - 6), start):
            return False
        following = _NEXT_WORD.match(self.lower, day.end)
        return following is None or following[1] in AFTER_A_DAY

    def _may_is_a_month(self, day: DateText, start: int) -> bool:
        found = re.search(r"\bmay\b", self.lower[start : day.end])
        return found is None or is_may(self.text, self.lower, start + found.start())


_TRIGGERS = (
    dict.fromkeys(NUMBER_WORDS, _Scan.number)
    | dict.fromkeys((word for word in ORDINALS if word.isalpha()), _Scan.ordinal)
    | dict.fromkeys(MONTH_WORDS, _Scan.month)
    | dict.fromkeys(WEEKDAYS, _Scan.weekday)
    | dict.fromkeys(_SHORT_WEEKDAY, _Scan.short_weekday)
    | dict.fromkeys(("this", "next", "last"), _Scan.relative_weekday)
    | dict.fromkeys(("today", "tonight", "tomorrow", "yesterday"), _Scan.near_day)
    | dict.fromkeys(("a", "an"), _Scan.indefinite)
    | dict.fromkeys(("half", "quarter"), _Scan.half)
    | dict.fromkeys(("minus", "negative"), _Scan.minus)
    | dict.fromkeys(("noon", "midday", "midnight"), _Scan.time)
    | {"usd": _Scan.coded, "end": _Scan.end_of_month, "month": _Scan.end_of_month, "day": _Scan.days_apart}
)
_TRIGGERS |= dict.fromkeys(("twenty", "thirty"), _Scan.ordinal_or_number)
