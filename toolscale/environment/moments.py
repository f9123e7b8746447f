"""Dates and times as columns hold them."""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache

from toolscale.patterns import regex

_DATE = regex(r"\d{4}-\d{2}-\d{2}")
_DATETIME = regex(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")
_TIME = regex(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)


@lru_cache(maxsize=65536)
def is_date(text: str) -> bool:
    """Return whether the text is a day of the calendar as `YYYY-MM-DD`."""
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


@lru_cache(maxsize=65536)
def is_datetime(text: str) -> bool:
    """Return whether the text is a moment as `YYYY-MM-DDTHH:MM:SS`."""
    try:
        return _DATETIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def is_time(text: str) -> bool:
    """Return whether the text is a time of day as `HH:MM`, from 00:00 to 23:59."""
    return _TIME.fullmatch(text) is not None
