"""JSON in the reply of a model: found, parsed strictly, and held against a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from toolscale import strict_json
from toolscale.validation import Validator

MOST_FINDINGS = 8
LONGEST_FINDING = 300
_FENCED = re.compile(r"```[a-zA-Z]*\s*\n(.*?)\n?```", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")


def read_json(text: str) -> Any:
    """Return the JSON value that a reply is, that stands in its only code block, or the only object or list among its
    words: what `strict_json` takes. ValueError says why there is none."""
    blocks = _FENCED.findall(text)
    inner = blocks[0] if len(blocks) == 1 else text
    try:
        return _parsed(inner)
    except json.JSONDecodeError as error:
        where = inner[max(0, error.pos - 30) : error.pos + 30]
        raise ValueError(f"it is not JSON: {error.msg} in line {error.lineno}, near {where!r}") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON that can be used: {error}") from None


def _parsed(text: str) -> Any:
    try:
        return strict_json.read_json(text)
    except json.JSONDecodeError:
        if (begin := _BRACKET.search(text)) is None:
            raise
        end = strict_json.end_of_value(text, begin.start())
        if _BRACKET.search(text, end):
            raise
        return strict_json.read_json(text[begin.start() : end])


def findings(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return where a value does not fit a schema, a line each: the place, and what is wrong with it."""
    found = []
    for error in sorted(Validator(schema).iter_errors(value), key=lambda error: list(map(str, error.absolute_path))):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        line = f"{place.lstrip('.') or 'the whole'}: {error.message}"
        found.append(line if len(line) <= LONGEST_FINDING else f"{line[: LONGEST_FINDING - 1]}…")
    more = len(found) - MOST_FINDINGS
    return [*found[:MOST_FINDINGS], f"and {more} more"] if more > 0 else found
