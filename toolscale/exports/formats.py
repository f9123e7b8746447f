"""All formats, by name."""

from __future__ import annotations

from toolscale.exports import harbor, inspect_ai, nemo_gym, openenv, tau2, trl, verifiers, verl
from toolscale.exports.format import Format

_HOSTS = (trl, verl, verifiers, openenv, nemo_gym, inspect_ai, tau2, harbor)
FORMATS: dict[str, Format] = {each.name: each for host in _HOSTS for each in host.FORMATS}
