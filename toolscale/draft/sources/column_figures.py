"""Figures about the columns of somebody's table: counts, rounded bounds, shapes of texts, states.

Of values, only those are kept that look like states: few different ones, each in `SHARED` rows or more, or all that the
type of a column names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from toolscale.draft.sources.column_values import LARGEST, Values, values_of
from toolscale.draft.sources.reflection import FoundColumn, FoundTable, Reflection
from toolscale.patterns import regex
from toolscale.records.schema import ColumnType
from toolscale.text_files import printable

SAMPLE = 20_000
"""Rows that figures are made of, at most."""

SHARED = 5
"""Rows that hold a value, at least, if the value is told."""

STATES = 12
"""Different values that a column of states has, at most."""

MOST_LABELS = 100
"""Values of a type that names them which are kept, at most."""

_STATE = regex(r"[A-Za-z][A-Za-z0-9]*([ _-][A-Za-z0-9]+){0,2}")


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
    computed: bool = False
    """Whether the database computes it from other columns."""

    def renamed(self, name: str) -> str:
        """Return the name of the column with the ending that its type has here."""
        if self.type == "cents" and not name.endswith("_cents"):
            return f"{name}_cents"
        return f"{name}_hundredths" if self.scaled else name

    def line(self, kind: ColumnType) -> str:
        """Return the figures as a model reads them."""
        parts: list[str] = [kind]
        if self.computed:
            parts.append("computed from the other columns, so no tool takes it as a parameter")
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

    rows: int | None
    """None if they cannot be counted."""
    columns: dict[str, ColumnFigures]
    """Of all columns that can be held."""
    left_out: dict[str, str]
    """Why others are not, a line each."""
    notes: tuple[str, ...]
    """Which columns differ from what is declared, a line each."""


def figures_of(reflection: Reflection, table: FoundTable, names: Collection[str]) -> Figures:
    """Ask a database for the figures of a table, of its first `SAMPLE` rows.

    Of the columns in `names`, which are keys or refer to one, no value is told, and they are kept whatever they hold.
    """
    rows, refused = reflection.attempt(f"SELECT COUNT(*) FROM {table.place}")
    columns, left_out, notes = dict[str, ColumnFigures](), dict[str, str](), list[str]()
    for column in table.columns:
        place, is_name = f"{table.name}.{column.name}", column.name in names
        if column.kind is None and not is_name:
            left_out[column.name] = f"{place}: left out, of type {column.type}"
            continue
        held, cause = _held(reflection, table, column)
        if cause and not is_name:
            left_out[column.name] = f"{place}: left out, it cannot be read ({cause})"
            continue
        figures, lines = _figures(column, held, told=not is_name)
        if cause:
            lines = (*lines, f"kept as text without figures, it cannot be read ({cause})")
        elif column.kind is None:
            lines = (*lines, f"of type {column.type}, kept as text, since rows are told apart by it")
        if figures is None:
            left_out[column.name] = f"{place}: {lines[-1]}"
        else:
            columns[column.name] = figures
            notes += [f"{place}: {'; '.join(lines)}"] if lines else []
    if rows is None:
        notes.append(f"{table.name}: its rows cannot be counted ({refused})")
    return Figures(rows[0][0] if rows else None, columns, left_out, tuple(notes))


def _held(reflection: Reflection, table: FoundTable, column: FoundColumn) -> tuple[list[Any], str]:
    """Return the values of a column, or none and why it cannot be read."""
    rows, cause = reflection.attempt(f"SELECT {reflection.value(column)} FROM {table.place} LIMIT {SAMPLE}")
    return [value for (value,) in rows or ()], cause


def _figures(column: FoundColumn, values: list[Any], *, told: bool) -> tuple[ColumnFigures | None, tuple[str, ...]]:
    """Return the figures of a column, None if no column here can hold its values, and what differs in it."""
    held = [value for value in values if value is not None]
    nulls = 1 - len(held) / len(values) if values else 0.0
    different, is_computed = len({str(value) for value in held}), column.computed is not None
    lines = (f"computed{f': {printable(column.computed, 120)}' if column.computed else ''}",) if is_computed else ()
    if column.labels:
        labels = column.labels if len(column.labels) <= MOST_LABELS else ()
        if not labels:
            lines = (*lines, f"one of {len(column.labels)} values of its type; kept as text of any value")
        return ColumnFigures("text", nulls, labels, different=different, computed=is_computed), lines
    found = values_of(column, held)
    if not told:
        return ColumnFigures(found.type or "text", nulls, different=different, computed=is_computed), lines
    if found.type is None:
        return None, found.notes
    return ColumnFigures(
        found.type, nulls, _states(found.texts), _spread(found), _shape(found.texts), different, found.scaled,
        is_computed,
    ), (*lines, *found.notes)  # fmt: skip


def _spread(values: Values) -> tuple[int, int] | None:
    """Return the bounds of numbers, or of dates in days before the newest."""
    numbers = [(max(values.days) - day).days for day in values.days] if values.days else values.numbers
    return (_rounded(min(numbers), up=False), _rounded(max(numbers), up=True)) if numbers else None


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
    if not texts:
        return ""
    shapes = Counter(re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text[:40]))) for text in texts)
    shape, count = shapes.most_common(1)[0]
    fits = count >= 0.9 * len(texts) and "9" in shape and re.fullmatch(r"[Aa9 ./#_-]{2,24}", shape)
    return shape if fits else ""


def _rounded(number: int, *, up: bool) -> int:
    """Return a number with two digits that count, rounded up or down."""
    step = int(10 ** max(0, len(str(abs(number))) - 2))
    return max(-LARGEST - 1, min(LARGEST, (-(-number // step) if up else number // step) * step))
