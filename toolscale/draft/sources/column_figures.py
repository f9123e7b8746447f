"""Figures about the columns of somebody's table: counts, rounded bounds, shapes of texts, states.

Of values, only those are kept that look like states: few different ones, each in `SHARED` rows or more.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from toolscale.draft.sources.reflection import FoundColumn, FoundTable, Reflection
from toolscale.patterns import regex
from toolscale.records.schema import ColumnType

SAMPLE = 20_000
"""Rows that figures are made of, at most."""

SHARED = 5
"""Rows that hold a value, at least, if the value is told."""

STATES = 12
"""Different values that a column of states has, at most."""

_MONEY = regex(
    r"(^|_)(price|amount|total|subtotal|cost|fee|fees|balance|salary|tax|discount|payment|paid|due|deposit|premium|rent"
    r"|refund|credit|debit|wage|revenue|budget|charge)(_|$)"
)
_STATE = regex(r"[A-Za-z][A-Za-z0-9]*([ _-][A-Za-z0-9]+){0,2}")
_DATE = regex(r"\d{4}-\d\d-\d\d")
_MOMENT = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True)
class ColumnFigures:
    """What is known of a column."""

    type: ColumnType
    nulls: float
    """Share of rows that hold nothing, 0 to 1."""
    values: tuple[str, ...] = ()
    """The states that it holds; none if it holds something else."""
    bounds: tuple[int, int] | None = None
    """Of numbers, rounded outwards; of dates, days before the newest in the database."""
    shape: str = ""
    """Of texts: `AA-9999` for `XK-2041`; nothing if they differ."""
    different: int = 0
    scaled: bool = False
    """Whether a number with a fraction was taken times 100."""

    def renamed(self, name: str) -> str:
        """Return the name of the column with the ending that its type has here."""
        if self.type == "cents" and not name.endswith("_cents"):
            return f"{name}_cents"
        return f"{name}_hundredths" if self.scaled else name

    def line(self, kind: ColumnType) -> str:
        """Return the figures as a model reads them."""
        parts: list[str] = [kind]
        if self.values:
            parts.append(f"one of {', '.join(self.values)}")
        elif self.bounds and self.type in ("date", "datetime"):
            parts.append(f"{self.bounds[0]} to {self.bounds[1]} days before the newest")
        elif self.bounds and kind == self.type:
            parts.append(f"{self.bounds[0]} to {self.bounds[1]}")
        if self.shape:
            parts.append(f"written as {self.shape} (A a capital, a a small letter, 9 a digit)")
        if self.different and not self.values:
            parts.append(f"about {_rounded(self.different, up=True)} different")
        if self.nulls:
            parts.append(f"empty in {max(1, round(self.nulls * 100))} %")
        return ", ".join(parts)


@dataclass(frozen=True)
class Figures:
    """What is known of a table."""

    rows: int
    columns: dict[str, ColumnFigures]


def figures_of(reflection: Reflection, table: FoundTable) -> Figures:
    """Ask a database for the figures of a table, of its first `SAMPLE` rows."""
    quote = reflection.quote
    ((rows,),) = reflection.ask(f"SELECT COUNT(*) FROM {quote(table.name)}")
    columns = {}
    for column in table.columns:
        values = [
            value
            for (value,) in reflection.ask(f"SELECT {reflection.short(column)} FROM {quote(table.name)} LIMIT {SAMPLE}")
        ]
        told = column.name not in table.references and column.name not in table.key
        columns[column.name] = _figures(column, values, told)
    return Figures(rows, columns)


def _figures(column: FoundColumn, values: list[Any], told: bool) -> ColumnFigures:
    held = [value for value in values if value is not None]
    nulls = 1 - len(held) / len(values) if values else 0.0
    kind, numbers, scaled = _typed(column, held)
    different = len({str(value) for value in held})
    if not held or not told:
        return ColumnFigures(kind, nulls, different=different)
    if kind in ("date", "datetime"):
        days = [_day(value) for value in held]
        known = [day for day in days if day is not None]
        newest = max(known, default=None)
        spans = [(newest - day).days for day in known] if newest else []
        return ColumnFigures(kind, nulls, bounds=_bounds(spans), different=different)
    if kind == "text":
        texts = [str(value) for value in held]
        return ColumnFigures(kind, nulls, _states(texts), shape=_shape(texts), different=different)
    return ColumnFigures(kind, nulls, bounds=_bounds(numbers), different=different, scaled=scaled)


def _typed(column: FoundColumn, held: list[Any]) -> tuple[ColumnType, list[int], bool]:
    """Return the type of a column here, its values as whole numbers, and whether these are times 100."""
    declared, name = column.type, column.name.lower()
    if "BOOL" in declared:
        return "bool", [], False
    if re.search(r"TIMESTAMP|DATETIME", declared):
        return "datetime", [], False
    if declared.startswith("DATE"):
        return "date", [], False
    if not re.search(r"INT|SERIAL|NUM|DEC|REAL|FLOA|DOUB|MONEY|NULL", declared) or not _all_numbers(held):
        texts = [str(value) for value in held]
        if texts and all(_DATE.fullmatch(text) for text in texts):
            return "date", [], False
        if texts and all(_MOMENT.fullmatch(text) for text in texts):
            return "datetime", [], False
        return "text", [], False
    if re.search(r"INT|SERIAL", declared):
        if re.match(r"(is|has|can|was)_", name) and {int(value) for value in held} <= {0, 1}:
            return "bool", [], False
        return "cents" if name.endswith("_cents") else "int", [int(value) for value in held], False
    if _MONEY.search(_words(column.name)) or re.search(r", ?2\)|MONEY", declared):
        return "cents", [round(value * 100) for value in held], False
    if all(value == int(value) for value in held):
        return "int", [int(value) for value in held], False
    return "int", [round(value * 100) for value in held], True


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _all_numbers(held: Iterable[Any]) -> bool:
    return all(
        isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool) and math.isfinite(value)
        for value in held
    )


def _day(value: Any) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _states(texts: list[str]) -> tuple[str, ...]:
    """Return the values of a column of states, the commonest first; none if it is another kind of column."""
    counts = Counter(texts)
    if not 2 <= len(counts) <= STATES or min(counts.values()) < SHARED:
        return ()
    if not all(_STATE.fullmatch(text) and len(text) <= 40 for text in counts):
        return ()
    return tuple(text for text, _ in counts.most_common())


def _shape(texts: list[str]) -> str:
    """Return the shape that nine of ten texts have, if it has a digit; else nothing."""
    shapes = Counter(re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text[:40]))) for text in texts)
    shape, count = shapes.most_common(1)[0]
    fits = count >= 0.9 * len(texts) and "9" in shape and re.fullmatch(r"[Aa9 ./#_-]{2,24}", shape)
    return shape if fits else ""


def _bounds(numbers: list[int]) -> tuple[int, int] | None:
    return (_rounded(min(numbers), up=False), _rounded(max(numbers), up=True)) if numbers else None


def _rounded(number: int, *, up: bool) -> int:
    """Return a number with two digits that count, rounded up or down."""
    step = int(10 ** max(0, len(str(abs(number))) - 2))
    return (-(-number // step) if up else number // step) * step
