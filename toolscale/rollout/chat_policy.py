"""A policy that asks a chat model whose replies are kept: what was asked once costs nothing again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolscale.errors import ModelUnavailableError, UsageError
from toolscale.models.chat import ChatClient, ChatReply, ChatRequest
from toolscale.records import Price, RolloutTask, TokenTrace
from toolscale.rollout.calls import read_arguments
from toolscale.rollout.policy import Message, Tool, Turn


@dataclass(frozen=True)
class ChatPolicy:
    """Asks an open client for each message. A message that cannot be read is a turn that is answered with what is wrong
    with it. What the client raises ends the rollout: as a failed one if it had no answer that is one, and with all
    others at the cap on dollars."""

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
    def price(self) -> Price | None:
        """Dollars for a million tokens; None where that is not known."""
        return self.client.model.price

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
        reply = await self._asked()
        message, malformed = _message_of(reply)
        self._history.append(message)
        return Turn(message, malformed, reply.input_tokens, reply.output_tokens, reply.seconds, reply.dollars)

    async def _asked(self) -> ChatReply:
        policy = self._policy
        request = ChatRequest(
            policy.stage, tuple(self._history), tools=self._tools, temperature=policy.temperature, sample=self._sample
        )
        try:
            return await policy.client.ask(request)
        except UsageError as error:
            line = policy.client.ledger.of(policy.stage, policy.name)
            if line.replies == line.kept:
                raise
            # The server has taken other conversations: it refuses this one, which may be too long for it.
            raise ModelUnavailableError(str(error)) from error

    def trace(self) -> TokenTrace | None:
        """None: only text is known."""
        return None


def _message_of(reply: ChatReply) -> tuple[Message, str | None]:
    """Return the message of a reply, and what cannot be read in it. Torn calls become text: servers refuse a history
    with arguments that are not JSON."""
    text = reply.content or reply.refusal
    if reply.problem:
        told = f"Your message could not be read: {reply.problem}. Call a tool, or write the final answer."
        return {"role": "assistant", "content": text}, told
    if not reply.tool_calls:
        return {"role": "assistant", "content": text}, None
    functions = [call["function"] for call in reply.tool_calls]
    for function in functions:
        _, fault = read_arguments(function["arguments"])
        if fault is not None:
            torn = [f"{each['name']}({each['arguments']})" for each in functions]
            told = f"The call of {function['name']} could not be read. {fault}"
            return {"role": "assistant", "content": "\n".join(filter(None, (text, *torn)))}, told
    return {"role": "assistant", "content": text or None, "tool_calls": list(reply.tool_calls)}, None
