"""Figures of nights: what each is called, how it is told, how it changed, and its line over the nights of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from toolscale_ui.drift import MOST_NIGHTS, Change, change_of
from toolscale_ui.gates import place
from toolscale_ui.sparkline import Sparkline, sparkline

MOST_GATES = 5
"""Gates whose trend is drawn: those that failed most in the nights of the page."""
MOST_SERIES = 3
"""Nights that asked for different things have trends of their own: at most so many."""

GATE = "gate "
"""Begins the names of the figures of gates, which no other figure can have."""


@dataclass(frozen=True)
class Figure:
    """A figure that is compared."""

    name: str
    label: str
    least: float
    """A change of so much is nothing, even where all nights before were equal."""
    places: int | None = 1
    """Of its percentage, after the point; None for a count."""

    def text(self, value: float | None) -> str:
        """Return a value for people."""
        if value is None:
            return "–"
        return f"{value:,.0f}" if self.places is None else f"{100 * value:.{self.places}f} %"

    def change(self, by: float) -> str:
        """Return a change for people."""
        told = f"{by:+,.1f}".removesuffix(".0") if self.places is None else f"{100 * by:+.{self.places}f}"
        if not float(told.replace(",", "")):
            return "±0"
        return told.replace("-", "−") + ("" if self.places is None else " points")


ACCEPTED = Figure("accepted", "Accepted", least=0.01)
KILLED = Figure("kill_rate", "Kill rate", least=0.001, places=2)
TASKS = Figure("tasks", "Tasks", least=2, places=None)
FIGURES = (ACCEPTED, KILLED, TASKS)


def of_gate(gate: str) -> Figure:
    """Return the figure of a gate: the share of judged candidates that it rejected."""
    return Figure(f"{GATE}{gate}", gate, least=0.01)


class Measured(Protocol):
    """A night with figures."""

    @property
    def when(self) -> datetime | None:
        """Which night."""

    @property
    def series(self) -> tuple[Any, ...] | None:
        """What it asked for: only nights that asked for the same are compared. None if it is compared with none."""

    @property
    def failed(self) -> Mapping[str, int]:
        """Gate -> candidates that it rejected."""

    def value(self, figure: Figure) -> float | None:
        """Its figure, if there is one."""


Night = TypeVar("Night", bound=Measured)


def nights_before(night: Night, all_nights: Sequence[Night]) -> list[Night]:
    """Return the nights that one is compared with, latest first: those before it that asked for the same. One that was
    made twice counts once.

    `all_nights`: newest first; of two runs for one night the one that comes first counts.
    """
    found: dict[datetime, Night] = {}
    for other in all_nights:
        if night.when and other.when and night.series and other.series == night.series and other.when < night.when:
            found.setdefault(other.when, other)
    return [found[when] for when in sorted(found, reverse=True)[:MOST_NIGHTS]]


def changes_of(night: Measured, before: Sequence[Measured], gates: Sequence[str]) -> dict[str, Change]:
    """Return name of a figure -> its change against the nights before, for those that have one."""
    changes = {}
    for figure in (*FIGURES, *map(of_gate, dict.fromkeys([*night.failed, *gates]))):
        value = night.value(figure)
        earlier = [told for told in (other.value(figure) for other in before) if told is not None]
        if value is not None and (change := change_of(value, earlier, figure.least)):
            changes[figure.name] = change
    return changes


def most_failed(nights: Sequence[Measured]) -> list[str]:
    """Return the gates that failed most in these nights, the most first."""
    totals: Counter[str] = Counter()
    for night in nights:
        totals.update(night.failed)
    return sorted((gate for gate in totals if totals[gate]), key=lambda gate: (-totals[gate], place(gate), gate))[
        :MOST_GATES
    ]


@dataclass(frozen=True)
class Trend:
    """A figure over the nights of a page."""

    figure: Figure
    nights: int
    first: float
    last: float
    """Of the last night that has one."""
    latest: float | None
    """Of the last night; None if it has none."""
    change: Change | None
    """Of the latest night."""
    low: float
    high: float
    marks: int
    """Nights whose figure is not usual."""
    line: Sparkline

    @property
    def words(self) -> str:
        """What the line shows, for whoever does not see it."""
        text = self.figure.text
        told = f"{self.figure.label} over {self.nights} {'night' if self.nights == 1 else 'nights'}, the oldest first: "
        told += f"from {text(self.first)} to {text(self.last)}, lowest {text(self.low)}, highest {text(self.high)}"
        return told + (f"; {self.marks} marked as not usual" if self.marks else "")


def trend_of(figure: Figure, nights: Sequence[Measured], changes: Sequence[Mapping[str, Change]]) -> Trend | None:
    """Return the trend of a figure over nights, newest first, each with its changes; None if no night has it."""
    values = [night.value(figure) for night in reversed(nights)]
    known = [value for value in values if value is not None]
    if not known:
        return None
    told = [change.get(figure.name) for change in reversed(changes)]
    marked = [bool(change and change.drift) for change in told]
    line = sparkline(values, marked, told[-1].usual if told[-1] else None)
    return Trend(
        figure, len(known), known[0], known[-1], values[-1], told[-1], min(known), max(known), sum(marked), line
    )
