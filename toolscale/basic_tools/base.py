"""What every basic tool is: a tool that really runs, beside the experts and the tools of a domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class BasicResult:
    """What one call gave."""

    content: str
    """All that the model reads, an error included."""
    error: str | None
    """One line: why the call gave nothing, or why code failed; none if it worked."""
    cost_usd: float
    latency_s: float


class BasicTool(Protocol):
    """A tool with one text parameter."""

    name: str
    description: str

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Run the tool. What the model did wrong is in the result; only what is broken here is raised, as a
        BasicToolError."""


def one_text_function(name: str, description: str, parameter: str, meaning: str) -> dict[str, Any]:
    """Return an OpenAI function with one required text parameter."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {parameter: {"type": "string", "description": meaning}},
                "required": [parameter],
                "additionalProperties": False,
            },
        },
    }


def one_text(arguments: Mapping[str, Any], parameter: str, longest: int) -> tuple[str, str | None]:
    """Return the text parameter and what is wrong with it, if anything is."""
    value = arguments.get(parameter)
    if not isinstance(value, str) or set(arguments) != {parameter}:
        return "", f"the one argument is `{parameter}`, a text"
    if not value.strip():
        return "", f"`{parameter}` is empty"
    if len(value) > longest:
        return "", f"`{parameter}` has {len(value):,} characters; at most {longest:,} are taken"
    return value, None


def refused(why: str) -> BasicResult:
    """Return the result of a call that was not made: it costs nothing."""
    return BasicResult(f"Error: {why}", why, 0.0, 0.0)
