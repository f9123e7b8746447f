"""What a reply costs, what it takes, the exact expectation of both for an expert that is simulated, and what counts as
1 of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.errors import UsageError
from toolscale.records import CATEGORIES, TYPICAL_INPUT, ExpertSpec, Price, PriceList

DRAWS = 16
"""How many sizes an answer of a simulated expert can have, all equally likely."""

CHARACTERS_PER_TOKEN = 4
"""The rule of thumb that OpenAI publishes for English text ("What are tokens and how to count them")."""


@cache
def factors(spread: float) -> tuple[float, ...]:
    """Return the 16 factors by which tokens and seconds of one answer differ from their mean: smallest first, mean 1.

    They are the quantiles (i + 0.5) / 16 of a lognormal distribution with parameters 0 and `spread`, divided by their
    mean.
    """
    normal = NormalDist()
    drawn = [math.exp(spread * normal.inv_cdf((i + 0.5) / DRAWS)) for i in range(DRAWS)]
    mean = math.fsum(drawn) / DRAWS
    return tuple(factor / mean for factor in drawn)


def output_tokens(expert: ExpertSpec, category: str, factor: float) -> int:
    """Return the tokens of an answer of this size: rounded up, at least 1."""
    return max(1, math.ceil(expert.effort[category].output_tokens * factor))


def latency_s(expert: ExpertSpec, category: str, factor: float) -> float:
    """Return the seconds that an answer of this size takes."""
    return expert.effort[category].latency_s * factor


def cost_usd(price: Price, input_tokens: int, output_tokens: int) -> float:
    """Return the dollars for so many tokens; prices are per million tokens."""
    return (input_tokens * price.input + output_tokens * price.output) / 1_000_000


def expected_cost(expert: ExpertSpec, price: Price, category: str, input_tokens: int = TYPICAL_INPUT) -> float:
    """Return the expected dollars of one answer of the expert, were it simulated: an average of 16 values, not an
    estimate."""
    return (
        math.fsum(
            cost_usd(price, input_tokens, output_tokens(expert, category, factor)) for factor in factors(expert.spread)
        )
        / DRAWS
    )


def expected_latency(expert: ExpertSpec, category: str) -> float:
    """Return the expected seconds of one answer of the expert, were it simulated."""
    return math.fsum(latency_s(expert, category, factor) for factor in factors(expert.spread)) / DRAWS


def typical_cost(expert: ExpertSpec, price: Price) -> float:
    """Return the expected dollars of one answer to a question of 200 tokens, averaged over the categories."""
    return math.fsum(expected_cost(expert, price, category) for category in CATEGORIES) / len(CATEGORIES)


def typical_latency(expert: ExpertSpec) -> float:
    """Return the expected seconds of one answer, averaged over the categories."""
    return math.fsum(expected_latency(expert, category) for category in CATEGORIES) / len(CATEGORIES)


@dataclass(frozen=True, slots=True)
class References:
    """One unit of cost (dollars) and of latency (seconds) for the experts that a task is offered. UsageError unless
    both are above 0."""

    cost_usd: float
    latency_s: float

    def __post_init__(self) -> None:
        for name, value in (("cost_usd", self.cost_usd), ("latency_s", self.latency_s)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"the reference {name} is {value!r}; give a number above 0")


NO_EXPERTS = References(cost_usd=0.01, latency_s=60.0)
"""Holds where no expert is offered, or where none of them costs or takes anything."""


def references_of(costs: Iterable[float], latencies: Iterable[float]) -> References:
    """Return the references of a pool, given what each expert is expected to cost (dollars) and to take (seconds): the
    largest."""
    cost, latency = max(costs, default=0.0), max(latencies, default=0.0)
    return References(cost if cost > 0 else NO_EXPERTS.cost_usd, latency if latency > 0 else NO_EXPERTS.latency_s)


def pool_references(
    pool: Iterable[tuple[ExpertSpec, Price]], category: str, answers: int, input_tokens: int = TYPICAL_INPUT
) -> References:
    """Return the references of a pool for a task of a category that takes so many answers of one expert, who reads
    `input_tokens` for each."""
    offered = list(pool)
    costs = [answers * expected_cost(expert, price, category, input_tokens) for expert, price in offered]
    return references_of(costs, [answers * expected_latency(expert, category) for expert, _ in offered])


def price_of(expert: ExpertSpec, prices: PriceList | None = None) -> Price:
    """Return what the expert costs: by the price list if it names the expert, else by the catalogue."""
    return expert.price if prices is None else prices.prices.get(expert.name, expert.price)


def approximate_tokens(text: str) -> int:
    """Return about how many tokens a text has: one for every 4 characters, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def approximate_input_tokens(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Return about how many tokens a conversation has that is handed over.

    Counted, at 4 characters a token and rounded up once: the content of every message, the name and arguments of every
    call, and the tools as canonical JSON. Roles and separators are not counted.
    """
    characters = sum(_characters(message) for message in messages) + (len(canonical_json(list(tools))) if tools else 0)
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def _characters(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    text = content if isinstance(content, str) else "" if content is None else canonical_json(content)
    called = [call["function"] for call in message.get("tool_calls") or ()]
    return len(text) + sum(len(function["name"]) + len(function["arguments"]) for function in called)
