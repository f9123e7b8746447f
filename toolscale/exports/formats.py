"""All formats, by name."""

from __future__ import annotations

from toolscale.exports import inspect_ai, trl, verifiers
from toolscale.exports.format import Format

FORMATS: dict[str, Format] = {each.name: each for each in (*trl.FORMATS, *inspect_ai.FORMATS, *verifiers.FORMATS)}
