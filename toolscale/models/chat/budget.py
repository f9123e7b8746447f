"""A cap on dollars that is not passed: what a request may cost is reserved before it is sent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolscale.errors import BudgetError, UsageError
from toolscale.models.chat.request import ChatRequest
from toolscale.models.pricing import approximate_input_tokens
from toolscale.records import Price

MARGIN = 1.5
"""Tokens are counted before a request by its characters, four each; text that is dense has up to half as many more."""


@dataclass
class Budget:
    """Dollars that may be spent, and that are. `most` None: no cap."""

    most: float | None = None
    spent: float = 0.0
    reserved: float = 0.0
    _freed: asyncio.Condition = field(default_factory=asyncio.Condition, repr=False)

    def __post_init__(self) -> None:
        if self.most is not None and not (math.isfinite(self.most) and self.most > 0):
            raise UsageError(f"MAX_COST is {self.most!r}; give dollars above 0")

    @asynccontextmanager
    async def reserve(self, dollars: float) -> AsyncIterator[None]:
        """Hold back what a request may cost while it is under way. Where it might pass the cap, wait for others to
        come back cheaper; BudgetError if none is under way."""
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

    def _fits(self, dollars: float) -> bool:
        return self.most is None or self.spent + self.reserved + dollars <= self.most


def most_of(request: ChatRequest, price: Price | None) -> float:
    """Return the dollars that a request may cost at most, 0 where the price is not known."""
    if price is None:
        return 0.0
    read = MARGIN * (approximate_input_tokens(request.messages, request.tools) + len(str(request.schema or "")) / 4)
    return (read * price.input + request.max_tokens * price.output) / 1e6


def dollars_of(input_tokens: int, output_tokens: int, price: Price | None) -> float:
    """Return what a reply costs, 0 where the price is not known."""
    return 0.0 if price is None else (input_tokens * price.input + output_tokens * price.output) / 1e6
