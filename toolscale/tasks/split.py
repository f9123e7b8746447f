"""Which intents are held out for testing: a property of the intent's name, so that neither the seed nor other intents
move it."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.canonical import stable_int
from toolscale.config import TEST_SHARE
from toolscale.records import Intent


def held_out_intents(intents: Sequence[Intent]) -> frozenset[str]:
    """Return the ids of the intents of the test split: about one in TEST_SHARE, at least one that is fulfilled, never
    all of several."""
    order = sorted(intents, key=lambda intent: _place(intent.id))
    chosen = {intent.id for intent in order if _place(intent.id) % TEST_SHARE == 0}
    fulfilled = [intent.id for intent in order if intent.outcome == "fulfil"]
    if not chosen.intersection(fulfilled):
        chosen.update(fulfilled[:1])
    return frozenset(chosen if len(chosen) < len(order) else fulfilled[:1])


def partners_of(intents: Sequence[Intent]) -> dict[str, tuple[Intent, ...]]:
    """Return intent -> the intents of its split, itself among them: what may be composed with it."""
    held_out = held_out_intents(intents)
    return {
        intent.id: tuple(other for other in intents if (other.id in held_out) == (intent.id in held_out))
        for intent in intents
    }


def _place(intent_id: str) -> int:
    return stable_int("split", intent_id)
