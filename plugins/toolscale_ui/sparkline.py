"""A line of a few points, as coordinates of an SVG: numbers only, so that nothing from data reaches the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolscale_ui.drift import Usual

WIDTH, HEIGHT, MARGIN = 200, 44, 5


@dataclass(frozen=True)
class Dot:
    """A point that is drawn as one: marked, the last one, or one without neighbours."""

    x: float
    y: float
    marked: bool


@dataclass(frozen=True)
class Sparkline:
    """What is drawn, in a box of WIDTH x HEIGHT."""

    lines: Sequence[str]
    """Points of each polyline: a value that is missing parts two of them."""
    dots: Sequence[Dot]
    band: tuple[float, float] | None
    """Top and height of what is usual for the last point."""


def sparkline(values: Sequence[float | None], marked: Sequence[bool], usual: Usual | None = None) -> Sparkline:
    """Return the drawing of values from left to right, with a band where the last one would be usual. At least one
    value is no None."""
    known = [value for value in values if value is not None]
    band = (usual.median - usual.reach, usual.median + usual.reach) if usual and usual.enough else None
    low, high = min(*known, known[0]), max(*known, known[0])
    if band:  # what is usual may be wide: a line that is pressed flat by it says nothing
        room = high - low or band[1] - band[0]
        low, high = min(low, max(band[0], low - room)), max(high, min(band[1], high + room))
    span = high - low

    def x_of(place: int) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (place / (len(values) - 1) if len(values) > 1 else 0.5), 1)

    def y_of(value: float) -> float:
        return round(MARGIN + (HEIGHT - 2 * MARGIN) * ((high - min(max(value, low), high)) / span if span else 0.5), 1)

    stretches: list[list[int]] = [[]]
    for place, value in enumerate(values):
        if value is not None:
            stretches[-1].append(place)
        elif stretches[-1]:
            stretches.append([])
    last = max(place for place, value in enumerate(values) if value is not None)
    single = {stretch[0] for stretch in stretches if len(stretch) == 1}
    points = [(place, x_of(place), y_of(value)) for place, value in enumerate(values) if value is not None]
    at = {place: f"{x:g},{y:g}" for place, x, y in points}
    return Sparkline(
        lines=[" ".join(at[place] for place in stretch) for stretch in stretches if len(stretch) > 1],
        dots=[Dot(x, y, marked[place]) for place, x, y in points if marked[place] or place == last or place in single],
        band=(y_of(band[1]), round(max(y_of(band[0]) - y_of(band[1]), 1.0), 1)) if band else None,
    )
