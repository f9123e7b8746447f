"""A policy that asks a chat model whose replies are kept: what was asked once costs nothing again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolscale.models.chat import ChatClient, ChatRequest
from toolscale.records import Price, RolloutTask, TokenTrace
from toolscale.rollout.endpoint_policy import with_calls
from toolscale.rollout.policy import Message, Tool, Turn


@dataclass(frozen=True)
class ChatPolicy:
    """Asks an open client for each message. What the client raises ends the rollout: ModelUnavailableError as a failed
    one, BudgetError with all others."""

    client: ChatClient
    stage: str
    """Under which the ledger of the client books it."""
    temperature: float | None = None
    """None: the server's own."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.client.name

    @property
    def price(self) -> Price:
        """Dollars for a million tokens; 0 where that is not known."""
        return self.client.model.price or Price(input=0.0, output=0.0)

    def session(self, task: RolloutTask, messages: list[Message], tools: list[Tool], sample: int) -> ChatSession:
        """Begin a conversation."""
        return ChatSession(self, messages, tools, sample)


class ChatSession:
    """One conversation, sent whole each time."""

    def __init__(self, policy: ChatPolicy, messages: Sequence[Message], tools: Sequence[Tool], sample: int) -> None:
        self._policy, self._tools, self._sample = policy, tuple(tools), sample
        self._history: list[Mapping[str, object]] = list(messages)

    async def turn(self, observations: Sequence[Mapping[str, object]]) -> Turn:
        """Ask for the next message."""
        self._history += observations
        policy = self._policy
        reply = await policy.client.ask(
            ChatRequest(
                policy.stage,
                tuple(self._history),
                tools=self._tools,
                temperature=policy.temperature,
                sample=self._sample,
            )
        )
        text, malformed = reply.content or reply.refusal, None
        message: Message = {"role": "assistant", "content": text}
        if reply.tool_calls:
            message, malformed = with_calls(text or None, reply.tool_calls)
        self._history.append(message)
        return Turn(message, malformed, reply.input_tokens, reply.output_tokens, reply.seconds)

    def trace(self) -> TokenTrace | None:
        """None: only text is known."""
        return None
