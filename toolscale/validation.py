"""JSON Schema with patterns that run in linear time: a pattern comes with a spec, and what it is held against comes
from a model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20  # bytes for one pattern, compiled


def pattern_fault(pattern: str) -> str | None:
    """Return why RE2 cannot run a pattern, or None if it can. RE2 has no look-around and no back-references, since they
    may take exponential time."""
    try:
        _compiled(pattern)
    except re2.error as error:
        told = error.args[0] if error.args else error
        return (told.decode(errors="replace") if isinstance(told, bytes) else str(told)).lower()
    return None


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> Any:
    return re2.compile(pattern, _OPTIONS)


def _match(validator: Any, pattern: str, instance: object, schema: object) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


Validator = extend(Draft202012Validator, {"pattern": _match})
"""Draft 2020-12, as jsonschema checks it, but for `pattern`, which RE2 runs."""
