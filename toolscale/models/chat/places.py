"""How many requests are under way at once: fewer when the server is busy, more again when it is not."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

CALM_S = 1.0
"""Seconds within which several complaints count as one: requests that were sent together are refused together."""


class Places:
    """At most `most` at once. A complaint of the server halves the places, and each round of answers adds one back
    (additive increase, multiplicative decrease; Chiu and Jain, 1989). Use it as a context, within one event loop."""

    def __init__(self, most: int):
        self.most = most
        self.open = float(most)
        self.taken = 0
        self._free = asyncio.Condition()
        self._complained = float("-inf")

    async def __aenter__(self) -> None:
        async with self._free:
            await self._free.wait_for(lambda: self.taken < int(self.open))
            self.taken += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._free:
            self.taken -= 1
            self._free.notify(max(int(self.open) - self.taken, 0))

    def answered(self) -> None:
        """Note an answer."""
        self.open = min(float(self.most), self.open + 1 / self.open)

    def complained(self) -> None:
        """Note that the server has more to do than it can."""
        if (now := time.monotonic()) - self._complained >= CALM_S:
            self.open, self._complained = max(1.0, self.open / 2), now
