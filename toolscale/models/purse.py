"""What may be spent, and the replies that were paid for: one cap on dollars over policy, judge and experts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolscale.limits import UNLIMITED, RunLimits
from toolscale.models.chat import Budget, ChatClient, ChatModel, Ledger, ReplyStore
from toolscale.models.chat.recording import write_recording
from toolscale.models.endpoint import EndpointExpert
from toolscale.models.expert import Expert

REPLIES = Path("var/replies.sqlite")


@dataclass
class Purse:
    """One for a run, within its limits."""

    limits: RunLimits = UNLIMITED
    replies: Path = REPLIES
    ledger: Ledger = field(default_factory=Ledger)
    record: Path | None = None
    """A file for the replies of a model that is opened with `recorded`, to be served again."""

    def __post_init__(self) -> None:
        self.budget = Budget(self.limits)

    @asynccontextmanager
    async def client(
        self, model: ChatModel, most: float | None = None, replies: Path | None = None, *, recorded: bool = False
    ) -> AsyncIterator[ChatClient]:
        """Open a model; what it is asked is paid from here, and kept. With a cap of its own, `most`, it is paid from
        that instead; `replies`: where they are kept, if not with the others."""
        with ReplyStore(replies or self.replies) as store:
            budget = self.budget if most is None else Budget(replace(self.limits, max_cost=most))
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
            yield EndpointExpert(spec, client)
