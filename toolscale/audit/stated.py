"""Whether texts hold a value: an argument of a call, in what was said before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from toolscale.patterns import regex

_NUMBERS = regex(r"\d+(?:\.\d+)?", re.ASCII)
_SPACES = regex(r"[\s_-]+")
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
KEPT = 256
"""Texts that are kept as they are compared: a policy or a database is searched for every argument."""
FREE_TEXT_WORDS = 4
"""A text of so many words is written by the agent, not read off."""


def look_for(value: Any, texts: Sequence[str], path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield the parts of an argument that no text holds: the path, the part, and why it may be right all the same
    (nothing: it is a name, an id, a word that nobody said)."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from look_for(part, texts, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from look_for(part, texts, f"{path}[{place}]")
    elif isinstance(value, bool) or value is None or value == "":
        return
    elif isinstance(value, int | float):
        if not _holds_number(value, texts):
            yield path, value, "is a number that may be counted or computed"
    elif not _holds(str(value), texts):
        yield path, value, _excuse(str(value))


def _holds(value: str, texts: Sequence[str]) -> bool:
    """Whether a text holds a value as a whole: an id that is a part of a longer one is another."""
    wanted = regex(rf"(?<!\w){re.escape(_folded(value))}(?!\w)")
    return any(wanted.search(_folded(text)) for text in texts) or _holds_date(value, texts)


def _excuse(value: str) -> str:
    if re.fullmatch(r"[\d\s.+*/()-]*[\s.+*/()][\d\s.+*/()-]*", value) and _NUMBERS.search(value):
        return "is an expression, or a number that may be computed"
    if len(value.split()) >= FREE_TEXT_WORDS:
        return "is free text, which the agent may put in its own words"
    try:
        date.fromisoformat(value[:10])
    except ValueError:
        return ""
    return "is a date that may be counted from another one"


def _holds_number(value: float, texts: Sequence[str]) -> bool:
    try:
        wanted = Decimal(str(value))
    except InvalidOperation:
        return False
    word = _WORDS[int(value)] if float(value).is_integer() and 0 <= value < len(_WORDS) else None
    for text in texts:
        if wanted in _numbers(text):
            return True
        if word and re.search(rf"\b{word}\b", text, re.IGNORECASE):
            return True
    return False


def _holds_date(value: str, texts: Sequence[str]) -> bool:
    """Whether a date stands in a text in words: May 20, 20 May, 5/20."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return False
    month = rf"(?:{day:%B}|{day:%b})\.?"
    number = rf"0?{day.day}(?:st|nd|rd|th)?"
    forms = rf"\b(?:{month} {number}|{number} (?:of )?{month}|0?{day.month}/0?{day.day})\b"
    return any(re.search(forms, text, re.IGNORECASE) for text in texts)


@lru_cache(KEPT)
def _numbers(text: str) -> frozenset[Decimal]:
    return frozenset(map(Decimal, _NUMBERS.findall(text.replace(",", ""))))


@lru_cache(KEPT)
def _folded(text: str) -> str:
    return _SPACES.sub(" ", text).casefold().strip()
