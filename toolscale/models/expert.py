"""What every expert can do, whatever answers in its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from toolscale.records import AnswerKey, ExpertReply, ExpertSpec, ToolCall

Message = Mapping[str, Any]
"""A message in OpenAI form."""


class Expert(Protocol):
    """A model that can be asked."""

    @property
    def spec(self) -> ExpertSpec:
        """Who it is."""

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message],
        *,
        key: AnswerKey | None,
        category: str,
        draw: str,
        made: Sequence[ToolCall],
    ) -> ExpertReply:
        """Answer the last message of a conversation, or call one of `tools` (OpenAI functions; none for a plain
        question).

        `key`, `category`, `draw` and `made` are for simulated experts: what there is to answer, what kind of task it
        is, what the draw depends on beside the expert's name (seed, sample and task of the rollout), and the domain's
        calls that were made so far. No model sees them. A failure is a reply with an `error`, not an exception.
        """
