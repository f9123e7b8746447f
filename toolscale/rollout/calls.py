"""Tool calls as an orchestrator writes them: read strictly, and where that fails answered with an error that says what
to do."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.validation import Validator

LONGEST_ARGUMENTS = 100_000
"""Characters of the arguments of one call."""

_REMEMBERED = 256
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a message. With an error it was not understood and must not be made; `name` and `arguments` hold what
    could be read."""

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None


class CallReader:
    """Reads calls of the tools of one task. Its validators are built once and shared by all samples."""

    def __init__(self, tools: list[dict[str, Any]]) -> None:
        self._validators = {tool["function"]["name"]: Validator(tool["function"]["parameters"]) for tool in tools}
        self._names = ", ".join(self._validators)
        self._checked: dict[tuple[str, str], tuple[dict[str, Any], str | None]] = {}

    def read(self, raw: Any) -> Call:
        """Read an element of `tool_calls`. Whatever it is, the result is a Call."""
        function = raw.get("function") if isinstance(raw, Mapping) else None
        name, text = (
            (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else (None, None)
        )
        given = raw.get("id") if isinstance(raw, Mapping) else None
        place = given if isinstance(given, str) else ""
        if not isinstance(name, str) or not isinstance(text, str):
            return Call(
                place,
                "",
                {},
                'A call needs a "function" with a "name" and "arguments", both texts. Write the call again.',
            )
        found = self._checked.get((name, text))
        if found is None:
            found = self._check(name, text)
            if len(self._checked) >= _REMEMBERED:
                self._checked.clear()
            self._checked[name, text] = found
        return Call(place, name, *found)

    def _check(self, name: str, text: str) -> tuple[dict[str, Any], str | None]:
        validator = self._validators.get(name)
        if validator is None:
            return {}, f"There is no tool {name[:_SHOWN]!r}. The tools are: {self._names}."
        arguments, fault = read_arguments(text)
        if fault is not None:
            return {}, fault
        faults = sorted(
            (".".join(map(str, error.absolute_path)), error.message) for error in validator.iter_errors(arguments)
        )
        if not faults:
            return arguments, None
        where, what = faults[0]
        return (
            arguments,
            f"The arguments do not fit {name}: {f'{where}: ' if where else ''}{_short(what)}. "
            "Correct them and call it again.",
        )


def read_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Return (the arguments, None), or ({}, what is wrong): they must be one JSON object in strict JSON that UTF-8 can
    hold."""
    if len(text) > LONGEST_ARGUMENTS:
        return (
            {},
            f"The arguments have {len(text)} characters; {LONGEST_ARGUMENTS} at most are read. Write them shorter.",
        )
    try:
        read = (
            json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)
            if text.strip()
            else {}
        )
        if "\\u" in text or not text.isascii():
            json.dumps(read, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except (ValueError, RecursionError) as error:
        return {}, f"The arguments are not JSON: {_short(str(error))}. Write them again as one JSON object."
    if not isinstance(read, dict):
        return {}, "The arguments are not a JSON object. Write them again as one JSON object."
    return read, None


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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 3 * _SHOWN else f"{line[: 3 * _SHOWN]}…"
