"""Whether a figure is what it usually is: against the nights before it, by a rule that a few odd nights among them do
not bend."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

MOST_NIGHTS = 14
"""At most so many earlier nights are used to find what is usual."""
LEAST_NIGHTS = 5
"""With fewer earlier nights no figure is marked as unusual; its change is shown all the same."""
MOST_SCORE = 3.5
MAD_SCALE, MEAN_SCALE = 1.4826, 1.2533
"""Factors for values with a normal distribution: the median absolute deviation times the first, or the mean absolute
deviation times the second, estimates the standard deviation."""


@dataclass(frozen=True)
class Usual:
    """What some nights show."""

    median: float
    reach: float
    """How far from the median a figure may lie and still be usual."""
    nights: int

    @property
    def enough(self) -> bool:
        """Whether the nights are enough to call anything unusual."""
        return self.nights >= LEAST_NIGHTS


@dataclass(frozen=True)
class Change:
    """A figure against what is usual."""

    by: float
    """Above the median; below it if negative."""
    usual: Usual

    @property
    def drift(self) -> str:
        """`higher` or `lower` than usual, or nothing."""
        if not self.usual.enough or abs(self.by) <= self.usual.reach:
            return ""
        return "higher" if self.by > 0 else "lower"


def usual_of(before: Sequence[float], least: float) -> Usual | None:
    """Return what these nights show, the latest first and at most 14 of them; None if there are none. A change of
    `least` or less is always usual.

    The rule is the modified z-score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC Quality Press,
    1993): unusual is what lies more than 3.5 standard deviations from the median, where 1.4826 times the median
    absolute deviation stands for the standard deviation. Half of the nights may be odd without moving it. Where more
    than half are equal that deviation is 0, and 1.2533 times the mean absolute deviation takes its place (as in IBM
    SPSS Statistics, "Modified z score"). Where all are equal that is 0 too, and only `least` is left.
    """
    values = before[:MOST_NIGHTS]
    if not values:
        return None
    median = statistics.median(values)
    away = [abs(value - median) for value in values]
    deviation = MAD_SCALE * statistics.median(away) or MEAN_SCALE * statistics.fmean(away)
    return Usual(median, max(MOST_SCORE * deviation, least), len(values))


def change_of(value: float, before: Sequence[float], least: float) -> Change | None:
    """Return how a figure changed against the nights before it, or None if there were none."""
    usual = usual_of(before, least)
    return Change(value - usual.median, usual) if usual else None
