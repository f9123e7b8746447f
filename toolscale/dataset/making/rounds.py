"""Which candidates to judge: round after round, until every stream has its share of novel accepted ones or runs dry.

The first round draws more than are wanted. A later one draws only for streams that are short. A stream that brings
nothing in a whole round is dry, and the others take over its share. What a round draws follows from the outcome of the
rounds before it alone, wherever and by how many they were judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil

from toolscale.config import MAX_ROUNDS, MIN_ROUND, OVERSAMPLE
from toolscale.dataset.making.selection import apply_novelty, count_accepted, share_out, weights_of
from toolscale.dataset.manifest import Recipe
from toolscale.environment.environment import Environment
from toolscale.records import Judged
from toolscale.tasks.binding import streams_of


class Rounds:
    """The rounds of one recipe. Call `draw` and `add` in turns, until nothing is drawn."""

    def __init__(self, environment: Environment, recipe: Recipe):
        streams = streams_of(environment)
        self._tasks, self._streams = recipe.tasks, len(streams)
        self._weights = weights_of(streams, recipe.evolved, recipe.toward)
        self._left = recipe.max_candidates
        self._places = {stream.name: place for place, stream in enumerate(streams)}
        self._turns = dict.fromkeys(self._places, 0)
        self._dry: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._judged: list[Judged] = []
        self._draws: dict[str, int] = {}
        self.number = 0
        """How many rounds have been judged."""

    def draw(self) -> list[int]:
        """Return the numbers of the candidates of this round, ascending; none if there are enough, or no more to be
        had, or none may be drawn any more."""
        available = {name: self._counts[name] if name in self._dry else None for name in self._places}
        shares = share_out(self._tasks, self._weights, available)
        short = {
            name: shares[name] - self._counts[name]
            for name in self._places
            if name not in self._dry and self._counts[name] < shares[name] and self.number < MAX_ROUNDS
        }
        self._draws = {
            name: ceil(missing * OVERSAMPLE) if self.number == 0 else max(MIN_ROUND, 2 * missing)
            for name, missing in short.items()
        }
        drawn = sorted(
            turn * self._streams + self._places[name]
            for name, more in self._draws.items()
            for turn in range(self._turns[name], self._turns[name] + more)
        )
        if self._left is not None:
            drawn = drawn[: self._left]  # the round that is cut is the last one: nothing is drawn after it
            self._left -= len(drawn)
        return drawn

    def told(self) -> str:
        """Say how far the rounds that are judged have come."""
        return f"{self._counts.total()} of the {self._tasks} tasks, after {len(self._judged)} candidates"

    def add(self, judged: Iterable[Judged]) -> None:
        """Take the outcome of the round that was drawn last."""
        self._judged += judged
        before, self._counts = self._counts, count_accepted(apply_novelty(self._judged))
        self._dry |= {
            name for name, more in self._draws.items() if more >= MIN_ROUND and self._counts[name] <= before[name]
        }
        self._turns = {name: turn + self._draws.get(name, 0) for name, turn in self._turns.items()}
        self.number += 1
