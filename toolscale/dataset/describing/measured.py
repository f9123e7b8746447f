"""How good the tasks of a domain are, in figures: what `toolscale stats --quality` prints and the report shows."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolscale.config import NEAR_COSINE, NEAR_TEXTS, VENDI_FEW, VENDI_TEXTS
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.coverage import Coverage
from toolscale.dataset.describing.embedding import Embedding
from toolscale.dataset.describing.outside import Outside
from toolscale.dataset.describing.repeats import count_duplicates, count_same_changes
from toolscale.dataset.describing.variety import (
    Entropy,
    distinct_2,
    draw,
    entropy,
    likeness,
    nearest_pairs,
    self_bleu,
    vendi_score,
)

TIERS = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that are alike."""

    cosine: float
    first: str
    second: str
    first_id: str
    second_id: str


@dataclass(frozen=True, slots=True)
class Texts:
    """How much texts differ."""

    count: int
    words: float
    """Of a text, on average."""
    distinct_2: float
    self_bleu: float | None
    """Of fifty, or of all where there are fewer; None of fewer than two."""
    vendi: float | None
    """Of 400, or of all where there are fewer; None without embeddings."""
    vendi_of_few: float | None
    """The same of fifty, to compare with what has no more."""
    near_duplicates: float | None
    """Share of those that have a cosine over 0.9 with an earlier one; None without embeddings."""
    likeness: tuple[float, ...]
    """Of each but the first, its highest cosine with an earlier one; none without embeddings."""
    nearest: tuple[Pair, ...]
    """Nearest first; none without embeddings."""


@dataclass(frozen=True, slots=True)
class Deeds:
    """What tasks have done."""

    calls: float
    """Golden calls of a task, on average."""
    writes: float
    """Of them, those that write."""
    tiers: Mapping[str, float]
    """Tier -> share of the tasks."""
    sequences: Entropy
    """How tasks are spread over sequences of tool names."""
    duplicates: int
    same_changes: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a domain, of several together, or (without deeds) of a file from outside."""

    name: str
    texts: Texts
    deeds: Deeds | None
    overlaps: Mapping[str, float]
    """File from outside -> the share of texts that have eight words in a row in common with it."""


def measure_texts(texts: Sequence[tuple[str, str]], embedding: Embedding | None, pairs: int = 10) -> Texts:
    """Return how much texts (id, text) differ. Without an embedding the figures that need one are None."""
    plain = [text for _, text in texts]
    vendi: float | None = None
    few: float | None = None
    near: float | None = None
    alike: tuple[float, ...] = ()
    nearest: tuple[Pair, ...] = ()
    if embedding is not None:
        compared = draw([(name, (name, text)) for name, text in texts], NEAR_TEXTS)
        vectors = embedding.embed([text for _, text in compared])
        vendi, alike = vendi_score(vectors[:VENDI_TEXTS]), tuple(likeness(vectors)[1:])
        few = vendi_score(vectors[:VENDI_FEW])
        near = round(sum(cosine > NEAR_COSINE for cosine in alike) / max(len(compared), 1), 4)
        nearest = tuple(
            Pair(cosine, compared[one][1], compared[other][1], compared[one][0], compared[other][0])
            for cosine, one, other in nearest_pairs(vectors, pairs)
        )
    words = statistics.fmean(len(text.split()) for text in plain) if plain else 0.0
    return Texts(len(plain), round(words, 1), distinct_2(plain), self_bleu(texts), vendi, few, near, alike, nearest)


def measure_deeds(tasks: Sequence[Row], coverage: Coverage) -> Deeds:
    """Return what tasks have done; `coverage` is theirs."""
    count = max(len(tasks), 1)
    return Deeds(
        calls=round(sum(len(row["golden_calls"]) for row in tasks) / count, 2),
        writes=round(sum(row["difficulty"]["writes"] for row in tasks) / count, 2),
        tiers={tier: round(sum(row["difficulty"]["tier"] == tier for row in tasks) / count, 4) for tier in TIERS},
        sequences=entropy(tuple(call["name"] for call in row["golden_calls"]) for row in tasks),
        duplicates=count_duplicates(tasks),
        same_changes=count_same_changes(tasks),
        coverage=coverage,
    )


def measure_tasks(
    name: str,
    tasks: Sequence[Row],
    coverage: Coverage,
    embedding: Embedding | None = None,
    outsides: Sequence[Outside] = (),
) -> Measured:
    """Return the figures of tasks, which `coverage` is of."""
    requests = [row["request"] for row in tasks]
    return Measured(
        name,
        measure_texts([(row["id"], row["request"]) for row in tasks], embedding),
        measure_deeds(tasks, coverage),
        {outside.name: outside.overlap(requests)[0] for outside in outsides},
    )


def measure_outside(outside: Outside, embedding: Embedding | None = None) -> Measured:
    """Return the figures of a file from outside, beside which those of a dataset can be read."""
    texts = [(f"{place:08}", text) for place, text in enumerate(outside.texts)]
    return Measured(outside.name, measure_texts(texts, embedding), None, {})
