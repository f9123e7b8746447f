"""Canonical JSON and short ids against the plainest way to write them."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolscale.canonical import canonical_json, short_id

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from([25.0, "5.0"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def plain(value: Any) -> Any:
    """The value with integral floats as integers."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(VALUES)
@example([1e16, -0.0, 1e300, 25.0, 0.5, "25.0", {"5.0": 5.0}])
def test_integral_floats_are_written_as_integers(value: Any) -> None:
    assert canonical_json(value) == json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)


@given(st.lists(VALUES, max_size=4))
def test_a_short_id_is_the_beginning_of_base_32(parts: list[Any]) -> None:
    digest = hashlib.blake2b(canonical_json(parts).encode(), digest_size=8).digest()
    assert short_id("tx_", *parts) == "tx_" + base64.b32encode(digest).decode().lower()[:10]
