"""Cells of a dataset in words for people: the same on a terminal as on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 8
"""Results nested deeper are shown as JSON: nobody reads them as anything else."""


@dataclass(frozen=True)
class Plain:
    """A value that stands on a line of its own."""

    text: str


@dataclass(frozen=True)
class Pairs:
    """A row: names with values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Rows:
    """Rows with the same columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Parts:
    """Several things, each under its name; one without a name belongs to the whole."""

    parts: Sequence[tuple[str, Shown]]


Shown = Plain | Pairs | Rows | Parts


def laid_out(value: Any, depth: int = 0) -> Shown:
    """Return how the result of a call is shown: rows as a table, a row as pairs of name and value, the rest as it
    is."""
    if depth == DEEPEST:
        return Plain(json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        plain = {name: part for name, part in value.items() if not isinstance(part, dict | list)}
        nested = [(name, laid_out(part, depth + 1)) for name, part in value.items() if isinstance(part, dict | list)]
        return Parts([*([("", laid_out(plain))] if plain else []), *nested])
    if isinstance(value, list) and len(value) == 1:
        return laid_out(value[0], depth + 1)
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        columns = tuple(dict.fromkeys(name for item in value for name in item))
        return Rows(columns, [tuple(cell_text(name, item.get(name)) for name in columns) for item in value])
    if isinstance(value, dict) and value:
        return Pairs([(name, cell_text(name, cell)) for name, cell in value.items()])
    return Plain("none" if value in (None, [], {}) else json.dumps(value, ensure_ascii=False))


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
