"""Values in words: each reads back (heard.py) as exactly the value."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from toolscale.language.dates import MONTHS, WEEKDAYS, Tense, parse_day
from toolscale.language.heard import SIDES, Heard
from toolscale.language.numerals import ordinal
from toolscale.language.times import DURATION_FORMS, TIME_FORMS

FORMS = (
    "money", "words", "dollars", "date", "ordinal", "dmy", "slash", "short", "shortth", "numeric", "near", "day", "nth",
    *TIME_FORMS, *DURATION_FORMS, "number", "text", "digits", "lower", "plain", "bool",
)  # fmt: skip
"""All forms in which a value can be written."""


@lru_cache(maxsize=65536)
def render(value: str | int, form: str, today: str, tense: Tense | None = None) -> str:
    """Return `value` in a written form; what comes back reads as exactly that value on `today`.

    What leaves the year or the month open, `short` ("March 20"), `shortth` ("March 20th"), `numeric` ("3/20"), `near`
    ("yesterday", "last Friday", else as `short`), `day` ("Friday, the 20th") and `nth` ("the 20th"), falls back to a
    full date where it would not read as this day. With a tense it must read so under that tense; without one, both
    under no tense and under the tense of the side of today on which the day lies.
    """
    if form == "money":
        return money(int(value))
    if form == "words":
        return money_in_words(int(value))
    if form == "dollars":
        return money(int(value)).replace("$", "") + (" dollar" if int(value) == 100 else " dollars")
    if form == "date":
        return full_date(str(value))
    if form in ("ordinal", "dmy", "slash"):
        return _other_full_date(str(value), form)
    if form in ("short", "shortth", "numeric", "near"):
        return _without_year(str(value), form, today, tense)
    if form in ("day", "nth"):
        return _short_date(str(value), form, today, tense)
    if form in TIME_FORMS:
        return TIME_FORMS[form](str(value))
    if form in DURATION_FORMS:
        return DURATION_FORMS[form](int(value))
    if form == "number":
        return f"{int(value):,}"
    if form == "lower":
        return str(value).lower()
    if form == "bool":
        return "yes" if value else "no"
    if form in ("text", "digits", "plain"):
        return str(value)
    raise ValueError(f"{form!r} is no form; use one of {', '.join(FORMS)}")


def with_unit(value: int, unit: str) -> str:
    """Return `12 kg`, `-3 °C`, `60%`."""
    return f"{value:,}{'' if unit == '%' else ' '}{unit}"


def money(cents: int) -> str:
    """Return `$1,240.50`, `$40`, `-$3.05`."""
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${whole:,}" + (f".{rest:02}" if rest else "")


def money_in_words(cents: int) -> str:
    """Return `40 dollars`, `12 dollars and 50 cents`, `50 cents`; figures with a sign for less than nothing."""
    if cents < 0:
        return money(cents)
    whole, rest = divmod(cents, 100)
    dollars = f"{whole:,} dollar{'' if whole == 1 else 's'}"
    coins = f"{rest} cent{'' if rest == 1 else 's'}"
    return dollars if not rest else coins if not whole else f"{dollars} and {coins}"


def full_date(day: str) -> str:
    """Return `March 20, 2026`."""
    made = parse_day(day[:10])
    return f"{MONTHS[made.month - 1].capitalize()} {made.day}, {made.year}"


def _other_full_date(day: str, form: str) -> str:
    """Return `March 20th, 2026`, `20 March 2026` or `3/20/2026`."""
    made = parse_day(day[:10])
    month = MONTHS[made.month - 1].capitalize()
    if form == "slash":
        return f"{made.month}/{made.day}/{made.year}"
    return f"{month} {ordinal(made.day)}, {made.year}" if form == "ordinal" else f"{made.day} {month} {made.year}"


def _short_date(day: str, form: Literal["day", "nth"] | str, today: str, tense: Tense | None) -> str:
    made = parse_day(day)
    nth = f"the {ordinal(made.day)}"
    weekday = WEEKDAYS[made.weekday()].capitalize()
    texts = (nth,) if form == "nth" else (f"{weekday}, {nth}", f"next {weekday}, {nth}")
    away = (made - parse_day(today)).days
    if form == "day" and away >= 7:
        texts = texts[::-1] if away <= 13 else texts[:1]
    for text in texts:
        if abs(away) <= 31 and _reads_back(f"on {text}", day, today, tense):
            return text
    return full_date(day)


def _without_year(day: str, form: str, today: str, tense: Tense | None) -> str:
    day = day[:10]
    made = parse_day(day)
    month, weekday = MONTHS[made.month - 1].capitalize(), WEEKDAYS[made.weekday()].capitalize()
    away = (made - parse_day(today)).days
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(away) or (
        f"last {weekday}" if away < 0 else f"this {weekday}"
    )
    texts = {
        "short": f"{month} {made.day}",
        "shortth": f"{month} {ordinal(made.day)}",
        "numeric": f"{made.month}/{made.day}",
        "near": near if abs(away) <= 6 else f"{month} {made.day}",
    }
    if _reads_back(texts[form], day, today, tense):
        return texts[form]
    return (
        _other_full_date(day, {"shortth": "ordinal", "numeric": "slash"}[form])
        if form in ("shortth", "numeric")
        else full_date(day)
    )


def _reads_back(text: str, day: str, today: str, tense: Tense | None) -> bool:
    """Whether a text reads as exactly this day under `tense`; without one, both under no tense and under the tense of
    the side of today on which the day lies."""
    side: Tense = "future" if day >= today else "past"
    sides: tuple[Tense | None, ...] = (tense,) if tense else (None, *(SIDES if day == today else (side,)))
    heard = Heard(text, today)
    return all(heard.states("date", day, other) for other in sides)
