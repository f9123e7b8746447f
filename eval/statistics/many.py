"""Many comparisons at once: one in twenty shows something by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import false_discovery_control


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p for claims: the chance of one false claim among all stays below. Holm, Scandinavian Journal of
    Statistics 6 (1979): the i-th smallest times m - i + 1, never below an earlier one, at most 1."""
    order = np.argsort(p_values, kind="stable")
    count, found, highest = len(order), [0.0] * len(order), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        found[place] = highest
    return found


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p for a dashboard: the share of false ones among those shown stays below. Benjamini and Hochberg,
    JRSS B 57 (1995); scipy computes it."""
    return [float(value) for value in false_discovery_control(p_values)] if len(p_values) else []
