"""Times of day and lengths of time: what stands in lower-case text, read as `HH:MM` and as whole minutes.

A time without am or pm, whose hour is 1 to 12 and has no zero before it, has two readings. What is a time or a length
and means none that can be told (`24/7`, `5 minutes ago`, a wait of 30 days) has no reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolscale.language.numerals import NUMBER_WORDS_PATTERN, TEENS, UNITS, parse_number_words
from toolscale.patterns import regex

Found = tuple[str, frozenset[str] | frozenset[int], int]
"""Kind, readings, end."""

HALF_DAY, DAY = 720, 1440

_HOURS = (*UNITS[1:], *TEENS[:3])
_HOUR = rf"(?:\d{{1,2}}|{'|'.join(sorted(_HOURS, key=len, reverse=True))})(?![\w])"


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


_PARTS = r"(?:morning|afternoon|evening)"
_SAID = rf"\s?in\sthe\s(?:early\s)?(?P<part>{_PARTS})\b|\s?at\s(?P<night>night)\b"
_HALF = r"\s?(?P<half>[ap])(?:\.m\b\.?|m\b)"
_SURE = rf"(?:{_HALF}|(?=\s?o'clock\b|{_unnamed(_SAID)})(?:\s?o'clock\b)?(?:{_SAID})?)"
"""What makes a bare hour a time."""
_CLOCK = regex(
    rf"(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d)(?::\d\d(?!\d))?|(?<=\d\d)h(?P<minute_h>\d\d))(?!\d|:\d|[b-oq-z])"
    rf"(?:{_HALF}|{_SAID})?(?!\w)"
)
_DOTTED = regex(rf"(?P<hour>\d{{1,2}})\.(?P<minute>\d\d){_SURE}")
_BARE = regex(rf"(?P<hour>\d{{1,2}}(?=[ap]\.?m)|{_HOUR}){_SURE}")
_IN_RANGE = regex(
    rf"(?P<hour>\d{{1,2}})(?=(?:\s?[-–]\s?|\s(?:to|and|until|or)\s)\d{{1,2}}(?::\d{{2}})?{_unnamed(_SURE)})"
)
_ALWAYS = regex(r"24/7(?!\w)")
_WRITTEN_H = regex(r"(?P<hour>\d{1,2})h(?P<minute>\d\d)?\b")
_STEPS = {"half": 30, "quarter": 15}
_PAST_THE_HOUR = regex(
    rf"(?:a\s)?(?:(?P<step>half|quarter)\s|(?P<count>\d{{1,2}}|{NUMBER_WORDS_PATTERN})\s(?P<unit>minutes?\s)?)"
    rf"(?P<way>past|to|after|before)\s(?P<hour>{_HOUR}){_SURE}?"
)
_HALF_PAST = regex(r"half\s(?:past|to)\b")
_NAMED = regex(r"(?:(?:12|twelve)\s)?(?P<name>noon|midday|midnight)\b(?!\s(?:snack|mass))")
_NAMES = {"noon": 720, "midday": 720, "midnight": 0}
_PART_AFTER = regex(
    rf"\s(?:(?P<tonight>tonight)\b|(?:this|today|tomorrow|yesterday|\w+day)\s(?P<part>{_PARTS}|night)\b)"
)
_PART_BEFORE = regex(rf"\b(?P<part>{_PARTS}|tonight)\b,?\s(?:(?:at|around|from|by|before|after)\s)?$")
_AT = regex(r"(?:\b(?P<verb>\w+)\s+|^|\W)(?:at|until|till)\s+$")
_STANDING = frozenset((
    "stands", "stand", "stood", "standing", "remains", "remain", "remained",
    "sits", "stays", "stay", "count", "total", "limit", "number", "limited", "capped", "set", "comes", "come", "came",
    "amounts", "now", "unchanged", "kept", "keep", "put", "left", "valued", "rated", "fixed", "still", "currently",
))  # fmt: skip
"""Before `at 9`: words after which that is a count, and no time."""
_HOUR_ENDS = regex(
    r"\s*(?:[.,;!?)]+(?!\d)|$)|\s(?:for|today|tonight|tomorrow|yesterday|sharp|instead|please|this\s\w+|next\s\w+"
    rf"|on\s\w+day|on\sthe|in\sthe\s{_PARTS})\b"
)

_COUNT = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?![.,]?\d)|{NUMBER_WORDS_PATTERN}"
_MINUTES = r"(?:minutes?|mins?)(?![a-z])"
_HOURS_WORD = r"(?:hours?|hrs?)(?![a-z])"
_SPAN = regex(
    rf"""(?:(?P<hours>{_COUNT}|an?(?=\s))(?P<more>\s(?:1/2|and\sa(?:n)?\s(?:half|quarter)|and\sthree\squarters))?
            (?:[\s-]{_HOURS_WORD}|(?<=\d)\s?(?:{_HOURS_WORD}|h(?![a-z\d])))
            (?:(?P<then>\sand\sa\s(?:half|quarter)|\sand\sthree\squarters)\b
              |(?:,?\sand\s|,\s|[\s-])?(?P<rest>{_COUNT}|a)(?:[\s-]{_MINUTES}|(?<=\d)\s?(?:{_MINUTES}|m(?![\w])))
              |(?<=[\d\s]h)\s(?P<rest_h>[0-5]\d)(?!\w|[:.,/-]\d|\s?[%$€£])
              |\s?(?P<bare>\d\d?)(?!\w|[:.,/-]\d|\s?[%$€£]|\s(?!and\b|in\b|from\b|for\b|to\b|by\b|on\b|at\b|total\b)\w))?
          |(?P<compact>\d{{1,2}})h(?P<compact_rest>\d\d)(?:\s?(?:{_MINUTES}|m(?!\w)))?(?!\w)
          |(?P<colon>[1-9]):(?P<colon_rest>[0-5]\d)\s?(?:h(?!\w)|{_HOURS_WORD})
          |(?P<minutes>{_COUNT})(?:[\s-]{_MINUTES}|(?<=\d)\s?{_MINUTES})
       )(?P<ago>\s(?:ago|earlier)\b)?""",
    re.VERBOSE,
)
_BETWEEN = regex(
    rf"(?P<one>{_COUNT})(?:\s?[-–]\s?|\s(?P<way>to|or|and)\s)(?P<two>{_COUNT})[\s-]?(?:(?P<hour>{_HOURS_WORD}|h(?!\w))|{_MINUTES})",
)
_NAMED_SPAN = regex(
    r"(?:an?\s)?(?P<half>half[\s-](?:an?[\s-])?hour)s?\b|(?:an?\s|(?P<many>three|3)\s)?quarters?[\s-](?:of\san[\s-])?hours?\b"
)
_IN_HOURS = regex(rf"\s?(?:h(?!\w)|{_HOURS_WORD})")
_OTHER_LENGTH = regex(r"(?:\d+|[a-z]+)-(?:second|day|week|month|year)s?\b")
_RATE = regex(r"(?:\d|\b(?:dollars?|cents?|euros?|pounds?|bucks?|percent|times?|once|twice|miles?|km|kilometers?))\s$")
_FRACTIONS = {"half": 30, "1/2": 30, "a quarter": 15, "quarters": 45}


def time_at(lower: str, position: int) -> Found | None:
    """Read a time of day or a length of time that begins at `position`."""
    if (spread := _spread_at(lower, position)) is not None:
        return spread
    for read in (_clock_at, _span_at):
        if (found := read(lower, position)) is not None:
            return found
    return None


def other_length_at(lower: str, position: int) -> Found | None:
    """Read a length in other units than minutes and hours, which is told as none: `30-day`, `two-week`."""
    found = _OTHER_LENGTH.match(lower, position)
    return ("duration", frozenset[int](), found.end()) if found else None


def _clock_at(lower: str, position: int) -> Found | None:
    if found := _ALWAYS.match(lower, position):
        return "time", frozenset[str](), found.end()
    if found := _NAMED.match(lower, position):
        return "time", frozenset((clock_text(_NAMES[found["name"]]),)), found.end()
    if found := _PAST_THE_HOUR.match(lower, position):
        minutes = _STEPS.get(found["step"]) or _number(found["count"])
        if found["step"] or (found["way"] == "past" and minutes % 5 == 0) or found["unit"]:
            back = found["way"] in ("to", "before")
            return _time(lower, position, found, -minutes if back else minutes)
    if found := _HALF_PAST.match(lower, position):
        return "time", frozenset[str](), found.end()
    if found := _CLOCK.match(lower, position):
        if len(found["hour"]) == 1 and _IN_HOURS.match(lower, found.end()):
            return None  # `1:20 hours`, but `14:05 hrs`
        return _time(lower, position, found, int(found["minute"] or found["minute_h"]))
    if found := _DOTTED.match(lower, position):
        return _time(lower, position, found, int(found["minute"]))
    if found := _BARE.match(lower, position) or _IN_RANGE.match(lower, position):
        return _time(lower, position, found, 0)
    return _hour_at(lower, position)


def _hour_at(lower: str, position: int) -> Found | None:
    """Read `at 9`, `until nine`, `at 9h30`: after such a word alone a bare hour is a time."""
    before = _AT.search(lower, max(0, position - 24), position)
    if before is None or before["verb"] in _STANDING:
        return None
    if (found := _WRITTEN_H.match(lower, position)) is not None:
        return _time(lower, position, found, int(found["minute"] or 0))
    found = _BARE_HOUR.match(lower, position)
    if found is None or not 1 <= _number(found["hour"]) <= 24 or not _HOUR_ENDS.match(lower, found.end()):
        return None
    return _time(lower, position, found, 0)


_BARE_HOUR = regex(rf"(?P<hour>{_HOUR})(?![:.,/-]\d)")


def _time(lower: str, position: int, found: re.Match[str], minutes: int) -> Found:
    """Return the readings of an hour with so many minutes past it (negative: to it)."""
    groups, end = found.groupdict(), found.end()
    hour = _number(groups["hour"])
    if hour > 24 or minutes > 59 or (hour == 24 and minutes):
        return "time", frozenset[str](), end
    named = groups.get("part") or groups.get("night")
    side = {"a": "morning", "p": "afternoon"}.get(groups.get("half") or "") or named or _part(lower, position, end)
    if hour == 0 or hour > 12 or groups["hour"].startswith("0"):
        wrong = side is not None and groups.get("half") == "a" and hour > 12
        return "time", frozenset[str]() if wrong else frozenset((clock_text(hour * 60 + minutes),)), end
    first = hour % 12 * 60 + minutes
    if side is None:
        return "time", frozenset((clock_text(first), clock_text(first + HALF_DAY))), end
    late = side in ("afternoon", "evening") or (side in ("night", "tonight") and 5 <= hour < 12)
    return "time", frozenset((clock_text(first + HALF_DAY * late),)), end


def _part(lower: str, position: int, end: int) -> str | None:
    """Return the part of the day that is said around a time: `9:30 tomorrow morning`, `this evening at 7`."""
    if after := _PART_AFTER.match(lower, end):
        return after["tonight"] or after["part"]
    before = _PART_BEFORE.search(lower, max(0, position - 24), position)
    return before["part"] if before else None


def _span_at(lower: str, position: int) -> Found | None:
    if found := _NAMED_SPAN.match(lower, position):
        length = 30 if found["half"] else 45 if found["many"] else 15
        return "duration", frozenset((length,)), found.end()
    found = _SPAN.match(lower, position)
    if found is None:
        return None
    if found["hours"] in ("a", "an") and (found["ago"] or _RATE.search(lower, max(0, position - 24), position)):
        return None if not found["ago"] else ("duration", frozenset[int](), found.end())
    minutes = _minutes(found)
    fits = not found["ago"] and minutes == int(minutes)
    return "duration", frozenset((int(minutes),)) if fits else frozenset[int](), found.end()


def _minutes(found: re.Match[str]) -> float:
    if found["minutes"]:
        return _amount(found["minutes"])
    for hours, rest in (("compact", "compact_rest"), ("colon", "colon_rest")):
        if found[hours]:
            return int(found[hours]) * 60 + int(found[rest])
    total = 60.0 if found["hours"] in ("a", "an") else _amount(found["hours"]) * 60
    part = found["more"] or found["then"]
    total += next((minutes for words, minutes in _FRACTIONS.items() if part and words in part), 0)
    rest = found["rest"] or found["rest_h"] or found["bare"]
    return round(total + (1 if rest == "a" else _amount(rest) if rest else 0), 6)


def _spread_at(lower: str, position: int) -> Found | None:
    """Read `5 to 10 minutes`: either may be meant."""
    found = _BETWEEN.match(lower, position)
    before = lower[max(0, position - 8) : position]
    if found is None or before.endswith("from ") or (found["way"] == "and" and before != "between "):
        return None
    unit = 60 if found["hour"] else 1
    both = [_amount(found[name]) * unit for name in ("one", "two")]
    return "duration", frozenset(int(value) for value in both if value == int(value)), found.end()


def _number(text: str) -> int:
    return int(text) if text.isdigit() else parse_number_words(text)


def _amount(text: str) -> float:
    text = text.replace(",", "") if text[0].isdigit() else text
    return float(text) if text[0].isdigit() else parse_number_words(text)


def clock_text(minutes: int) -> str:
    """Return `HH:MM` of so many minutes after midnight, of whichever day."""
    minutes %= DAY
    return f"{minutes // 60:02}:{minutes % 60:02}"


def minutes_of(time: str) -> int:
    """Return the minutes after midnight of `HH:MM`."""
    return int(time[:2]) * 60 + int(time[3:5])


def _clock(time: str) -> str:
    """Return `2:05 pm`."""
    hour, minute = int(time[:2]), time[3:5]
    return f"{(hour - 1) % 12 + 1}:{minute} {'am' if hour < 12 else 'pm'}"


def _clock24(time: str) -> str:
    """Return `14:05`, `09:05`; from ten to one, where that leaves am and pm open, as `_clock`."""
    return _clock(time) if 10 <= int(time[:2]) <= 12 else time


def _oclock(time: str) -> str:
    """Return `half past two in the afternoon`, `nine o'clock in the morning`, `noon`; other times as `_clock`."""
    hour, minute = int(time[:2]), int(time[3:5])
    if minute not in (0, 30):
        return _clock(time)
    if not minute and hour in (0, 12):
        return "noon" if hour else "midnight"
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    part = "at night" if hour == 0 or hour > 21 else part
    word = _HOURS[(hour - 1) % 12]
    return f"half past {word} {part}" if minute else f"{word} o'clock {part}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _duration(minutes: int) -> str:
    """Return `1 hour and 20 minutes`, `2 hours`, `45 minutes`."""
    hours, rest = divmod(minutes, 60)
    parts = ([_counted(hours, "hour")] if hours else []) + ([_counted(rest, "minute")] if rest or not hours else [])
    return " and ".join(parts)


def _hm(minutes: int) -> str:
    """Return `1 h 20`, `2 h 05`, `2 h`, `45 min`."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours:,} h {rest:02}" if rest else f"{hours:,} h"


TIME_FORMS: dict[str, Callable[[str], str]] = {"clock": _clock, "clock24": _clock24, "oclock": _oclock}
"""Form -> how a time of day is written in it."""

DURATION_FORMS: dict[str, Callable[[int], str]] = {
    "duration": _duration,
    "minutes": lambda minutes: _counted(minutes, "minute"),
    "hm": _hm,
}
"""Form -> how a length in whole minutes is written in it; `minutes` with no sign."""
