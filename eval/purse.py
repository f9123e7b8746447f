"""What may be spent, and the replies that were paid for: one cap on dollars over policy, judge and experts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.errors import BudgetError
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.expert import Expert
from toolscale.models.pricing import cost_usd
from toolscale.records import AnswerKey, ExpertReply, ExpertSpec, ToolCall

REPLIES = Path("var/replies.sqlite")


@dataclass
class Purse:
    """One for a run. `most`: dollars that may be spent; none: no cap."""

    most: float | None = None
    replies: Path = REPLIES
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self.budget = Budget(self.most)

    @asynccontextmanager
    async def client(
        self, model: ChatModel, most: float | None = None, replies: Path | None = None
    ) -> AsyncIterator[ChatClient]:
        """Open a model; what it is asked is paid from here, and kept. With a cap of its own, `most`, it is paid from
        that instead; `replies`: where they are kept, if not with the others."""
        with ReplyStore(replies or self.replies) as store:
            budget = self.budget if most is None else Budget(most)
            async with ChatClient(model, store, budget, self.ledger) as client:
                yield client

    def guard(self, expert: Expert) -> Expert:
        """Return an expert that is paid from here; a simulated one costs nothing and stays as it is."""
        return expert if expert.spec.endpoint is None else PaidExpert(expert, self)


@dataclass(frozen=True)
class PaidExpert:
    """An expert behind an endpoint: once the cap is reached it is not asked any more. What it costs is known only
    afterwards, so calls that are under way then may pass the cap."""

    expert: Expert
    purse: Purse

    @property
    def spec(self) -> ExpertSpec:
        """Who it is."""
        return self.expert.spec

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
        """Ask it. BudgetError if the cap is reached."""
        budget = self.purse.budget
        if budget.most is not None and budget.spent >= budget.most:
            raise BudgetError(
                f"${budget.spent:.4f} of ${budget.most:g} are spent; "
                "run it again with a higher --max-cost: what was paid for is kept"
            )
        reply = await self.expert.reply(messages, tools, key=key, category=category, draw=draw, made=made)
        budget.spent += cost_usd(self.spec.price, reply.input_tokens, reply.output_tokens)
        return reply
