"""Cells of a dataset in words for people: the same on a terminal as on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cell_text(name: str, value: Any) -> str:
    """Return the value of a column for a person: cents as dollars, nothing as a dash."""
    if name.endswith("_cents") and isinstance(value, int) and not isinstance(value, bool):
        return money_text(value)
    return "–" if value is None else str(value)


def money_text(cents: int) -> str:
    """Return cents as dollars: -123456 is -$1,234.56."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def change_kind(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """Say what became of a row."""
    return "new row" if not before else "row deleted" if not after else "row changed"
