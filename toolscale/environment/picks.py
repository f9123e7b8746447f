"""Draw rows of other tables: the `ref` of a population."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolscale.environment.expressions import RowExpression, has_subselect
from toolscale.environment.sites import Row, Site
from toolscale.records import population
from toolscale.sql.statements import compile_condition

_TRIES = 20


class RowPicker:
    """Draws the key of a row that matches: from an index over the matched columns, `where` tested once if it depends on
    the other table alone."""

    def __init__(self, value: population.Ref, site: Site):
        self.value, self.site = value, site
        shop = site.shop
        if value.ref not in shop.schema.tables:
            raise site.wrong(f"unknown table {value.ref!r}", f"tables: {', '.join(shop.schema.tables)}")
        key = shop.schema.tables[value.ref].key
        if len(key) != 1:
            raise site.wrong(f"{value.ref} has a key of several columns", "refer to a table with one key column")
        if value.ref not in shop.tables:
            raise site.wrong(f"{value.ref} has not been made before", "move its batch up")
        self.key = key[0]
        self._where: RowExpression | None = None
        rows = self._filtered(shop.tables[value.ref])
        self._readers = {theirs: site.reader(ours) for theirs, ours in value.match.items()}
        known = shop.columns[value.ref]
        for theirs in value.match:
            if theirs not in known:
                raise site.wrong(f"{theirs} is not a column of {value.ref}", f"its columns: {', '.join(known)}")
        self._index: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            self._index.setdefault(tuple(row[theirs] for theirs in value.match), []).append(row)

    def _filtered(self, rows: list[Row]) -> list[Row]:
        """Return the rows that fit `where`, or all of them if it depends on the row that is being made."""
        where, site = self.value.where, self.site
        if where is None or not rows:
            return rows
        if has_subselect(where):
            return condition_rows(site, self.value.ref, where, rows, f"{site.place}.where")
        others = {"parent": site.parent, "row": site.own}
        expression = RowExpression(
            where,
            site.shop.schema,
            site.shop.columns[self.value.ref],
            others,
            place=f"{site.place}.where",
            aliases=(self.value.ref,),
        )
        if expression.others:
            self._where = expression
            return rows
        return [row for row in rows if self._holds(expression, row, {}, {})]

    def _holds(self, expression: RowExpression, theirs: Row, row: Row, parent: Row) -> bool:
        binds = expression.binds(theirs, {"parent": parent, "row": row}, self.site.shop.clock)
        return bool(self.site.shop.connection.execute(expression.statement.sqlite, binds).fetchone()[0])

    def make(self, row: Row, parent: Row) -> Any:
        """Draw a row and return its key."""
        found = self._index.get(tuple(read(row, parent) for read in self._readers.values()), [])
        picked = self._draw(found, row, parent)
        if picked is None:
            if self.value.optional:
                return None
            mapping: Mapping[str, Any] = {theirs: read(row, parent) for theirs, read in self._readers.items()}
            described = ", ".join(f"{name} = {item!r}" for name, item in mapping.items()) or "any"
            problem = f"{self.site.table}: no row of {self.value.ref} is left with {described}" + (
                f" and {self.value.where}" if self.value.where else ""
            )
            raise self.site.wrong(problem, "make more of them, or set optional: true")
        return picked[self.key]

    def _draw(self, found: list[Row], row: Row, parent: Row) -> Row | None:
        rng, where = self.site.rng, self._where
        if self.value.distinct:
            while found:
                position = rng.randrange(len(found))
                found[position], found[-1] = found[-1], found[position]
                picked = found.pop()
                if where is None or self._holds(where, picked, row, parent):
                    return picked
            return None
        if where is None:
            return found[rng.randrange(len(found))] if found else None
        for _ in range(_TRIES if found else 0):
            picked = found[rng.randrange(len(found))]
            if self._holds(where, picked, row, parent):
                return picked
        fitting = [candidate for candidate in found if self._holds(where, candidate, row, parent)]
        return fitting[rng.randrange(len(fitting))] if fitting else None


def condition_rows(site: Site, table: str, where: str, rows: list[Row], place: str) -> list[Row]:
    """Return the rows of the table that fit an SQL condition which reads tables."""
    shop = site.shop
    key = shop.schema.tables[table].key
    statement = compile_condition(where, shop.schema, table=table, place=place, file="population.yaml")
    fitting = {tuple(found[:-1]) for found in shop.connection.execute(statement.sqlite, shop.clock) if found[-1]}
    return [row for row in rows if tuple(row[name] for name in key) in fitting]
