"""What the pointer model reads, as units: a word, and the text that stands for it in a call.

A date is one unit whatever its form (`March 18th` is `2026-03-18`), an amount is its cents (`$7.25` is `725`), a number
in words its figures. Of an object each key is a unit. What people call it by comes first, then its dates and times, its
numbers, and its ids: when the model reads `free_count` or `class_id` it knows which class that is, and finds it again
with one look.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from toolscale.language.dates import date_at, parse_day
from toolscale.language.quantities import Clock, money_at, quantity_at

OPEN, CLOSE, LIST, END_OF_LIST, ROW = "{", "}", "[", "]", "<row>"
"""Around an object that is no row, around a list, and before each of its items."""
NULL, TRUE, FALSE = "<null>", "<true>", "<false>"
KEY, SIZE = ".", "~"
"""Before the name of a key, and before how large a number is."""
SIZES = 300
_STEP = 0.05
"""Numbers that differ by less than this share may have the same size."""
SMALL = 32
"""Smaller numbers are words of their own; their size is not told."""
_WORD = re.compile(r"\w+(?:[-'’.:]\w+)*|[^\w\s]")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(rf"{_DAY.pattern}|\d\d:\d\d")


class Unit(NamedTuple):
    """One word for the model. `text`: what it is in a call."""

    word: str
    text: str


def read_text(text: str, today: date | None = None) -> Iterator[Unit]:
    """Yield the units of what somebody says; `today` tells what dates without a year mean. Without it nothing but words
    is read."""
    lower, position = text.lower(), 0
    if len(lower) != len(text):  # a letter such as İ becomes two
        lower = text = lower
    while match := _WORD.search(text, position):
        start = match.start()
        found = None if today is None else _value_at(lower, start, today)
        if found is None:
            yield Unit(match[0].lower(), match[0])
            position = match.end()
        else:
            units, position = found
            yield from units


def read_json(value: Any) -> Iterator[Unit]:
    """Yield the units of what a tool returned."""
    return _members(value, shown=True)


def write_json(value: Any) -> Iterator[Unit]:
    """Yield the units of an argument, as the model writes it: keys in the order of the alphabet, numbers without their
    size."""
    return _members(value, shown=False)


def read_content(content: str) -> Iterator[Unit]:
    """Yield the units of a tool message: JSON, or else words."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):  # lists in lists without end
        return read_text(content)
    return read_json(value)


def mark(word: str) -> Unit:
    """A unit that stands for itself."""
    return Unit(word, word)


def size_of(number: float) -> str:
    """How large a number is, as a word: one more for each five per cent."""
    return f"{SIZE}{min(SIZES - 1, round(math.log(max(1.0, abs(number))) / _STEP))}"


def last_day(text: str) -> date | None:
    """The last date with a year that a text has: the clock of a policy."""
    found = (day_of(unit.word) for unit in read_text(text, date(2000, 1, 1)))
    return next((day for day in reversed(list(found)) if day is not None), None)


def day_of(word: str) -> date | None:
    """The date that a word is."""
    try:
        return date.fromisoformat(word) if _DAY.fullmatch(word) else None
    except ValueError:  # 2026-13-45
        return None


def _members(value: Any, shown: bool) -> Iterator[Unit]:
    """An object without marks around it, or anything else. `shown`: by a tool."""
    if not isinstance(value, Mapping):
        yield from _inside(value, shown)
        return
    for key in sorted(value, key=lambda name: (_order(name, value[name]) if shown else 0, name)):
        yield mark(KEY + key)
        yield from _inside(value[key], shown)


def _inside(value: Any, shown: bool) -> Iterator[Unit]:
    if isinstance(value, Mapping):
        yield mark(OPEN)
        yield from _members(value, shown)
        yield mark(CLOSE)
    elif isinstance(value, list | tuple):
        yield mark(LIST)
        for item in value:
            yield mark(ROW)
            yield from _members(item, shown)
        yield mark(END_OF_LIST)
    else:
        yield from _scalar(value)
        if shown and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= SMALL:
            yield mark(size_of(value))


def _order(key: str, value: Any) -> int:
    """The place of a member: words, dates and times, numbers, what is inside, ids."""
    if key == "id" or key.endswith("_id"):
        return 4
    if isinstance(value, Mapping | list | tuple):
        return 3
    return 1 if isinstance(value, str) and _TIME.match(value) else 0 if isinstance(value, str) else 2


def _scalar(value: Any) -> Iterator[Unit]:
    if value is None:
        yield mark(NULL)
    elif isinstance(value, bool):
        yield mark(TRUE if value else FALSE)
    elif isinstance(value, int | float):
        yield mark(str(value))
    else:
        yield from read_text(str(value))


def _value_at(lower: str, start: int, today: date) -> tuple[list[Unit], int] | None:
    """A date, an amount or a number in words that begins here: its units, and where it ends."""
    day = date_at(lower, start, today, None)
    if day is not None and day.readings and not day.month_only and (not day.bare or lower[start].isdigit()):
        return [mark(min(day.readings, key=lambda each: abs((parse_day(each) - today).days)))], day.end
    coded = lower[start] == "$" or lower.startswith("usd", start)
    found = money_at(lower, start) if coded else quantity_at(lower, start, Clock(today, None))
    if found is None or len(found[1]) != 1:
        return None
    kind, values, end = found
    value = next(iter(values))
    if kind == "money":
        return [mark(str(value)), mark(size_of(float(value)))], end
    if kind == "number" and lower[start].isalpha():
        return [mark(str(value))], end
    return None
