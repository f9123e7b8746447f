"""Seeded preferences for a task. What is trained on and what is held out differ in wording and in weights."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from toolscale.preferences.grammar import (
    DIMENSIONS,
    FRAMES,
    LEVELS,
    LIKES,
    NOUNS,
    OPENINGS,
    OWN,
    TOOL_WORDS,
    Phrasing,
    Wish,
    state_weights,
    state_wish,
    wished,
)
from toolscale.records import Preference

Split = Literal["train", "test"]
_HELD_OUT = 5
"""One in so many ways of saying, and one in so many combinations of weights, is only in the test split."""
_OUTCOME_LEVELS = (0.4, 0.6, 0.8, 1.0, 1.0, 1.0)
"""Few users want an answer and do not mind whether it is right: outcome keeps weight, and most often all of it."""


def preferences(
    split: Split, seed: int, aliases: Sequence[str] = (), basic_tools: Sequence[str] = ()
) -> Iterator[Preference]:
    """Yield preferences without end, for tasks that all offer the same."""
    return (preference(number, seed, split, aliases, basic_tools) for number in itertools.count())


def preference(
    number: int,
    seed: int,
    split: Split,
    aliases: Sequence[str] = (),
    basic_tools: Sequence[str] = (),
    wish_share: float = 0.5,
) -> Preference:
    """Return preference `number`, for a task that offers these experts and basic tools. Names that are neither (tools
    of a domain) are passed over.

    `wish_share` of the preferences say something of single tools, where there is something to say.
    """
    rng = random.Random(f"preference:{split}:{seed}:{number}")
    weights = dict(zip(DIMENSIONS, rng.choice(_vectors(split)), strict=True))
    phrasing = rng.choice(_phrasings(split))
    basic = [name for name in basic_tools if name in TOOL_WORDS]
    sentences = [state_weights(weights, phrasing)]
    tools: dict[str, float] = {}
    if rng.random() < wish_share and (wish := _wish(rng, aliases, basic)) is not None:
        sentences.append(state_wish(wish, phrasing, aliases, basic))
        tools = wished(wish, aliases, basic)
    return Preference(instruction=" ".join(sentences), tools=tools, **weights)


def _wish(rng: random.Random, aliases: Sequence[str], basic: Sequence[str]) -> Wish | None:
    offered = [*aliases, *basic]
    own = [name for name in OWN if name in basic]
    open_to: list[Wish] = []
    if offered:
        some = tuple(rng.sample(offered, min(len(offered), rng.choice((1, 1, 2)))))
        open_to += [("like", some), ("avoid", some)]
    for group in (aliases, [name for name in basic if name != "python"]):
        if len(group) > 1:
            one, other = rng.sample(list(group), 2)
            open_to.append(("rather", (one, other)))
    if own and (aliases or "web_search" in basic):
        open_to.append(("private", ()))
    return rng.choice(open_to) if open_to else None


@lru_cache(maxsize=2)
def _vectors(split: Split) -> list[tuple[float, ...]]:
    every = list(itertools.product(sorted(set(_OUTCOME_LEVELS)), LEVELS, LEVELS))
    random.Random("preference vectors").shuffle(every)
    chosen = every[len(every) // _HELD_OUT :] if split == "train" else every[: len(every) // _HELD_OUT]
    return [vector for vector in chosen for _ in range(_OUTCOME_LEVELS.count(vector[0]))]


@lru_cache(maxsize=2)
def _phrasings(split: Split) -> list[Phrasing]:
    outcome, cost, latency = (range(len(NOUNS[name])) for name in DIMENSIONS)
    choices = itertools.product(
        range(len(FRAMES)), outcome, cost, latency, (0, 1), range(len(OPENINGS)), (0, 1), range(len(LIKES))
    )
    every = [
        Phrasing(frame, (a, b, c), ranked, opening, told, tools)
        for frame, a, b, c, ranked, opening, told, tools in choices
    ]
    random.Random("preference phrasings").shuffle(every)
    return every[len(every) // _HELD_OUT :] if split == "train" else every[: len(every) // _HELD_OUT]
