"""Where a value of a population is made, and what all makers share."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from toolscale.errors import SpecError, SpecIssue
from toolscale.records import SchemaSpec, WorldSpec, population

Row = dict[str, Any]
Maker = Callable[[Row, Row], Any]
"""(the row so far, the parent row) -> a value."""
Case = TypeVar("Case")


def by_value(cases: Mapping[str, Case]) -> dict[str, Case]:
    """Return the cases by single value: `a | b` stands for both."""
    return {value.strip(): inner for case, inner in cases.items() for value in case.split("|")}


@dataclass
class Workshop:
    """What all makers of one population share."""

    schema: SchemaSpec
    world: WorldSpec
    connection: sqlite3.Connection
    tables: dict[str, list[Row]] = field(default_factory=dict)
    """Rows made so far, helper columns included."""
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """All columns of those rows; a row of a batch that lacks a helper column holds nothing for it."""
    recipes: dict[tuple[str, str], population.Value] = field(default_factory=dict)
    """How each column of each table was made last."""
    sequences: dict[tuple[str, str], int] = field(default_factory=dict)
    digits: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    taken: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    distinct: dict[str, set[Any]] = field(default_factory=dict)
    """Choices used among the rows of the current parent, by place."""
    scale: int = 1

    @property
    def clock(self) -> dict[str, str]:
        """The values that are always bound."""
        return {"now": self.world.now, "today": self.world.today}


@dataclass(frozen=True)
class Site:
    """Where a value is made: its table and column, its place in the file, its random numbers, and what it may refer
    to."""

    shop: Workshop
    table: str
    column: str
    place: str
    rng: random.Random
    own: tuple[str, ...]
    parent: tuple[str, ...]
    changing: frozenset[int] = frozenset()
    """`id` of the rows that a plant changes."""

    def wrong(self, problem: str, remedy: str) -> SpecError:
        """Return the error of this site."""
        return SpecError([SpecIssue("population.yaml", self.place, problem, remedy)])

    def inner(self, part: str) -> Site:
        """Return the site of a nested value; it draws from the same random numbers."""
        return Site(
            self.shop, self.table, self.column, f"{self.place}.{part}", self.rng, self.own, self.parent, self.changing
        )

    def reader(self, name: str) -> Maker:
        """Return a function that reads an earlier column, or `parent.COLUMN`."""
        if name.startswith("parent."):
            column = name.removeprefix("parent.")
            self.need(column, self.parent, f"parent.{column}")
            return lambda row, parent: parent.get(column)
        self.need(name, self.own, name)
        return lambda row, parent: row.get(name)

    def need(self, column: str, columns: tuple[str, ...], shown: str) -> None:
        """Raise unless the column is known here."""
        if column not in columns:
            raise self.wrong(
                f"{shown} is not a column made before this one", f"known here: {', '.join(columns) or 'none'}"
            )
