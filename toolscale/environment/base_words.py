"""Words for any trade: what a `language.yaml` with `base` need not say itself."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

BASES = ("english",)
PERSON = "{person}"
"""Stands in the words for the role that speaks."""


def with_base(data: Any) -> Any:
    """Return the content of a `language.yaml` with the words of its base where it has none of its own. Of a base that
    there is not, and of a speaker that is no role, others tell."""
    if not isinstance(data, dict) or data.get("base") is None:
        return data
    base = data["base"] if data["base"] in BASES else BASES[0]
    return {**_spoken(_words(base), str(data.get("speaker", ""))), **data}


@cache
def _words(base: str) -> dict[str, Any]:
    text = files("toolscale.environment").joinpath("words", f"{base}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def _spoken(value: Any, speaker: str) -> Any:
    """Return words with the role that speaks put in."""
    if isinstance(value, str):
        return value.replace(PERSON, f"{{{speaker}}}")
    if isinstance(value, dict):
        return {name: _spoken(inner, speaker) for name, inner in value.items()}
    return [_spoken(inner, speaker) for inner in value] if isinstance(value, list) else value
