"""Amounts, counts, percentages and spans of days, as they stand in lower-case text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from toolscale.language.dates import WEEKDAY_PATTERN, WEEKDAYS, Tense, shift, weekday_readings
from toolscale.language.numerals import NUMBER_WORDS_PATTERN, SCALES, parse_number_words
from toolscale.patterns import regex

Found = tuple[str, frozenset[str] | frozenset[int] | frozenset[float], int]
"""Kind, readings, end."""

_FIGURES = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?![.,]?\d)"
_SCALE = (
    r"(?:\s?(?P<scale>k|m)(?!\w)|[ -]"
    r"(?P<scale_word>dozen|hundred|thousand|million|billion|grand)(?![a-z]|\s(?:pianos?|prizes?|openings?|tours?|juries|slams?)\b))?"
)
_CENTS = rf"(?:,?\s+(?:and\s+)?(?P<cents>\d+|{NUMBER_WORDS_PATTERN})\s+cents?\b)?"
_UNIT = rf"""
    (?: (?P<dollars>\s?\$(?!\d)|[\s-](?:us|u\.s\.)\s?dollars?\b|[\s-]dollars?\b|\s?usd\b|\s(?:us\s)?bucks?\b) {_CENTS}
      | (?P<only_cents>\s?¢|[\s-]cents?\b)
      | (?P<foreign>\s?[€£¥]|\s(?:euros?|pounds?|eur|gbp)\b)
      | (?P<percent>\s?%|\s?-?per\s?cent\b|\s?pct\b|\s?bps\b|\sbasis\spoints?\b|\spercentage\spoints?\b)
      | (?P<span>\s(?P<span_unit>days?|weeks?|fortnights?|months?|years?)'?(?P<time>\stime\b)?
          (?:\s(?P<ago>ago|earlier)\b|\sfrom\s(?P<origin>today|now|tomorrow|{WEEKDAY_PATTERN})\b)?)
    )?
"""
_QUANTITY = regex(rf"(?:(?P<figures>{_FIGURES})|(?P<words>{NUMBER_WORDS_PATTERN})){_SCALE}{_UNIT}(?![\w])", re.VERBOSE)
_SIGNED = regex(rf"\$\s?(?P<minus>-?)(?P<figures>{_FIGURES}){_SCALE}(?:\s?usd\b|\sdollars?\b)?{_CENTS}(?!\w)")
_CODED = regex(rf"usd\s?\$?(?P<minus>-?)(?P<figures>{_FIGURES}){_SCALE}(?!\w)")
_GRAND = (
    r"grand(?!\s(?:total|sum|prize|piano|opening|slam|jury"
    r"|finale|tour|hotel|plan|canyon|central|re-?opening|scheme|old|new|idea|gesture)|-)"
)
_MEASURE = regex(
    r"(?P<minus>(?:minus|negative)\s)?(?P<figures>\d{1,3}(?:,\d{3})+|\d+)(?:(?P<degrees>\s?(?:°|degrees?\b)(?:\s?(?:[cf]\b|celsius|fahrenheit))?)"
    r"|(?:kg|km|mm|cm|lbs?|mi)(?!\w))"
)
_MINUS = regex(r"(?<![\w)])-$")
_INDEFINITE = regex(
    rf"""an?\s(?:(?P<money>{_GRAND}|dollar|buck)\b
    | (?P<dozen>dozen)\b
    | (?P<span_unit>day|week|fortnight|month|year)\b(?P<time>'s\stime\b)?
      (?:\s(?P<ago>ago|earlier)\b|\sfrom\s(?P<origin>today|now|tomorrow|{WEEKDAY_PATTERN})\b)?)""",
    re.VERBOSE,
)
_HALF = regex(
    r"half\san?\s(?P<unit>grand|thousand|hundred|million|dozen|dollar)\b(?P<dollars>\s(?:us\s)?(?:dollars?|bucks?)\b)?"
)
_AND_A_HALF = regex(r"\sand\sa\s(?:(?P<half>half)|quarter)(?:\s(?P<scale>hundred|thousand|million|grand|k))?\b")
_OTHER_DOLLARS = regex(
    r"\s?(?:cad|aud|nzd|hkd|sgd|mxn|twd|brl|canadian|australian|new\szealand|singapore|hong\skong|mexican|pesos?)\b"
)
_OTHER_SIGN = regex(r"(?<!\w)(?!us$)[a-z]{1,3}$")
_FINE = regex(r"\.\d\d+0$")
_IN = regex(r"\bin\s(?:about\s|around\s|roughly\s)?$")


@dataclass(frozen=True, slots=True)
class Clock:
    """From when relative dates are counted."""

    today: date
    tense: Tense | None


def quantity_at(lower: str, position: int, clock: Clock) -> Found | None:
    """Read a quantity that begins with figures or a number word at `position`."""
    found = _QUANTITY.match(lower, position)
    if not found:
        return None
    value, group = _value(found), found.group
    if _is_too_fine(found) and not (group("foreign") or group("percent")):
        return "money" if group("dollars") or group("only_cents") else "number", frozenset[int](), found.end()
    if lower.startswith(" and a ", found.end()) and (half := _AND_A_HALF.match(lower, found.end())):
        return "money" if group("dollars") or group("scale_word") == "grand" else "number", frozenset[int](), half.end()
    if group("only_cents"):
        return "money", _whole(value), found.end()
    if group("dollars") or group("scale_word") == "grand":
        return "money", _cents(value, group("cents")), found.end()
    if group("foreign"):
        return "foreign", frozenset[str](), found.end()
    if group("percent"):
        return "percent", frozenset((str(value),)), found.end()
    if group("span"):
        return _span(found, value, lower, position, clock) or ("number", _whole(value), found.start("span"))
    return "number", _whole(value), found.end()


def measure_at(lower: str, position: int) -> Found | None:
    """Read `12kg`, and degrees with their sign: `-3 °C`, `minus 3 degrees`."""
    found = _MEASURE.match(lower, position)
    if not found:
        return None
    value = int(found["figures"].replace(",", ""))
    if found["minus"] and not found["degrees"]:
        return None  # `minus 12kg` takes something off
    below = found["minus"] or (found["degrees"] and _MINUS.search(lower, max(0, position - 2), position))
    return "number", frozenset((-value if below else value,)), found.end()


def money_at(lower: str, position: int) -> tuple[str, frozenset[int], int] | None:
    """Read `$1,240.50`, `$2.5k`, `USD 40` at `position`."""
    found = (_SIGNED if lower[position] == "$" else _CODED).match(lower, position)
    if not found:
        return None
    cents = found.groupdict().get("cents")
    readings = frozenset[int]() if _is_too_fine(found) else _cents(_value(found), cents)
    signed = lower[position] == "$" and lower[position - 1 : position].isalpha()
    if _OTHER_DOLLARS.match(lower, found.end()) or (
        signed and _OTHER_SIGN.search(lower, max(0, position - 4), position)
    ):
        return "foreign", frozenset(), found.end()
    return "money", frozenset(-item for item in readings) if found["minus"] else readings, found.end()


def indefinite_at(lower: str, position: int, clock: Clock) -> Found | None:
    """Read `a grand`, `a dozen`, `a week from today`, `a hundred dollars` at `position`."""
    found = _INDEFINITE.match(lower, position)
    if not found:
        return quantity_at(lower, position, clock)
    if found["money"]:
        whole = 100_000 if found["money"] == "grand" else 100
        if half := _AND_A_HALF.match(lower, found.end()):
            return (
                "money",
                frozenset((whole + whole // (2 if half["half"] else 4),))
                if half["scale"] is None
                else frozenset[int](),
                half.end(),
            )
        return "money", frozenset((whole,)), found.end()
    if found["dozen"]:
        return "number", frozenset((12,)), found.end()
    return _span(found, 1, lower, position, clock)


def half_at(lower: str, position: int) -> Found | None:
    """Read `half a grand`, `half a dozen` at `position`."""
    found = _HALF.match(lower, position)
    if not found:
        return None
    unit = found["unit"]
    whole = 12 if unit == "dozen" else 1 if unit == "dollar" else SCALES[unit]
    if unit in ("grand", "dollar") or found["dollars"]:
        return "money", frozenset((whole * 50,)), found.end()
    return "number", frozenset((whole // 2,)), found.end()


def _value(found: re.Match[str]) -> int | float:
    """Return the number, exact as long as two decimals of the whole can hold it."""
    groups = found.groupdict()
    scale = SCALES[groups["scale"] or groups["scale_word"]] if groups["scale"] or groups["scale_word"] else 1
    if groups.get("words"):
        return parse_number_words(groups["words"]) * scale
    whole, _, decimals = groups["figures"].replace(",", "").partition(".")
    thousandths = int(whole + decimals) * scale
    unit = int("1" + "0" * len(decimals))
    return thousandths // unit if thousandths % unit == 0 else thousandths / unit


def _is_too_fine(found: re.Match[str]) -> bool:
    """Whether a figure has three decimals, the last a zero: `$4.000` is four thousand to some, and four to others."""
    scaled = found["scale"] or found["scale_word"]
    return not scaled and _FINE.search(found["figures"] or "") is not None


def _whole(value: int | float) -> frozenset[int] | frozenset[float]:
    return frozenset((value,))


def _cents(value: int | float, cents: str | None) -> frozenset[int]:
    """Return the cents of an amount in dollars; nothing if it is finer than a cent."""
    rounded = round(value * 100)
    if abs(rounded - value * 100) > 1e-6:
        return frozenset()
    extra = (int(cents) if cents.isdigit() else parse_number_words(cents)) if cents else 0
    return frozenset((rounded + extra,)) if not (cents and rounded % 100) and extra < 100 else frozenset()


def _span(found: re.Match[str], value: int | float, lower: str, position: int, clock: Clock) -> Found | None:
    """Read `two weeks ago`, `in 3 days`, `a week from Friday` as a date; a mere length of time is no date."""
    if not isinstance(value, int) or value > 1_000:
        return None
    if found["ago"]:
        return "date", frozenset((shift(clock.today, -value, found["span_unit"]),)), found.end()
    if found["origin"]:
        days = (shift(day, value, found["span_unit"]) for day in _origin(found["origin"], clock))
        return "date", frozenset(days), found.end()
    if _IN.search(lower, max(0, position - 16), position):
        return "date", frozenset((shift(clock.today, value, found["span_unit"]),)), found.end()
    return None


def _origin(word: str, clock: Clock) -> Sequence[date]:
    if word in WEEKDAYS:
        return [
            date.fromisoformat(day) for day in weekday_readings(WEEKDAYS.index(word), "this", clock.today, clock.tense)
        ]
    return [clock.today + timedelta(days=word == "tomorrow")]
