"""How tests run a policy on the questions: `play` of conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

TASKS = 12
"""Questions of the test split that are played."""

Play = Callable[..., Path]
"""(player, samples, out, at_once) -> the folder of its results."""
