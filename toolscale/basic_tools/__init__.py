"""Basic tools that really run: a Python interpreter in a sandbox, search in a folder of passages, search on the web.

Names are loaded when they are first used: the sandbox's own process imports parts of this package, and must not load
the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "BasicResult": "toolscale.basic_tools.base",
    "BasicTool": "toolscale.basic_tools.base",
    "BasicToolSettings": "toolscale.basic_tools.settings",
    "LocalSearch": "toolscale.basic_tools.local_search",
    "LocalSearchSettings": "toolscale.basic_tools.settings",
    "PythonResult": "toolscale.basic_tools.interpreter",
    "PythonSettings": "toolscale.basic_tools.settings",
    "PythonTool": "toolscale.basic_tools.interpreter",
    "WebSearch": "toolscale.basic_tools.web_search",
    "WebSearchSettings": "toolscale.basic_tools.settings",
    "open_basic_tools": "toolscale.basic_tools.opening",
}

__all__ = [
    "BasicResult",
    "BasicTool",
    "BasicToolSettings",
    "LocalSearch",
    "LocalSearchSettings",
    "PythonResult",
    "PythonSettings",
    "PythonTool",
    "WebSearch",
    "WebSearchSettings",
    "open_basic_tools",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolscale.basic_tools' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
