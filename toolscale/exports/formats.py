"""All formats, by name."""

from __future__ import annotations

from toolscale.exports import nemo_gym, openenv, trl
from toolscale.exports.format import Format

FORMATS: dict[str, Format] = {each.name: each for each in (*nemo_gym.FORMATS, *openenv.FORMATS, *trl.FORMATS)}
