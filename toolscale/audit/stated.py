"""Whether texts hold a value: an argument of a call, in what was said before it.

A text that no text holds as a whole is looked for in its parts: arguments in JSON, the steps and values of an address
of the web, the entries of a list, the value of `key=value`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from toolscale.dataset.columns import load_cell
from toolscale.language.dates import MONTHS
from toolscale.patterns import regex

_NUMBERS = regex(r"\d+(?:\.\d+)?", re.ASCII)
_SPACES = regex(r"[\s_-]+")
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_ADDRESS = regex(r"[a-z][a-z0-9+.-]*://\S+", re.ASCII | re.IGNORECASE)
_AMOUNT = regex(r"[$€£]\s?([\d,]+(?:\.\d+)?)|([\d,]+(?:\.\d+)?)(?:\s?%|\s([a-z]+))", re.ASCII | re.IGNORECASE)
"""A number with a sign or a word that says of what: `$75.00`, `6300 points`."""
_THOUSANDS = regex(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_PAIR = regex(r"[A-Za-z_][\w.-]*(?:\s*=\s*([^\s=][^=]*)|:\s+(\S+))")
_AROUND = " \t\r'\"()[]{}"
"""What stands around an entry of a list."""
_DAY = regex(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_ISO = regex(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_SHORT = tuple(name[:3] for name in MONTHS)
_MONTH = "|".join((*MONTHS, *_SHORT, "sept"))
_NUMBER = r"\d{1,2})(?:st|nd|rd|th)?"
_WORDED = regex(
    rf"(?:(?P<month>{_MONTH})\.? (?P<day>{_NUMBER}|(?P<earlier>{_NUMBER} (?:of )?(?P<later>{_MONTH})\.?)"
    r"(?:,? (?P<year>\d{4}))?",
    re.ASCII | re.IGNORECASE,
)
"""A day in words: May 20, 2024; 20th of May."""
DEEPEST = 5
"""Texts inside texts that are taken apart."""
KEPT = 256
"""Texts that are kept as they are compared: a policy or a database is searched for every argument."""
FREE_TEXT_WORDS = 4
"""A text of so many words is written by the agent, not read off."""
COMPUTED = "is a number that may be counted or computed"

Lost = tuple[str, Any, str]


class _Day(NamedTuple):
    """A day that is named; the year is 0 where none is."""

    year: int
    month: int
    day: int


def look_for(value: Any, texts: Sequence[str], path: str = "", read: int = 0) -> Iterator[Lost]:
    """Yield the parts of an argument that no text holds: the path, the part, and why it may be right all the same
    (nothing: it is a name, an id, a word that nobody said). `read`: how many texts were taken apart on the way here."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from look_for(part, texts, f"{path}.{name}" if path else str(name), read)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from look_for(part, texts, f"{path}[{place}]", read)
    elif isinstance(value, bool) or value is None or value == "":
        return
    elif isinstance(value, int | float):
        if not _holds_number(value, texts):
            yield path, value, COMPUTED
    elif not _holds(str(value), texts):
        yield from _look_in(str(value), texts, path, read + 1)


def _look_in(value: str, texts: Sequence[str], path: str, read: int) -> Iterator[Lost]:
    """Look for the parts of a text that is not there as a whole."""
    excuse = _excuse(value)
    if read > DEEPEST:
        yield path, value, excuse
    elif (parts := _read(value, texts)) is not None:
        yield from look_for(parts, texts, path, read)
    elif len(entries := _entries(value)) > 1:
        lost = list(look_for(entries, texts, path, read))
        is_prose = excuse and not all(len(part.split()) == 1 or _PAIR.fullmatch(part) for part in entries)
        yield from [(path, value, excuse)] if lost and is_prose else lost
    elif pair := _PAIR.fullmatch(value.strip()):
        yield from look_for((pair[1] or pair[2]).strip(_AROUND), texts, path, read)
    else:
        yield path, value, excuse


def _read(value: str, texts: Sequence[str]) -> Any:
    """Return what a text in JSON or an address says; None if it is neither."""
    if value.lstrip().startswith(("{", "[")):
        try:
            return load_cell(value)
        except (ValueError, RecursionError):
            return None  # it only looks like JSON
    return _steps(value, texts) if _ADDRESS.fullmatch(value) else None


def _entries(value: str) -> list[str]:
    """Return the entries of a list in one text: `A1, B2` or `from=A1&to=B2`."""
    if _THOUSANDS.fullmatch(value):
        return [value]
    separators = r"[,;|&\n]" if "=" in value else r"[,;|\n]"
    return [entry for part in re.split(separators, value) if (entry := part.strip(_AROUND))]


def _steps(address: str, texts: Sequence[str]) -> dict[str, Any] | None:
    """Return what an address says beyond the longest beginning of it that a text holds; None if it is none."""
    try:
        split = urlsplit(address)
    except ValueError:
        return None
    known, steps = split.netloc, [unquote(step) for step in split.path.split("/") if step]
    said: dict[str, Any] = {} if _holds(known, texts) else {"host": known}
    while not said and steps and _holds(f"{known}/{steps[0]}", texts):
        known = f"{known}/{steps.pop(0)}"
    return {**said, "path": steps, **parse_qs(split.query), "fragment": split.fragment}


def _holds(value: str, texts: Sequence[str]) -> bool:
    """Whether a text holds a value as a whole: an id that is a part of a longer one is another."""
    if _holds_text(value, texts) or _holds_date(value, texts):
        return True
    amount = _AMOUNT.fullmatch(value.strip())
    number = _number(amount[1] or amount[2]) if amount else None
    if amount is None or not any(number in _numbers(text) for text in texts):
        return False
    return amount[3] is None or _holds_text(amount[3], texts)


def _holds_text(value: str, texts: Sequence[str]) -> bool:
    wanted = _folded(value)
    whole = regex(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    return any(wanted in folded and whole.search(folded) for folded in map(_folded, texts))  # the first is quick


def _excuse(value: str) -> str:
    if _days(value[:10]) or _days(value):
        return "is a date that may be counted from another one"
    if re.fullmatch(r"[\d\s.+*/()-]*[\s.+*/()][\d\s.+*/()-]*", value) and _NUMBERS.search(value):
        return "is an expression, or a number that may be computed"
    if _AMOUNT.fullmatch(value.strip()):
        return COMPUTED
    return "is free text, which the agent may put in its own words" if len(value.split()) >= FREE_TEXT_WORDS else ""


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None


def _holds_number(value: float, texts: Sequence[str]) -> bool:
    wanted = _number(str(value))
    word = _WORDS[int(value)] if 0 <= value < len(_WORDS) and value == int(value) else None
    for text in texts:
        if wanted in _numbers(text):
            return True
        if word and re.search(rf"\b{word}\b", text, re.IGNORECASE):
            return True
    return False


def _holds_date(value: str, texts: Sequence[str]) -> bool:
    return any(_names(text, day) for day in _days(value) for text in texts)


@lru_cache(KEPT)
def _names(text: str, day: _Day) -> bool:
    """Whether a text names a day in some form: 2024-05-20, May 20, 20 May, 5/20."""
    year = f"{day.year:04}" if day.year else r"\d{4}"
    month, number = rf"(?:{MONTHS[day.month - 1]}|{MONTHS[day.month - 1][:3]})\.?", rf"0?{day.day}(?:st|nd|rd|th)?"
    iso, slashed = rf"{year}-{day.month:02}-{day.day:02}", f"0?{day.month}/0?{day.day}"
    forms = rf"\b(?:{iso}|{month} {number}|{number} (?:of )?{month}|{slashed})\b"
    return re.search(forms, text, re.IGNORECASE) is not None


def _days(value: str) -> list[_Day]:
    """Return the days that a text may name: 5/6/2024 is one of May, or of June."""
    if found := _ISO.fullmatch(value):
        days = [_Day(*map(int, found.groups()))]
    elif found := _DAY.fullmatch(value):
        first, second, year = map(int, found.groups())
        days = [_Day(year, *pair) for pair in {(first, second), (second, first)}]
    elif found := _WORDED.fullmatch(value.strip()):
        month = 1 + _SHORT.index((found["month"] or found["later"]).lower()[:3])
        days = [_Day(int(found["year"] or 0), month, int(found["day"] or found["earlier"]))]
    else:
        return []
    return [day for day in days if _is_day(day.year or 2000, day.month, day.day)]


def _is_day(year: int, month: int, day: int) -> bool:
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


@lru_cache(KEPT)
def _numbers(text: str) -> frozenset[Decimal]:
    return frozenset(map(Decimal, _NUMBERS.findall(text.replace(",", ""))))


@lru_cache(KEPT)
def _folded(text: str) -> str:
    return _SPACES.sub(" ", text).casefold().strip()
