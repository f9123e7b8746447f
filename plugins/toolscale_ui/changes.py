"""Figures of nights: what each is called, how it is told, and how it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from toolscale_ui.drift import MOST_NIGHTS, Change, change_of

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


def changes_of(night: Measured, before: Sequence[Measured]) -> dict[str, Change]:
    """Return name of a figure -> its change against the nights before, for those that have one."""
    changes = {}
    for figure in (*FIGURES, *map(of_gate, dict.fromkeys(gate for one in (night, *before) for gate in one.failed))):
        value = night.value(figure)
        earlier = [told for told in (other.value(figure) for other in before) if told is not None]
        if value is not None and (change := change_of(value, earlier, figure.least)):
            changes[figure.name] = change
    return changes
