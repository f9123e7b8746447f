"""Experts that do not exist, drawn from the figures of those that do.

An orchestrator that is trained on a dozen experts learns them by heart, and reads their cards only as far as it takes
to tell them apart. Where every figure varies, it has to read, and few levels that a card can state are new to it later.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from toolscale.models.pricing import price_of
from toolscale.records import CATEGORIES, Catalogue, Effort, ExpertSpec, Price, PriceList

BEYOND = 0.5
"""A figure lies between those of two experts, or beyond them by up to this share of the way from one to the other."""


def invented_experts(catalogue: Catalogue, price_lists: Sequence[PriceList], count: int, seed: int = 0) -> Catalogue:
    """Return `count` simulated experts with prices of their own; the same for the same arguments.

    Each figure is drawn between those of two experts of the catalogue, or somewhat beyond. The two are
    chosen anew for each skill, for the tokens of all categories together, for the seconds per token, and for the price;
    the price of each of them is that of the catalogue or of a price list. Tokens, seconds and prices are drawn on a
    logarithmic scale.
    """
    rng = random.Random(f"invented experts:{seed}")
    return Catalogue(
        title=f"Invented after: {catalogue.title}",
        experts=tuple(_invented(rng, catalogue, price_lists, n) for n in range(count)),
    )


def _invented(rng: random.Random, catalogue: Catalogue, price_lists: Sequence[PriceList], number: int) -> ExpertSpec:
    def two() -> tuple[ExpertSpec, ExpertSpec, float]:
        one, other = rng.choices(catalogue.experts, k=2)
        return one, other, rng.uniform(-BEYOND, 1 + BEYOND)

    skills = {}
    for name in CATEGORIES:
        one, other, share = two()
        skills[name] = _between(one.skills[name], other.skills[name], share)
    one, other, share = two()
    tokens = {
        name: max(1.0, _scaled(one.effort[name].output_tokens, other.effort[name].output_tokens, share))
        for name in CATEGORIES
    }
    spread = one.spread
    one, other, share = two()
    pace = _scaled(_seconds_per_token(one), _seconds_per_token(other), share)
    one, other, share = two()
    first, second = (price_of(each, rng.choice([None, *price_lists])) for each in (one, other))
    price = Price(input=_scaled(first.input, second.input, share), output=_scaled(first.output, second.output, share))
    effort = {name: Effort(output_tokens=written, latency_s=written * pace) for name, written in tokens.items()}
    return ExpertSpec(
        name=f"invented-{number}",
        title=f"Invented {number}",
        price=price,
        skills=skills,
        effort=effort,
        spread=spread,
        source=f"Invented after: {catalogue.title}.",
    )


def _between(one: float, other: float, share: float) -> float:
    """Return the skill so far on the way from one to the other: a share of right answers."""
    return min(1.0, max(0.0, one + share * (other - one)))


def _scaled(one: float, other: float, share: float) -> float:
    """Return the figure so far on the way from one to the other, on a logarithmic scale; where one of them is 0, the
    other."""
    return float(one ** (1 - share) * other**share) if one > 0 and other > 0 else max(one, other)


def _seconds_per_token(expert: ExpertSpec) -> float:
    seconds, tokens = (
        [getattr(each, name) for each in expert.effort.values()] for name in ("latency_s", "output_tokens")
    )
    return math.fsum(seconds) / math.fsum(tokens)
