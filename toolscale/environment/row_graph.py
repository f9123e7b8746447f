"""Rows and how they hang together through foreign keys: where generated calls take arguments that belong together."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from typing import Any

from toolscale.records import SchemaSpec
from toolscale.sandbox.base import Rows

Context = dict[str, tuple[Any, ...]]
"""Table -> one row of it."""


class RowGraph:
    """An index over populated rows."""

    def __init__(self, schema: SchemaSpec, rows: Rows):
        self.schema, self.rows = schema, rows
        self.position = {
            (name, column): number
            for name, table in schema.tables.items()
            for number, column in enumerate(table.columns)
        }
        self._links: dict[str, list[tuple[str, str, str]]] = {name: [] for name in schema.tables}
        """Table -> (its column, other table, column there), in both directions of each foreign key."""
        for name, table in schema.tables.items():
            for column, spec in table.columns.items():
                if spec.fk:
                    parent, target = spec.fk.split(".")
                    self._links[name].append((column, parent, target))
                    self._links[parent].append((target, name, column))
        self._index: dict[tuple[str, str], dict[Any, list[tuple[Any, ...]]]] = {}

    def value(self, table: str, column: str, row: tuple[Any, ...]) -> Any:
        """Return the value of a column of a row."""
        return row[self.position[table, column]]

    def where(self, table: str, column: str, value: Any) -> list[tuple[Any, ...]]:
        """Return the rows of the table in which the column has the value."""
        place = (table, column)
        if place not in self._index:
            found: dict[Any, list[tuple[Any, ...]]] = {}
            for row in self.rows[table]:
                found.setdefault(row[self.position[place]], []).append(row)
            self._index[place] = found
        return self._index[place].get(value, [])

    def related(self, table: str, row: tuple[Any, ...], rng: random.Random) -> Context:
        """Return the row with one related row of each table that can be reached from it."""
        context: Context = {table: row}
        queue = deque([table])
        while queue:
            here = queue.popleft()
            for column, other, target in self._links[here]:
                if other in context:
                    continue
                found = self.where(other, target, self.value(here, column, context[here]))
                if found:
                    context[other] = found[rng.randrange(len(found))]
                    queue.append(other)
        return context

    def sibling(self, table: str, row: tuple[Any, ...], rng: random.Random) -> tuple[Any, ...]:
        """Return another row of the table under the same parent, or any row if there is none."""
        links = [link for link in self._links[table] if self.schema.tables[table].columns[link[0]].fk]
        if links and rng.random() < 0.8:
            column = links[rng.randrange(len(links))][0]
            found = self.where(table, column, self.value(table, column, row))
            if len(found) > 1:
                return found[rng.randrange(len(found))]
        return self.rows[table][rng.randrange(len(self.rows[table]))]


def tables_of(columns: Mapping[str, frozenset[tuple[str, str]]]) -> list[str]:
    """Return the tables that stand among the columns, sorted."""
    return sorted({table for found in columns.values() for table, _ in found})
