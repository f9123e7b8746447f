"""Experts: who they are, what they cost, what is said about them, and how they are asked."""

from toolscale.models.cards import card, compact_card, latency_level, price_level, prose_card, skill_level
from toolscale.models.catalogue import load_catalogue, load_price_lists, load_prices
from toolscale.models.expert import Expert
from toolscale.models.experts import make_expert
from toolscale.models.pricing import cost_usd, expected_cost, expected_latency, price_of

__all__ = [
    "Expert",
    "card",
    "compact_card",
    "cost_usd",
    "expected_cost",
    "expected_latency",
    "latency_level",
    "load_catalogue",
    "load_price_lists",
    "load_prices",
    "make_expert",
    "price_level",
    "price_of",
    "prose_card",
    "skill_level",
]
