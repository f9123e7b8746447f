"""What chooses the next message of a rollout: a model in this process, an endpoint, or a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolscale.records import Price, RolloutTask, TokenTrace

Message = dict[str, Any]
"""One message in OpenAI form."""
Tool = dict[str, Any]
"""One tool in OpenAI form: {"type": "function", "function": {"name", "description", "parameters"}}."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the orchestrator, and what writing it took."""

    message: Message
    """In OpenAI form: content, or tool_calls with {"id", "type": "function", "function": {"name", "arguments": JSON as
    a string}}, or both."""
    malformed: str | None = None
    """What could not be read, in words that the model can act on; the message then carries the raw text as its
    content."""
    input_tokens: int = 0
    output_tokens: int = 0
    latency_s: float = 0.0
    """Seconds: measured for endpoints; tokens times a configured rate for models in this process, so that training
    repeats bit for bit."""
    dollars: float | None = None
    """What it was booked at, where somebody booked it; none: what its tokens cost at the price of the policy."""


class Session(Protocol):
    """One conversation. The loop asks for turns one after the other, and for the trace at the end."""

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Write the next message. `observations`: the messages that came since this session's last message (none at
        first), not to be changed."""
        ...

    def trace(self) -> TokenTrace | None:
        """The tokens as the model saw and wrote them; None where only text is known."""
        ...


class Policy(Protocol):
    """An orchestrator. Its own tokens are priced."""

    @property
    def name(self) -> str:
        """What ledgers and reports call it."""
        ...

    @property
    def price(self) -> Price | None:
        """US dollars for one million of its own tokens; None where that is not known."""
        ...

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> Session:
        """Begin a conversation. `messages` and `tools` are shared by all samples of the task: a session reads them and
        changes nothing."""
        ...
