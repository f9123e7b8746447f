"""Tasks played from outside: what a solver may see, calls in the task's own world, one final answer, and only then the
grade. `Sessions` is for programs, `Sitting` for whoever goes on command by command.

Names are loaded when they are first used: who makes a call needs no judge.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "BadLine": "toolscale.session.solutions",
    "Graded": "toolscale.session.solutions",
    "Playable": "toolscale.session.playable",
    "SecondReader": "toolscale.session.second_reader",
    "Sessions": "toolscale.session.sessions",
    "Sitting": "toolscale.session.sitting",
    "Truth": "toolscale.session.second_reader",
    "View": "toolscale.session.transcript",
    "grade_solutions": "toolscale.session.solutions",
}

__all__ = ["BadLine", "Graded", "Playable", "SecondReader", "Sessions", "Sitting", "Truth", "View", "grade_solutions"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolscale.session' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
