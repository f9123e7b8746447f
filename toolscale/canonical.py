"""Canonical JSON and the content hash: the one way in which anything gets its identity here."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

CANONICAL_VERSION = 1
"""Stored beside hashes; raised when the same value would hash differently than before."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted keys, no spaces, UTF-8 as it is, integral floats as integers.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold.
    """
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value` as 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def short_id(prefix: str, *parts: Any) -> str:
    """Return `prefix` and 10 letters or digits that depend on `parts` alone (50 bits of BLAKE2b)."""
    digest = hashlib.blake2b(canonical_json(parts).encode(), digest_size=8).digest()
    return prefix + base64.b32encode(digest).decode().lower()[:10]


def stable_int(*parts: Any) -> int:
    """Return a non-negative 63-bit integer that depends on `parts` alone: a seed that no process or platform changes."""
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
