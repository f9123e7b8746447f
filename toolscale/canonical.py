"""Canonical JSON and the content hash: the one way in which anything gets its identity here."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")

CANONICAL_VERSION = 1
"""Stored beside hashes. The number goes up when the same value would hash differently than before."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

_PAIRS = [
    first + second for first in "abcdefghijklmnopqrstuvwxyz234567" for second in "abcdefghijklmnopqrstuvwxyz234567"
]
"""Ten bits -> two characters of base 32."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted keys, no spaces, UTF-8 as it is, integral floats as integers.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold.
    """
    text = _encode(value)
    # An integral float is written `25.0`, or `1e+16` and larger; a text may hold that too,
    # and then nothing is lost but time.
    return _encode(_normal(value)) if ".0" in text or "e+" in text else text


def in_order(value: Value) -> Value:
    """Return the value that the canonical JSON of `value` holds: the same, with the keys of all its mappings sorted."""
    ordered: Value = json.loads(canonical_json(value))
    return ordered


def finite(value: Any) -> Any:
    """Return a value with None for each float that JSON cannot hold: an infinite bound of an interval is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def content_hash(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value` as 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def short_id(prefix: str, *parts: Any) -> str:
    """Return `prefix` and 10 letters or digits that depend on `parts` alone (50 bits of BLAKE2b)."""
    digest = hashlib.blake2b(canonical_json(parts).encode(), digest_size=8).digest()
    bits = int.from_bytes(digest, "big") >> 14
    return (
        prefix
        + _PAIRS[bits >> 40]
        + _PAIRS[bits >> 30 & 1023]
        + _PAIRS[bits >> 20 & 1023]
        + _PAIRS[bits >> 10 & 1023]
        + _PAIRS[bits & 1023]
    )


def stable_int(*parts: Any) -> int:
    """Return a non-negative 63-bit integer that depends on `parts` alone: a seed that no process or platform
    changes."""
    digest = hashlib.blake2b(canonical_json(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _normal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    return value
