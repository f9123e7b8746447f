"""Basic tools as the loop calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolscale.rollout.policy import Tool


@dataclass(frozen=True, slots=True)
class BasicResult:
    """What a basic tool gave back."""

    content: str
    """What the orchestrator reads, the error included."""
    latency_s: float
    cost_usd: float = 0.0
    error: str | None = None


class BasicTool(Protocol):
    """A tool that really runs."""

    function: Tool

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Run it. Arguments fit the schema of `function`."""
        ...

    async def close(self) -> None:
        """End its processes."""
        ...
