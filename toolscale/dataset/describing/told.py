"""What each figure of a dataset is called, what it means in one sentence, and how people read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolscale.config import MOST_SELF_BLEU, NEAR_COSINE, SELF_BLEU_TEXTS, VENDI_FEW, VENDI_TEXTS
from toolscale.dataset.describing.coverage import Covered
from toolscale.dataset.describing.measured import Deeds, Measured

NONE = "–"


@dataclass(frozen=True, slots=True)
class Told:
    """One figure."""

    title: str
    meaning: str
    text: Callable[[Measured], str]
    number: Callable[[Measured], float | None] | None = None
    """By which domains are put in order; None: they are not."""
    best: Literal["high", "low"] = "high"


def tell_figures(measured: Sequence[Measured]) -> list[Told]:
    """Return the figures in the order in which they are shown, with one for each file that these were compared with."""
    files = dict.fromkeys(name for item in measured for name in item.overlaps)
    return [*_TEXTS, *_DEEDS, *(_overlap(name) for name in files)]


def places(told: Told, measured: Sequence[Measured]) -> list[int | None]:
    """Return the place of each, 1 the best; those that are equal have the same one. None of what has no such figure."""
    numbers = [told.number(item) if told.number else None for item in measured]
    known = [number for number in numbers if number is not None]
    sign = 1 if told.best == "high" else -1
    return [None if own is None else 1 + sum(sign * other > sign * own for other in known) for own in numbers]


def percent(share: float | None) -> str:
    """Return a share as people read it."""
    return NONE if share is None else f"{100 * share:.3g} %"


def _plain(number: float | None, of: int | None = None, usual: int | None = None) -> str:
    """Return a number, and of how many texts it is where that is fewer than usual."""
    if number is None:
        return NONE
    return f"{number:.4g}" if of is None or usual is None or of >= usual else f"{number:.4g} (of {of})"


def _deed(value: Callable[[Deeds], str]) -> Callable[[Measured], str]:
    return lambda item: NONE if item.deeds is None else value(item.deeds)


def _count(value: Callable[[Deeds], float]) -> Callable[[Measured], float | None]:
    return lambda item: None if item.deeds is None else value(item.deeds)


def _covered(title: str, meaning: str, value: Callable[[Deeds], Covered]) -> Told:
    return Told(title, meaning, _deed(lambda deeds: str(value(deeds))), _count(lambda deeds: value(deeds).share))


def _overlap(name: str) -> Told:
    return Told(
        f"overlap with {name}",
        f"Requests that have eight words in a row in common with {name}; what a model is measured on should not be "
        "trained on.",
        lambda item: percent(item.overlaps.get(name)),
        lambda item: item.overlaps.get(name),
        "low",
    )


_TEXTS = (
    Told("texts", "Tasks of the domain, or texts of the file.", lambda item: f"{item.texts.count:,}"),
    Told("words", "Words of a request, on average.", lambda item: _plain(item.texts.words)),
    Told(
        "distinct-2",
        "Different pairs of neighbouring words for each pair there is; it falls as texts become more.",
        lambda item: _plain(item.texts.distinct_2),
        lambda item: item.texts.distinct_2,
    ),
    Told(
        f"self-BLEU-4 of {SELF_BLEU_TEXTS}",
        f"How much of a request's wording stands in {SELF_BLEU_TEXTS - 1} others; at most {MOST_SELF_BLEU:g} is "
        "wanted, as in the airline domain of τ²-bench.",
        lambda item: _plain(item.texts.self_bleu, item.texts.count, SELF_BLEU_TEXTS),
        lambda item: item.texts.self_bleu,
        "low",
    ),
    Told(
        f"Vendi score of {VENDI_TEXTS}",
        f"How many requests that have nothing in common would be as varied as these {VENDI_TEXTS}, by embeddings.",
        lambda item: _plain(item.texts.vendi, item.texts.count, VENDI_TEXTS),
        lambda item: item.texts.vendi,
    ),
    Told(
        f"Vendi score of {VENDI_FEW}",
        f"The same of {VENDI_FEW}: only scores of equally many can be compared.",
        lambda item: _plain(item.texts.vendi_of_few, item.texts.count, VENDI_FEW),
        lambda item: item.texts.vendi_of_few,
    ),
    Told(
        "near-duplicates",
        f"Requests that have a cosine over {NEAR_COSINE:g} with an earlier one; under 1 % is wanted.",
        lambda item: percent(item.texts.near_duplicates),
        lambda item: item.texts.near_duplicates,
        "low",
    ),
)
_DEEDS = (
    Told(
        "duplicates",
        "Tasks with the request of an earlier one, or with its calls, row changes and facts; none is wanted.",
        _deed(lambda deeds: f"{deeds.duplicates:,}"),
        _count(lambda deeds: deeds.duplicates),
        "low",
    ),
    Told(
        "same changes",
        "Tasks that change rows just as an earlier one and tell the same facts, by whatever calls; none is wanted.",
        _deed(lambda deeds: f"{deeds.same_changes:,}"),
        _count(lambda deeds: deeds.same_changes),
        "low",
    ),
    Told(
        "golden calls",
        "Calls of the reference solution, on average.",
        _deed(lambda deeds: _plain(deeds.calls)),
        _count(lambda deeds: deeds.calls),
    ),
    Told(
        "writes",
        "Of these calls, those that change the database.",
        _deed(lambda deeds: _plain(deeds.writes)),
        _count(lambda deeds: deeds.writes),
    ),
    Told(
        "easy, medium, hard",
        "Shares of the tiers, which count calls, writes and steps that hang on each other.",
        _deed(lambda deeds: " / ".join(f"{100 * share:.0f}" for share in deeds.tiers.values()) + " %"),
        _count(lambda deeds: deeds.tiers["hard"]),
    ),
    Told(
        "sequences of tools",
        "How many different sequences of tool names solve the tasks, with their entropy; 100 % if each had its own.",
        _deed(
            lambda deeds: (
                f"{deeds.sequences.kinds:,}: {deeds.sequences.bits:.2f} bits ({percent(deeds.sequences.share)})"
            )
        ),
        _count(lambda deeds: deeds.sequences.share),
    ),
    _covered("tools called", "Tools that some reference solution calls.", lambda deeds: deeds.coverage.tools),
    _covered(
        "intents with a task",
        "Kinds of requests that have a task, alone or as a part of one.",
        lambda deeds: deeds.coverage.intents,
    ),
    _covered(
        "guards met",
        "Conditions that can refuse a call, of the tools that are called: solutions get past them.",
        lambda deeds: deeds.coverage.guards,
    ),
    _covered(
        "rules met",
        "Rules of the policy that guard a tool that is called, or that a refusal is about.",
        lambda deeds: deeds.coverage.rules,
    ),
    _covered(
        "rules refused by",
        "Rules of the policy for which some task refuses what is wanted.",
        lambda deeds: deeds.coverage.refused,
    ),
    _covered(
        "values of arguments",
        "Of the values that an argument may only choose from, those that some solution passes.",
        lambda deeds: deeds.coverage.values,
    ),
)
