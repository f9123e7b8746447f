"""Experts that do not exist, put together from the figures of those that do.

An orchestrator that is trained on a dozen experts learns them by heart, and reads their cards only as far as it takes to tell them apart. Where each
figure is somebody's but the whole is nobody's, it has to read.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from toolscale.models.pricing import price_of
from toolscale.records import CATEGORIES, Catalogue, Effort, ExpertSpec, PriceList


def invented_experts(catalogue: Catalogue, price_lists: Sequence[PriceList], count: int, seed: int = 0) -> Catalogue:
    """Return `count` simulated experts with prices of their own; the same for the same arguments.

    Each has every skill of some expert of the catalogue, another one for each category; it writes as much as one of them, as fast as one of them, for
    what one of them costs at one of the price lists or by the catalogue.
    """
    rng = random.Random(f"invented experts:{seed}")
    return Catalogue(title=f"Invented after: {catalogue.title}", experts=tuple(_invented(rng, catalogue, price_lists, n) for n in range(count)))


def _invented(rng: random.Random, catalogue: Catalogue, price_lists: Sequence[PriceList], number: int) -> ExpertSpec:
    skills = {category: rng.choice(catalogue.experts).skills[category] for category in CATEGORIES}
    writes, hurries, costs = rng.choices(catalogue.experts, k=3)
    pace = _seconds_per_token(hurries)
    effort = {name: Effort(output_tokens=each.output_tokens, latency_s=each.output_tokens * pace) for name, each in writes.effort.items()}
    return ExpertSpec(
        name=f"invented-{number}", title=f"Invented {number}", price=price_of(costs, rng.choice([None, *price_lists])), skills=skills, effort=effort,
        spread=writes.spread, source=f"Invented. Tokens: {writes.name}; seconds a token: {hurries.name}; price: {costs.name}.",
    )  # fmt: skip


def _seconds_per_token(expert: ExpertSpec) -> float:
    seconds, tokens = ([getattr(each, name) for each in expert.effort.values()] for name in ("latency_s", "output_tokens"))
    return math.fsum(seconds) / math.fsum(tokens)
