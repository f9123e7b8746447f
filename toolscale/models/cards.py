"""What an orchestrator reads about an expert: sentences for a model that knows English, or facts as tokens for one that
is trained from little."""

from __future__ import annotations

import math
from typing import Literal

from toolscale.models.pricing import typical_cost, typical_latency
from toolscale.records import CATEGORIES, ExpertSpec, Price

CardStyle = Literal["prose", "compact"]

HIGHEST_LEVEL = 15
STRONG, FAIR = 0.7, 0.4
"""From which share of right answers on an expert is called strong, or fair; below, weak."""

WORDS = {
    "arithmetic": "arithmetic without a calculator",
    "code": "saying what a program prints",
    "lookup": "facts from private documents",
    "mathematics": "mathematics",
    "knowledge": "general knowledge",
    "reasoning": "reasoning",
    "tools": "working with tools",
}
"""Category -> what a card calls it."""

_EDGE = 1e-9
"""So that a value on the edge of two levels is not moved by rounding."""


def skill_level(accuracy: float) -> int:
    """Return 0 to 10: the share of right answers in tenths, rounded (halves to the even number)."""
    return round(accuracy * 10)


def price_level(usd: float) -> int:
    """Return 0 to 15 for the expected dollars of one answer: four levels a decade, from $0.00001 (level 0) to $0.056
    and more (level 15)."""
    return 0 if usd <= 0 else _clamped(4 * math.log10(usd / 1e-5))


def latency_level(seconds: float) -> int:
    """Return 0 to 15 for the expected seconds of one answer: two levels a doubling, from 0.5 s (level 0) to 90 s and
    more (level 15)."""
    return 0 if seconds <= 0 else _clamped(2 * math.log2(seconds / 0.5))


def _clamped(level: float) -> int:
    return min(HIGHEST_LEVEL, max(0, math.floor(level + _EDGE)))


def card(expert: ExpertSpec, price: Price, alias: str, style: CardStyle) -> str:
    """Return the card of an expert under its alias, at the price that holds for the task."""
    return compact_card(expert, price, alias) if style == "compact" else prose_card(expert, price)


def compact_card(expert: ExpertSpec, price: Price, alias: str) -> str:
    """Return the facts as tokens between spaces: `expert-2.mathematics=7 … expert-2.price=5 expert-2.latency=3`.

    The price is the level of the expected cost of an answer to a question of 200 tokens, the latency that of its
    expected seconds, both averaged over the categories.
    """
    facts = {category: skill_level(expert.skills[category]) for category in CATEGORIES}
    facts |= {"price": price_level(typical_cost(expert, price)), "latency": latency_level(typical_latency(expert))}
    return " ".join(f"{alias}.{name}={level}" for name, level in facts.items())


def prose_card(expert: ExpertSpec, price: Price) -> str:
    """Return sentences on one line: what the expert is good at, what it asks for a million tokens, and what an answer
    typically costs and takes."""
    about = " ".join((expert.description or worded_skills(expert)).split())
    costs = (
        f"It costs {_dollars(price.input)} per million tokens in and {_dollars(price.output)} per million tokens out."
    )
    typical = (
        f"An answer typically costs {_cents(typical_cost(expert, price))} "
        f"and takes about {_seconds(typical_latency(expert))}."
    )
    return f"{about} {costs} {typical}"


def worded_skills(expert: ExpertSpec) -> str:
    """Return the measured skills as a sentence: strong, fair and weak categories, each in the order of CATEGORIES."""
    groups = {
        "strong at": [WORDS[name] for name in CATEGORIES if expert.skills[name] >= STRONG],
        "fair at": [WORDS[name] for name in CATEGORIES if FAIR <= expert.skills[name] < STRONG],
        "weak at": [WORDS[name] for name in CATEGORIES if expert.skills[name] < FAIR],
    }
    sentence = "; ".join(f"{how} {_joined(names)}" for how, names in groups.items() if names)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _dollars(usd: float) -> str:
    """Return dollars as people write prices: $10, $1.25, $0.375."""
    text = f"{usd:.4f}".rstrip("0").rstrip(".")
    whole, _, part = text.partition(".")
    return f"${whole}.{part.ljust(2, '0')}" if part else f"${whole}"


def _cents(usd: float) -> str:
    cents = usd * 100
    if cents < 0.001:
        return "less than 0.001 cents" if cents else "nothing"
    shown = f"{cents:#.2g}" if cents < 10 else f"{cents:.0f}"
    return f"{shown.rstrip('.')} cents"


def _seconds(seconds: float) -> str:
    shown = f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
    shown = shown.removesuffix(".0")
    return f"{shown} second{'' if shown == '1' else 's'}"
