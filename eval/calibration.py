"""Does a policy know when it is right? The calibration error of stated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from eval.records import Line

BIN = 100
"""Answers of one bin."""
LEAST = 2 * BIN
"""Fewer answers than this mean nothing."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Two figures that must not be mixed."""

    answers: int
    all_bins: float
    as_hle: float
    """As the authors of HLE compute it: the last bin, that of the surest answers, is left out."""


def calibration(lines: Sequence[Line]) -> Calibration | None:
    """Return the calibration of the lines that state a confidence; None for fewer than LEAST of them."""
    said = [(line.confidence, line.score == 1) for line in lines if line.confidence is not None]
    if len(said) < LEAST:
        return None
    confidences, right = [each for each, _ in said], [each for _, each in said]
    return Calibration(
        len(said), calibration_error(confidences, right), calibration_error(confidences, right, without_last=True)
    )


def calibration_error(confidences: Sequence[float], right: Sequence[bool], *, without_last: bool = False) -> float:
    """Return sqrt(sum over bins of (n_b / N) (mean confidence - share right)^2): answers sorted by confidence, BIN in
    each bin, what is left in the last one. Hendrycks and others, arXiv 1812.04606, as the code of HLE has it.

    `without_last`: leave the last bin out of the sum, and not out of N, as that code does.
    """
    order = sorted(range(len(confidences)), key=lambda place: confidences[place])
    edges = [*range(0, max(1, len(order) // BIN) * BIN, BIN), len(order)]
    bins = [order[low:high] for low, high in pairwise(edges)]
    total = 0.0
    for part in bins[:-1] if without_last else bins:
        gap = sum(confidences[place] for place in part) - sum(right[place] for place in part)
        total += len(part) / len(order) * (gap / len(part)) ** 2
    return math.sqrt(total)
