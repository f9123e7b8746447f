"""A policy behind an OpenAI-compatible server: a published model, or the one that is trained, served by vLLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolscale.errors import ModelUnavailableError
from toolscale.models.experts import unmeasured
from toolscale.records import Endpoint, Price, RolloutTask, TokenTrace
from toolscale.rollout.calls import read_arguments
from toolscale.rollout.policy import Message, Tool, Turn

if TYPE_CHECKING:
    from toolscale.models.endpoint import EndpointExpert

_UNUSABLE = "its reply cannot be used"
"""How the client says that the server answered, and not with a message: that is the model's fault, and it may try
again."""


@dataclass(frozen=True)
class EndpointPolicy:
    """Asks a server for each message; retries and the deadline are those of the endpoint. UsageError at once if its key
    or address cannot be used."""

    name: str
    endpoint: Endpoint
    price: Price
    _client: EndpointExpert = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the address and the key before anything runs."""
        from toolscale.models.endpoint import EndpointExpert  # loads an HTTP client: only where one is wanted

        object.__setattr__(
            self, "_client", EndpointExpert(unmeasured("orchestrator", self.endpoint, self.name, self.price))
        )

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> EndpointSession:
        """Begin a conversation."""
        return EndpointSession(self._client, task, messages, tools, sample)


class EndpointSession:
    """One conversation, sent whole each time: such servers remember nothing."""

    def __init__(
        self, client: EndpointExpert, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int
    ) -> None:
        self._client, self._task, self._tools = client, task, tools
        self._history: list[Mapping[str, Any]] = list(messages)
        self._draw = f"{task.seed}:{sample}:{task.id}"

    async def turn(self, observations: Sequence[Mapping[str, Any]]) -> Turn:
        """Ask for the next message. ModelUnavailableError if there is none, after all retries.

        A reply that is no message is a malformed turn, with the tokens that the server counted.
        """
        self._history += observations
        reply = await self._client.reply(
            self._history, self._tools, key=None, category=self._task.category, draw=self._draw, made=()
        )
        malformed = None
        if reply.error is not None:
            if not reply.error.startswith(_UNUSABLE):
                raise ModelUnavailableError(reply.error)
            malformed = (
                f"Your message could not be read: {reply.error.partition(': ')[2]}. "
                "Call a tool, or write the final answer."
            )
        message: Message = {"role": "assistant", "content": reply.content or ("" if malformed else None)}
        if reply.tool_calls:
            message, malformed = with_calls(reply.content, reply.tool_calls)
        self._history.append(message)
        return Turn(message, malformed, reply.input_tokens, reply.output_tokens, reply.latency_s)

    def trace(self) -> TokenTrace | None:
        """None: only text is known."""
        return None


def with_calls(content: str | None, calls: Sequence[Mapping[str, Any]]) -> tuple[Message, str | None]:
    """Return the message and what cannot be read in it. Torn calls become text: servers refuse a history with arguments
    that are not JSON."""
    functions = [call["function"] for call in calls]
    for function in functions:
        _, fault = read_arguments(function["arguments"])
        if fault is not None:
            text = "\n".join(
                [*([content] if content else []), *(f"{torn['name']}({torn['arguments']})" for torn in functions)]
            )
            return {"role": "assistant", "content": text}, f"The call of {function['name']} could not be read. {fault}"
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}, None
