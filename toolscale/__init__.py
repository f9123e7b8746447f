"""ToolScale: a pipeline that manufactures verified tool-use data.

The front door. Names are loaded when they are first used, so that `import toolscale` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "DatasetError": "toolscale.errors",
    "Environment": "toolscale.environment.environment",
    "HubUnavailableError": "toolscale.errors",
    "Judge": "toolscale.verify.judge",
    "PublishError": "toolscale.errors",
    "SpecError": "toolscale.errors",
    "StorageError": "toolscale.errors",
    "Task": "toolscale.records",
    "ToolCall": "toolscale.records",
    "ToolScaleError": "toolscale.errors",
    "UsageError": "toolscale.errors",
    "Verifier": "toolscale.verify.verifier",
    "World": "toolscale.environment.world",
    "load_environment": "toolscale.environment.environment",
    "populate": "toolscale.environment.population",
    "publish_dataset": "toolscale.publish",
    "pull_dataset": "toolscale.publish",
    "synthesize": "toolscale.pipeline",
    "verify_dataset": "toolscale.dataset.checking.recheck",
}

__all__ = [
    "DatasetError", "Environment", "HubUnavailableError", "Judge", "PublishError", "SpecError", "StorageError", "Task",
    "ToolCall", "ToolScaleError", "UsageError", "Verifier", "World", "load_environment", "populate", "publish_dataset",
    "pull_dataset", "synthesize", "verify_dataset",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolscale' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
