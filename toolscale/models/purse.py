"""What may be spent, and the replies that were paid for: one cap on dollars over policy, judge and experts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.canonical import content_hash
from toolscale.errors import ModelUnavailableError, UnusableReplyError, UsageError
from toolscale.models.chat import Budget, ChatClient, ChatModel, ChatRequest, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.models.completion import clean
from toolscale.models.endpoint import MOST_TOKENS
from toolscale.models.expert import Expert
from toolscale.records import AnswerKey, ExpertReply, ExpertSpec, ToolCall

REPLIES = Path("var/replies.sqlite")


@dataclass
class Purse:
    """One for a run. `most`: dollars that may be spent; none: no cap."""

    most: float | None = None
    replies: Path = REPLIES
    ledger: Ledger = field(default_factory=Ledger)
    record: Path | None = None
    """A file for the replies of a model that is opened with `recorded`, to be served again."""

    def __post_init__(self) -> None:
        self.budget = Budget(self.most)

    @asynccontextmanager
    async def client(
        self, model: ChatModel, most: float | None = None, replies: Path | None = None, *, recorded: bool = False
    ) -> AsyncIterator[ChatClient]:
        """Open a model; what it is asked is paid from here, and kept. With a cap of its own, `most`, it is paid from
        that instead; `replies`: where they are kept, if not with the others."""
        with ReplyStore(replies or self.replies) as store:
            budget = self.budget if most is None else Budget(most)
            async with ChatClient(model, store, budget, self.ledger) as client:
                try:
                    yield client
                finally:
                    if recorded and self.record is not None:
                        write_recording(self.record, store, client.used, client.name)

    @asynccontextmanager
    async def paid(self, expert: Expert) -> AsyncIterator[Expert]:
        """Open an expert that is paid from here; a simulated one costs nothing and stays as it is."""
        spec = expert.spec
        if spec.endpoint is None:
            yield expert
            return
        async with self.client(ChatModel(spec.endpoint, spec.price)) as client:
            yield PaidExpert(spec, client)


@dataclass(frozen=True)
class PaidExpert:
    """An expert behind an endpoint whose replies are paid from a purse, and kept: one sample of a task asks the same
    question once."""

    spec: ExpertSpec
    client: ChatClient

    async def reply(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        key: AnswerKey | None,
        category: str,
        draw: str,
        made: Sequence[ToolCall],
    ) -> ExpertReply:
        """Ask it. BudgetError if the reply might pass the cap."""
        said, began = clean([dict(message) for message in messages], ""), time.monotonic()
        request = ChatRequest(
            f"expert {self.spec.name}", tuple(said), tools=tuple(tools), max_tokens=MOST_TOKENS, sample=_sample(draw)
        )
        try:
            reply = await self.client.ask(request)
        except (ModelUnavailableError, UnusableReplyError, UsageError) as error:
            lost = self.client.lost_on(request)
            return ExpertReply(
                error=str(error),
                kind="endpoint",
                input_tokens=lost.input_tokens,
                output_tokens=lost.output_tokens,
                latency_s=time.monotonic() - began,
            )
        lost = self.client.lost_on(request)
        return ExpertReply(
            content=reply.content or reply.refusal or None,
            tool_calls=reply.tool_calls,
            input_tokens=lost.input_tokens + reply.input_tokens,
            output_tokens=lost.output_tokens + reply.output_tokens,
            latency_s=reply.seconds,
            error=f"its reply cannot be used: {reply.problem}" if reply.problem else None,
            kind="endpoint",
        )


def _sample(draw: str) -> int:
    """Return the number of a draw: 31 bits, as servers take a seed."""
    return int(content_hash(draw)[:8], 16) >> 1
