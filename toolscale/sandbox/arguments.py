"""Arguments of a call, and rows bound by `let_rows`, in the form that both engines bind alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LARGEST = 2**63 - 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class ArgumentError(ValueError):
    """A value that the engines cannot bind, or would not bind alike."""


def bind_arguments(binds: dict[str, Any], arguments: Mapping[str, Any]) -> None:
    """Add the arguments to `binds`: arrays as JSON text, booleans as 0 or 1. Raises ArgumentError."""
    for name, value in arguments.items():
        kind = type(value)
        if kind is str:
            if not value.isascii() or "\0" in value:
                _check_text(name, value)
            binds[name] = value
        elif kind is int:
            if not -LARGEST <= value <= LARGEST:
                raise ArgumentError(f"{name} is out of range")
            binds[name] = value
        elif value is None:
            binds[name] = None
        elif kind is list or kind is tuple:
            binds[name] = array_json(name, value)
        else:
            binds[name] = _scalar(name, value)


def array_json(name: str, items: Sequence[Any]) -> str:
    """Return an array parameter as JSON: a list of objects; a scalar item stands under `value`."""
    return _encode(
        [
            {field: _scalar(name, value) for field, value in item.items()}
            if isinstance(item, dict)
            else {"value": _scalar(name, item)}
            for item in items
        ]
    )


def rows_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the rows of a `let_rows` as JSON: a list of objects."""
    return _encode([dict(zip(columns, row, strict=True)) for row in rows])


def _scalar(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        _check_text(name, value)
        return value
    if isinstance(value, int):
        if not -LARGEST <= value <= LARGEST:
            raise ArgumentError(f"{name} is out of range")
        return value
    raise ArgumentError(f"{name} is not text or a whole number")


def _check_text(name: str, value: str) -> None:
    # NUL ends a text for LENGTH in SQLite and does not in DuckDB; a lone surrogate has no UTF-8.
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ArgumentError(f"{name} is not valid text")
