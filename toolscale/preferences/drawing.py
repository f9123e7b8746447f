"""Seeded preferences for a task. What is trained on and what is held out differ in wording and in weights."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32

from toolscale.preferences.grammar import (
    DIMENSIONS,
    LEVELS,
    OPENINGS,
    OWN,
    TOOL_WORDS,
    WORDINGS,
    Phrasing,
    Wish,
    Words,
    state_weights,
    state_wish,
    wished,
)
from toolscale.records import Preference, Split

_HELD_OUT = 5
"""One in so many combinations of weights is only in the test split; so is one in so many phrasings in plain words."""
_OUTCOME_LEVELS = (0.4, 0.6, 0.8, 1.0, 1.0, 1.0)
"""Few users want an answer and do not mind whether it is right: outcome keeps weight, and most often all of it."""
_GENEROUS = 0.2
"""A generous user's weights of cost and latency are at most this."""


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
    words: Words | None = None,
    generous_share: float = 0.0,
    own_words_share: float = 0.0,
) -> Preference:
    """Return preference `number`, for a task that offers these experts and basic tools. Names that are neither (tools
    of a domain) are passed over.

    `words`: whose words it is in; none: those of the split.
    `wish_share` of the preferences say something of single tools, where there is something to say.
    `generous_share` of them, and those that are so by chance, mind cost and latency little.
    `own_words_share` of them, none of whom is made generous, say all that they say in the words of the split, whatever
    `words` says.
    """
    rng = random.Random(f"preference:{split}:{seed}:{number}")
    kind = rng.random() if generous_share or own_words_share else 1.0
    own_words = generous_share <= kind < generous_share + own_words_share
    weights = dict(zip(DIMENSIONS, rng.choice(_vectors(split, kind < generous_share)), strict=True))
    phrasing = _phrasing(rng, split, split if own_words else words or split)
    basic = [name for name in basic_tools if name in TOOL_WORDS]
    sentences = [state_weights(weights, phrasing)]
    tools: dict[str, float] = {}
    if rng.random() < wish_share and (wish := _wish(rng, aliases, basic)) is not None:
        sentences.append(state_wish(wish, phrasing, aliases, basic))
        tools = wished(wish, aliases, basic)
    return Preference(instruction=" ".join(sentences), tools=tools, **weights)


def average_weights(split: Split) -> dict[str, float]:
    """Return the weights of outcome, cost and latency of the users of a split, on average."""
    vectors = _vectors(split, generous=False)
    return {name: sum(vector[place] for vector in vectors) / len(vectors) for place, name in enumerate(DIMENSIONS)}


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


@lru_cache(maxsize=4)
def _vectors(split: Split, generous: bool) -> list[tuple[float, ...]]:
    every = list(itertools.product(sorted(set(_OUTCOME_LEVELS)), LEVELS, LEVELS))
    random.Random("preference vectors").shuffle(every)
    chosen = every[len(every) // _HELD_OUT :] if split == "train" else every[: len(every) // _HELD_OUT]
    if generous:
        chosen = [vector for vector in chosen if max(vector[1:]) <= _GENEROUS]
    return [vector for vector in chosen for _ in range(_OUTCOME_LEVELS.count(vector[0]))]


def _phrasing(rng: random.Random, split: Split, words: Words) -> Phrasing:
    nouns, frames, tools = WORDINGS[words]
    while True:
        outcome, cost, latency = (rng.randrange(len(nouns[name])) for name in DIMENSIONS)
        phrasing = Phrasing(
            frame=rng.randrange(len(frames)),
            nouns=(outcome, cost, latency),
            ranked=rng.randrange(2),
            opening=rng.randrange(len(OPENINGS)),
            told=rng.randrange(2),
            tools=rng.randrange(len(tools["like"])),
            words=words,
        )
        if words == split or (crc32(repr(phrasing[:6]).encode()) % _HELD_OUT == 0) == (split == "test"):
            return phrasing
