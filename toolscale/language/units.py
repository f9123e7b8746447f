"""Whole numbers with a unit: how they are written, and how a unit beside a number is read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolscale.language.mentions import Mention
from toolscale.patterns import regex

_OTHER: dict[str, re.Pattern[str]] = {
    "kg": regex(r"\s?(?:lbs?|pounds?)\b"),
    "lb": regex(r"\s?(?:kgs?|kilos?|kilograms?)\b"),
    "km": regex(r"\s?(?:mi|miles?)\b"),
    "miles": regex(r"\s?(?:kms?|kilomet(?:er|re)s?)\b"),
    "°c": regex(r"\s?(?:°\s?f\b|degrees?\sfahrenheit\b)"),
    "°f": regex(r"\s?(?:°\s?c\b|degrees?\s(?:celsius|centigrade)\b)"),
}
"""Unit -> the unit of its pair, in which the same figure is another value."""
_ENDING = {"lbs": "lb", "pounds": "lb", "mi": "miles", "mile": "miles"}
_DEGREES = regex(r"\s?(?:°|degrees?\b)\s?")


def with_unit(value: int, unit: str) -> str:
    """Return `12 kg`, `-3 °C`, `60%`."""
    return f"{value:,}{'' if unit == '%' else ' '}{unit}"


def stands_with(lower: str, end: int, units: Iterable[str]) -> bool:
    """Whether one of these units follows what ends there: `5 years`, `a 5-year-old` where numbers of years are told."""
    return any(regex(rf"[\s-]?{re.escape(unit.lower().removesuffix('s'))}s?\b").match(lower, end) for unit in units)


def in_units(lower: str, found: Iterable[Mention], units: Iterable[str]) -> list[Mention]:
    """Read values as facts in these units take them: a percentage is a number where one of them is %, and a number with
    the other unit of a known pair (pounds for kg) is none."""
    known = {_ENDING.get(unit.lower(), unit.lower()) for unit in units}
    if not known:
        return list(found)
    others = [_OTHER[unit] for unit in known if unit in _OTHER]
    read = []
    for mention in found:
        if mention.kind == "percent" and "%" in known:
            readings = frozenset(int(text) for text in mention.readings if str(text).isdigit())
            mention = mention._replace(kind="number", readings=readings)
        elif mention.kind == "number":
            # A reading of degrees ends behind the sign: what follows it says of which scale.
            sign = _DEGREES.search(lower, mention.start, mention.end)
            end = sign.start() if sign else mention.end
            if any(other.match(lower, end) for other in others):
                mention = mention._replace(kind="foreign", readings=frozenset())
        read.append(mention)
    return read
