"""A judge beside people: how far they agree, and what a share is worth that the judge counted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.statistics.clusters import RESAMPLES, SEED, percentiles
from toolscale.errors import UsageError


@dataclass(frozen=True, slots=True)
class Corrected:
    """A proportion without the errors of the judge who counted it, with its 95 % interval."""

    value: float
    low: float
    high: float
    sensitivity: float
    specificity: float


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return the agreement of two raters beyond chance: (p_o - p_e) / (1 - p_e). Cohen, Educational and Psychological
    Measurement 20 (1960). 1 where both give everything the same one label; UsageError without ratings."""
    if len(first) != len(second) or not len(first):
        raise UsageError(f"{len(first)} ratings against {len(second)}; give both raters' of the same things")
    count = len(first)
    observed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    labels = set(first) | set(second)
    chance = sum(sum(each == label for each in first) * sum(each == label for each in second) for label in labels) / (
        count * count
    )
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)


def corrected_proportion(judged: Sequence[bool], graded: Sequence[tuple[bool, bool]]) -> Corrected:
    """Return p = (p_judge + b - 1) / (a + b - 1), cut to 0 and 1, with sensitivity a and specificity b of the judge.
    Rogan and Gladen, American Journal of Epidemiology 107 (1978).

    `judged`: what the judge said of all answers. `graded`: (judge, person) of those that a person graded too. The
    interval is a bootstrap of both samples. UsageError where a person graded no right or no wrong one, or where the
    judge is no better than chance.
    """
    pairs = np.asarray(graded, dtype=bool).reshape(-1, 2)
    if not len(judged) or not pairs[:, 1].any() or pairs[:, 1].all():
        raise UsageError("a person must have graded right answers and wrong ones, and the judge some; grade more")
    said = np.asarray(judged, dtype=bool)
    sensitivity, specificity, value = _corrected(said.mean(), pairs)
    if sensitivity + specificity <= 1:
        raise UsageError(
            f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f}: this judge says nothing; take another"
        )
    rng, drawn = np.random.default_rng(SEED), []
    for _ in range(RESAMPLES):
        share = said[rng.integers(len(said), size=len(said))].mean()
        drawn.append(_corrected(share, pairs[rng.integers(len(pairs), size=len(pairs))])[2])
    low, high = percentiles(np.asarray(drawn), len(pairs))
    return Corrected(value, low, high, sensitivity, specificity)


def _corrected(share: float, pairs: np.ndarray) -> tuple[float, float, float]:
    """Return (sensitivity, specificity, proportion); not a number where a draw has only right or only wrong ones, or
    shows a judge that is no better than chance."""
    right, wrong = pairs[pairs[:, 1], 0], pairs[~pairs[:, 1], 0]
    if not len(right) or not len(wrong):
        return float("nan"), float("nan"), float("nan")
    sensitivity, specificity = float(right.mean()), float(1 - wrong.mean())
    gap = sensitivity + specificity - 1
    value = float(np.clip((share + specificity - 1) / gap, 0, 1)) if gap > 0 else float("nan")
    return sensitivity, specificity, value
