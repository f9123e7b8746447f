"""Tasks played from outside: what a solver may see, calls in the task's own world, one final answer, and only then the
grade. `Sessions` is for programs, `Sitting` for whoever goes on command by command.

Names are loaded when they are first used: who makes a call needs no judge.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "BadLine": "toolscale.session.solutions",
    "Decided": "toolscale.session.judged",
    "Graded": "toolscale.session.solutions",
    "Playable": "toolscale.session.playable",
    "Sessions": "toolscale.session.sessions",
    "Sitting": "toolscale.session.sitting",
    "View": "toolscale.session.transcript",
    "decide_solutions": "toolscale.session.judged",
    "grade_solutions": "toolscale.session.solutions",
}

__all__ = [
    "BadLine",
    "Decided",
    "Graded",
    "Playable",
    "Sessions",
    "Sitting",
    "View",
    "decide_solutions",
    "grade_solutions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolscale.session' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
