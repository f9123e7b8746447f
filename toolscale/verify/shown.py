"""What the calls of a rollout showed, and which deeds its request wanted in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from toolscale.environment.moments import is_datetime, is_time
from toolscale.records import GoldenCall
from toolscale.tasks.plan import Plan, calls_of
from toolscale.tasks.record import Recording

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


def declined_tools(plan: Plan, recording: Recording) -> frozenset[str]:
    """Return the writing tools that a request wants called and that its plan did not call, or not for all of it."""
    planned = {call.tool.spec.name for call in calls_of(plan.steps) if call.tool.mutates_state}
    golden = {recorded.call.name for recorded in recording.writes}
    return frozenset(
        {step.tool.spec.name for step, _ in recording.forbidden}
        | (planned - golden if all(recording.branches) else planned)
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
