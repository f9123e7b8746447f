"""How much texts differ: figures of variety and of repetition, each with its source in docs/understand/quality.md.

What needs sentence embeddings takes them as an array of unit rows, n x d, whoever made them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from toolscale.canonical import stable_int
from toolscale.config import LONGEST_MEASURED, SELF_BLEU_DRAWS, SELF_BLEU_TEXTS
from toolscale.patterns import regex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float64]

Item = TypeVar("Item")

BLOCK = 512
"""Texts that are compared with all others at once: 512 x 4,000 cosines take 16 MB."""

_WORDS = regex(r"\w+")


@dataclass(frozen=True, slots=True)
class Entropy:
    """How evenly things are spread over kinds."""

    kinds: int
    bits: float
    share: float
    """Of the most that as many things could have, the logarithm of how many there are: 0 where all are of one kind, 1
    where each is its own."""


def draw(items: Iterable[tuple[str, Item]], count: int, salt: str = "") -> list[Item]:
    """Return so many of the items (id, item), or all there are, in the order of a hash of salt and id: a draw that
    depends neither on the order of the items nor on a seed, and that hardly changes if a few items do."""
    return [item for _, item in sorted(items, key=lambda pair: (stable_int(salt, pair[0]), pair[0]))[:count]]


def distinct_2(texts: Iterable[str]) -> float:
    """Return different pairs of neighbouring words for each pair, over all texts: 0 to 1; 0 where there is no pair. It
    falls as texts become more: compare equal numbers."""
    pairs = Counter(pair for text in texts for pair in _pairs(text))
    return round(len(pairs) / pairs.total(), 4) if pairs else 0.0


def self_bleu(texts: Sequence[tuple[str, str]]) -> float | None:
    """Return the median, over five draws of fifty (or all, in one draw), of the mean BLEU-4 of each text against the
    other ones: 0 to 1, high where texts repeat each other. None for fewer than two.

    `texts` are (id, text). BLEU is sacrebleu's for sentences: tokenizer 13a, case kept, exponential smoothing,
    effective order. Needs sacrebleu.
    """
    if len(texts) < 2:
        return None
    draws = SELF_BLEU_DRAWS if len(texts) > SELF_BLEU_TEXTS else 1
    drawn = (draw(texts, SELF_BLEU_TEXTS, f"self-bleu {number}") for number in range(draws))
    return round(statistics.median(_mean_bleu([text[:LONGEST_MEASURED] for text in part]) for part in drawn), 4)


def vendi_score(vectors: Vectors) -> float | None:
    """Return the effective number of texts: the exponential of the entropy of the eigenvalues of K / n, K the cosines.
    1 where all are equal, n where all are orthogonal; None where there are none."""
    import numpy as np

    if not len(vectors):
        return None
    count, width = vectors.shape
    # X Xᵀ and Xᵀ X have the same eigenvalues but for zeros, which add nothing.
    kernel = vectors @ vectors.T if count <= width else vectors.T @ vectors
    values = np.linalg.eigvalsh(kernel / count)
    values = values[values > 1e-12]
    return round(math.exp(-float((values * np.log(values)).sum())), 2)


def likeness(vectors: Vectors) -> list[float]:
    """Return of each text its highest cosine with an earlier one; -1 of the first."""
    return [round(float(value), 4) for _, cosines in _earlier(vectors) for value in cosines.max(axis=1)]


def nearest_pairs(vectors: Vectors, count: int) -> list[tuple[float, int, int]]:
    """Return the pairs with the highest cosines, nearest first: cosine, place of the earlier text, place of the later
    one."""
    import numpy as np

    found: list[tuple[float, int, int]] = []
    for start, cosines in _earlier(vectors):
        best = np.argsort(-cosines, axis=None, kind="stable")[:count]
        for row, column in zip(*np.unravel_index(best, cosines.shape), strict=True):
            if column < start + row:
                found.append((round(float(cosines[row, column]), 4), int(column), int(start + row)))
        found = sorted(found, key=lambda pair: (-pair[0], pair[2], pair[1]))[:count]
    return found


def entropy(things: Iterable[Hashable]) -> Entropy:
    """Return the entropy, in bits, of how things are spread over their kinds."""
    counts = Counter(things)
    total = counts.total()
    bits = sum(number / total * math.log2(total / number) for number in counts.values())
    return Entropy(len(counts), round(bits, 3), round(bits / math.log2(total), 4) if total > 1 else 0.0)


def _earlier(vectors: Vectors) -> Iterator[tuple[int, Any]]:
    """Yield, block by block, its first place and the cosines of its texts with all up to its last; -1 with themselves
    and with later ones."""
    import numpy as np

    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        cosines = block @ vectors[: start + len(block)].T
        rows, columns = np.arange(len(block))[:, None], np.arange(cosines.shape[1])
        yield start, np.where(columns < rows + start, cosines, -1.0)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    words = [word.lower() for word in _WORDS.findall(text)]
    return pairwise(words)


def _mean_bleu(texts: Sequence[str]) -> float:
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(effective_order=True)
    scores = [
        bleu.sentence_score(text, [*texts[:place], *texts[place + 1 :]]).score / 100 for place, text in enumerate(texts)
    ]
    return statistics.fmean(scores)
