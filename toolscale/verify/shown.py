"""What the calls of a rollout showed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from toolscale.environment.moments import is_datetime, is_time
from toolscale.records import GoldenCall

Value = tuple[str, Any]
"""(kind of fact, value)."""

_LAST4 = 4
_KIND_OF_ENDING = {
    "_cents": "money",
    "_minutes": "duration",
    "_on": "date",
    "_at": "date",
    "_by": "date",
    "_time": "time",
}


def shown_values(calls: Sequence[GoldenCall]) -> frozenset[Value]:
    """Return every value that successful calls have shown: in the rows of their results, and in their arguments."""
    return frozenset(
        value
        for call in calls
        for row in (*_rows_in(call.result), call.arguments)
        for column, held in row.items()
        for value in _values(column, held)
    )


def _rows_in(result: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the result itself without its rows, and every row in it."""
    if isinstance(result, dict):
        yield {name: value for name, value in result.items() if not isinstance(value, dict | list)}
        for part in result.values():
            for row in part if isinstance(part, list) else [part]:
                if isinstance(row, dict):
                    yield row


def _values(column: str, value: Any) -> Iterator[Value]:
    """Yield a value of a row as an answer may state it."""
    kind = _kind_of(column)
    if isinstance(value, str):
        if kind == "date":
            yield "date", value[:10]
            if is_datetime(value):
                yield "time", value[11:16]
        elif kind == "time" and is_time(value):
            yield "time", value
        else:
            yield ("digits" if len(value) == _LAST4 and value.isdigit() else "text"), value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield (kind if kind in ("money", "duration") else "number"), int(value)


@lru_cache(maxsize=4096)
def _kind_of(column: str) -> str | None:
    """What the ending of a column's name says of its values, or None."""
    return next((kind for ending, kind in _KIND_OF_ENDING.items() if column.endswith(ending)), None)
