"""Tool calls as an orchestrator writes them: read strictly, and where that fails answered with an error that says what
to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.strict_json import nests_deeper, read_json

LONGEST_ARGUMENTS = 100_000
"""Characters of the arguments of one call."""
DEEPEST_ARGUMENTS = 60
"""Levels of them. The lines that hold calls have some levels more, and can be read too."""
TOO_DEEP = f"lists and objects are nested more than {DEEPEST_ARGUMENTS} levels deep"

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
        from toolscale.validation import Validator  # takes long to load, and `read_arguments` needs none

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


def read_arguments(given: Any) -> tuple[dict[str, Any], str | None]:
    """Return (the arguments, None), or ({}, what is wrong): they must be one JSON object in strict JSON. Every way in
    reads arguments by this.

    `given`: a text, or what a host has read from one, less strictly maybe.
    """
    try:
        text = _text_of(given)
        if len(text) > LONGEST_ARGUMENTS:
            return (
                {},
                f"The arguments have {len(text)} characters; {LONGEST_ARGUMENTS} at most are read. Write them shorter.",
            )
        read = read_json(text) if text.strip() else {}
        if nests_deeper(text, read, DEEPEST_ARGUMENTS):
            raise ValueError(TOO_DEEP)
    except (TypeError, ValueError) as error:
        return {}, f"The arguments are not JSON: {_short(str(error))}. Write them again as one JSON object."
    if not isinstance(read, dict):
        return {}, "The arguments are not a JSON object. Write them again as one JSON object."
    return read, None


def _text_of(given: Any) -> str:
    if isinstance(given, str | bytes):
        return given if isinstance(given, str) else given.decode()
    try:
        return json.dumps(given, ensure_ascii=False)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 3 * _SHOWN else f"{line[: 3 * _SHOWN]}…"
