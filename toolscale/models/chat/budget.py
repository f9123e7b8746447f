"""Limits that are not passed: what a request may cost is reserved before it is sent, and after the deadline none is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolscale.errors import BudgetError
from toolscale.limits import UNLIMITED, RunLimits
from toolscale.models.chat.request import ChatRequest
from toolscale.models.pricing import cost_usd
from toolscale.records import Price


@dataclass
class Budget:
    """What may be spent, and what is."""

    limits: RunLimits = UNLIMITED
    spent: float = 0.0
    reserved: float = 0.0
    _freed: asyncio.Condition = field(default_factory=asyncio.Condition, repr=False)

    @property
    def most(self) -> float | None:
        """The cap on dollars; None: there is none."""
        return self.limits.max_cost

    def check_time(self) -> None:
        """Raise DeadlineError if nothing new may be sent."""
        self.limits.check_time("nothing more is asked; run it again to go on: what was paid for is kept")

    @asynccontextmanager
    async def reserve(self, most: float | None) -> AsyncIterator[None]:
        """Hold back what a request may cost while it is under way; None, where no price is known, holds nothing back.
        Where it might pass the cap, wait for others to come back cheaper; BudgetError if none is under way,
        DeadlineError after the deadline."""
        dollars = most or 0.0
        self.check_time()
        async with self._freed:
            await self._freed.wait_for(lambda: self._fits(dollars) or not self.reserved)
            if not self._fits(dollars):
                raise BudgetError(
                    f"the next request may cost ${dollars:.4f}, and ${self.spent:.4f} of ${self.most:g} are spent; "
                    "run it again with a higher MAX_COST: what was paid for is kept"
                )
            self.reserved += dollars
        try:
            yield
        finally:
            async with self._freed:
                self.reserved = max(0.0, self.reserved - dollars)
                if self.reserved < 1e-12:
                    self.reserved = 0.0
                self._freed.notify_all()

    def spend(self, dollars: float | None) -> None:
        """Count what was paid; None: no price is known, and there is no cap."""
        self.spent += dollars or 0.0

    def _fits(self, dollars: float) -> bool:
        return self.most is None or self.spent + self.reserved + dollars <= self.most


def most_read(request: ChatRequest) -> int:
    """Return the tokens that a request has at most: none is shorter than a byte."""
    told = [[dict(message) for message in request.messages], [dict(tool) for tool in request.tools], request.schema]
    return len(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))


def booked(request: ChatRequest, read: int | None, wrote: int | None, price: Price | None) -> float | None:
    """Return the dollars that a reply is booked at, None where the price is not known: by the tokens that the server
    counted, and by all that there can be where it did not."""
    if price is None:
        return None
    most = most_read(request) if read is None else read, request.max_tokens if wrote is None else wrote
    return cost_usd(price, *most)


def most_of(request: ChatRequest, price: Price | None) -> float | None:
    """Return the dollars that a request may cost at most, None where the price is not known."""
    return booked(request, None, None, price)
