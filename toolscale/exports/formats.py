"""All formats, by name."""

from __future__ import annotations

from toolscale.exports import tau2, trl, verl
from toolscale.exports.format import Format

FORMATS: dict[str, Format] = {each.name: each for each in (*trl.FORMATS, *tau2.FORMATS, *verl.FORMATS)}
