"""All formats, by name."""

from __future__ import annotations

from toolscale.exports import nemo_gym, openenv, tau2, trl, verl
from toolscale.exports.format import Format

FORMATS: dict[str, Format] = {each.name: each for host in (trl, openenv, nemo_gym, tau2, verl) for each in host.FORMATS}
