"""What the pointer model reads, as units: a word, and the text that stands for it in a call.

A date is one unit whatever its form (`March 18th` is `2026-03-18`), an amount is its cents (`$7.25` is `725`), a number
in words its figures. Of an object each key is a unit. What people call it by comes first, then its dates and times, its
numbers, and its ids: when the model reads `free_count` or `class_id` it knows which class that is, and finds it again
with one look.

Two things that a small model does not learn to see are marked in the lists that tools return: which items have most of
what was said (schema linking, as models that write SQL have it: Wang et al. 2020, RAT-SQL), and which numbers are the
least and the largest.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from toolscale.language.dates import date_at, parse_day
from toolscale.language.quantities import Clock, money_at, quantity_at

OPEN, CLOSE, LIST, END_OF_LIST, ROW = "{", "}", "[", "]", "<row>"
"""Around an object that is no row, around a list, and before each of its items."""
SAID, MOST_SAID = "<row:said>", "<row:most-said>"
"""Before an item that a tool shows: it has more of the values that users said than another has; it has the most."""
LEAST, MOST = "<least>", "<most>"
"""After a number that a tool shows: no row of the list has a smaller one, or a larger one."""
NULL, TRUE, FALSE = "<null>", "<true>", "<false>"
KEY, SIZE = ".", "~"
"""Before the name of a key, and before how large a number is."""
SIZES = 300
_STEP = 0.05
"""Numbers that differ by less than this share may have the same size."""
SMALL = 32
"""Smaller numbers are words of their own; their size is not told."""
_NO_ENDS: Mapping[str, tuple[float, float]] = {}
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


def read_json(value: Any, said: Sequence[str] = ()) -> Iterator[Unit]:
    """Yield the units of what a tool returned. `said`: the words of users, which mark the rows of which they spoke."""
    return _members(value, f" {' '.join(said)} ")


def write_json(value: Any) -> Iterator[Unit]:
    """Yield the units of an argument, as the model writes it: keys in the order of the alphabet, numbers without their
    size."""
    return _members(value, None)


def read_content(content: str, said: Sequence[str] = ()) -> Iterator[Unit]:
    """Yield the units of a tool message: JSON, or else words. `said`: the words of users."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):  # lists in lists without end
        return read_text(content)
    return read_json(value, said)


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


def _members(value: Any, said: str | None, ends: Mapping[str, tuple[float, float]] = _NO_ENDS) -> Iterator[Unit]:
    """An object without marks around it, or anything else. `said`: None if the model writes it, and no tool; `ends`: of
    each key the least and the largest number among its neighbours."""
    if not isinstance(value, Mapping):
        yield from _inside(value, said)
        return
    for key in sorted(value, key=lambda name: (0 if said is None else _order(name, value[name]), name)):
        yield mark(KEY + key)
        yield from _inside(value[key], said)
        if key in ends and _is_number(value[key]) and value[key] in ends[key]:
            yield mark(LEAST if value[key] == ends[key][0] else MOST)


def _inside(value: Any, said: str | None) -> Iterator[Unit]:
    if isinstance(value, Mapping):
        yield mark(OPEN)
        yield from _members(value, said)
        yield mark(CLOSE)
    elif isinstance(value, list | tuple):
        yield mark(LIST)
        marks, ends = ([ROW] * len(value), {}) if said is None else (_rows(value, said), _ends(value))
        for item, row in zip(value, marks, strict=True):
            yield mark(row)
            yield from _members(item, said, ends)
        yield mark(END_OF_LIST)
    else:
        yield from _scalar(value)
        if said is not None and _is_large(value):
            yield mark(size_of(value))


def _rows(items: Sequence[Any], said: str) -> list[str]:
    """The mark of each item, by how many of its values were said. Where all have as many, none stands out."""
    counts = [sum(f" {words} " in said for words in _named(item)) for item in items]
    ends = (min(counts, default=0), max(counts, default=0))
    return [ROW if count == ends[0] else MOST_SAID if count == ends[1] else SAID for count in counts]


def _ends(items: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """The least and the largest number of each key, where rows differ in it."""
    numbers: dict[str, list[float]] = {}
    for key, value in (pair for item in items if isinstance(item, Mapping) for pair in item.items()):
        if _is_number(value):
            numbers.setdefault(key, []).append(value)
    return {key: (min(found), max(found)) for key, found in numbers.items() if min(found) < max(found)}


def _named(item: Any) -> set[str]:
    """The words of each value of an item that somebody may call it by: texts, and numbers that are not small."""
    values = item.values() if isinstance(item, Mapping) else [item]
    named = (value for value in values if isinstance(value, str) or _is_large(value))
    return {" ".join(unit.word for unit in _scalar(value)) for value in named} - {""}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_large(value: Any) -> bool:
    return _is_number(value) and abs(value) >= SMALL


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
        return [mark(str(value)), mark(size_of(float(str(value))))], end
    if kind == "number" and lower[start].isalpha():
        return [mark(str(value))], end
    return None
