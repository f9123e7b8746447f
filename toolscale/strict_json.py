"""JSON as every way in reads it: what one of them refuses, all refuse.

Python's own reader takes what no file can hold or nobody can understand: NaN, numbers without end, keys that stand
twice, halves of surrogate pairs, brackets within brackets without end.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

DEEPEST = 64
"""Levels of lists and objects: whoever walks through a value by recursion comes to its end."""

_SHOWN = 80
_TOO_DEEP = f"lists and objects are nested more than {DEEPEST} levels deep"

Model = TypeVar("Model", bound="BaseModel")


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. ValueError says what is wrong with it."""
    text = text if isinstance(text, str) else text.decode()
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)
        is_deep = nests_deeper(text, value, DEEPEST)
    except RecursionError:
        is_deep = True
    if is_deep:
        raise ValueError(_TOO_DEEP)
    if "\\u" in text or not text.isascii():
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    return value


def end_of_value(text: str, begin: int) -> int:
    """Return where the JSON value ends that begins at a place of a text. ValueError if there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, begin)[1]
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def read_record(kind: type[Model], text: str | bytes) -> Model:
    """Return the record that a JSON text holds. ValueError says what is wrong, and where."""
    from pydantic import ValidationError  # takes long to load, and who reads plain values needs none

    try:
        value = read_json(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{f'{place}: ' if place else ''}{first['msg'].lower()}") from None


def encodable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def nests_deeper(text: str, value: Any, most: int) -> bool:
    """Whether a value that was read from a text has more than `most` levels."""
    if text.count("[") + text.count("{") <= most:
        return False
    level = [value]
    for _ in range(most + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
    return bool(level)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    """Return the number. Raises ValueError if it is too large for a float, such as 1e999, which is valid JSON: stored
    in a record, it would come back as null, and the rollout could not be graded again."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:_SHOWN]} is too large a number")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict. Raises ValueError if a key stands twice: nobody knows which value was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
