"""Questions with experts and prices that no training of ours has seen: the names, cards and skills of held_out.yaml, at
the prices of DeepInfra."""

from __future__ import annotations

from dataclasses import replace

from eval.benchmark import About, Opened
from eval.benchmarks import questions
from eval.records import Settings

CATALOGUE, PRICES = "experts/held_out.yaml", "experts/prices/held_out"

ABOUT = About(
    title="The same questions with experts and price lists that were never trained on",
    size=questions.ABOUT.size,
    licence=questions.ABOUT.licence,
    data="nothing to get",
    judged_by=questions.ABOUT.judged_by,
)


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the questions; another catalogue or list that is named is taken instead."""
    unseen = {"catalogue": settings.catalogue or CATALOGUE, "price_lists": settings.price_lists or PRICES}
    return replace(questions.open_benchmark(settings.model_copy(update=unseen), tasks), about=ABOUT)
