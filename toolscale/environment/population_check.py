"""Check a population without making it: tables, columns, parents, and every expression compiled."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

from toolscale.environment.complaints import correction, suggest, unknown
from toolscale.environment.expressions import FILE, RowExpression, has_subselect
from toolscale.environment.possible import Possible, either, possible
from toolscale.environment.sites import Site, Workshop, by_value
from toolscale.environment.values import maker
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import PopulationSpec, SchemaSpec, WorldSpec
from toolscale.records.population import By, CountBy, Maybe, Plant, Ref, TableRows, Value
from toolscale.sql.statements import compile_condition, compile_write


def check_population(schema: SchemaSpec, world: WorldSpec, spec: PopulationSpec) -> list[SpecIssue]:
    """Return everything that is wrong with the recipe and can be seen before a row is made."""
    connection = sqlite3.connect(":memory:")
    try:
        return list(_Recipe(schema, world, connection).issues(spec))
    finally:
        connection.close()


class _Recipe:
    def __init__(self, schema: SchemaSpec, world: WorldSpec, connection: sqlite3.Connection):
        self.schema, self.world, self.connection = schema, world, connection
        self.columns: dict[str, tuple[str, ...]] = {}
        """Table -> its columns, helpers included, as made so far."""
        self.possible: dict[tuple[str, str], Possible] = {}
        """(table, column) -> the values that the batches so far can make."""

    def issues(self, spec: PopulationSpec) -> Iterator[SpecIssue]:
        """Yield all issues."""
        for number, batch in enumerate(spec.tables):
            yield from self._batch(batch, f"tables[{number}]")
        if any(batch.table not in self.schema.tables for batch in spec.tables):
            return  # what a batch of no table would make is missing everywhere below
        for number, plant in enumerate(spec.plant):
            yield from self._plant(plant, f"plant[{number}]")
        for number, text in enumerate(spec.derive):
            try:
                compile_write(text, self.schema, place=f"derive[{number}]", file=FILE)
            except SpecError as error:
                yield from error.issues

    def _batch(self, batch: TableRows, place: str) -> Iterator[SpecIssue]:
        is_known = batch.table in self.schema.tables
        if batch.per is not None and batch.per not in self.columns:
            yield SpecIssue(
                FILE,
                f"{place}.per",
                f"no batch above makes {batch.per!r}",
                suggest(batch.per, self.columns),
                correction(batch.per, self.columns),
            )
        if not is_known:
            yield unknown("table", batch.table, self.schema.tables, FILE, f"{place}.table")
            return
        known = self.schema.tables[batch.table].columns
        for column in batch.columns:
            if column not in known and not column.startswith("_"):
                yield SpecIssue(
                    FILE,
                    f"{place}.columns.{column}",
                    f"unknown column of {batch.table} {column!r}",
                    suggest(column, known),
                    correction(column, known.keys() - batch.columns.keys(), is_key=True),
                )
        lacking = [column for column, item in known.items() if column not in batch.columns and not item.nullable]
        if lacking:
            yield SpecIssue(
                FILE,
                f"{place}.columns",
                f"{', '.join(lacking)} of {batch.table} are not made",
                "give a value for every column that is not nullable",
            )
        parent = self.columns.get(batch.per, ()) if batch.per else ()
        if batch.where and batch.per in self.columns:
            yield from self._condition(batch.where, batch.per, f"{place}.where")
        if isinstance(batch.count, CountBy):
            yield from self._cases(
                batch.count, {}, f"parent.{batch.count.by.removeprefix('parent.')}", batch, f"{place}.count"
            )
        made: dict[str, Possible] = {}
        for position, (column, value) in enumerate(batch.columns.items()):
            own = tuple(batch.columns)[:position]
            here = f"{place}.columns.{column}"
            yield from self._value(value, batch.table, column, own, parent, here)
            for by, inner in _choosers(value, here):
                yield from self._cases(by, made, by.by, batch, inner)
            made[column] = possible(value)
        for column, values in made.items():
            self.possible[batch.table, column] = either(self.possible.get((batch.table, column), frozenset()), values)
        self.columns[batch.table] = tuple(dict.fromkeys((*self.columns.get(batch.table, ()), *batch.columns, *known)))

    def _cases(
        self, by: By | CountBy, made: dict[str, Possible], name: str, batch: TableRows, place: str
    ) -> Iterator[SpecIssue]:
        """Yield each case that never comes to pass, and each value of this row that has no case. Columns with open
        values have neither."""
        values = [value.strip() for case in by.cases for value in case.split("|")]
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield SpecIssue(FILE, f"{place}.cases", f"{value!r} stands in two cases", "keep one of them")
        is_own = not name.startswith("parent.")
        known = made.get(name) if is_own else self.possible.get((batch.per or "", name.removeprefix("parent.")))
        if known is None:
            return
        for value in by_value(by.cases):
            if value not in known and value != "else" and (is_own or value != "None"):
                yield SpecIssue(FILE, f"{place}.cases", f"{name} is never {value!r}", suggest(value, known))
        lacking = sorted(known - set(values)) if is_own and "else" not in values else []
        if lacking:
            yield SpecIssue(
                FILE,
                f"{place}.cases",
                f"{name} may be {', '.join(map(repr, lacking))}, which has no case",
                "add the case, or else",
            )

    def _plant(self, plant: Plant, place: str) -> Iterator[SpecIssue]:
        table = plant.copy_ or plant.change
        if table is None or (plant.copy_ and plant.change):
            yield SpecIssue(FILE, place, "a plant either copies or changes rows", "give one of copy and change")
            return
        if table not in self.columns:
            yield SpecIssue(FILE, place, f"no batch makes {table!r}", suggest(table, self.columns))
            return
        if plant.where:
            yield from self._condition(plant.where, table, f"{place}.where")
        known = self.columns[table]
        for column, value in plant.set.items():
            if column not in known:
                yield unknown(f"column of {table}", column, known, FILE, f"{place}.set.{column}", is_key=True)
            yield from self._value(value, table, column, known, known, f"{place}.set.{column}", planting=True)

    def _condition(self, text: str, table: str, place: str) -> Iterator[SpecIssue]:
        try:
            if has_subselect(text):
                compile_condition(text, self.schema, table=table, place=place, file=FILE)
            else:
                RowExpression(text, self.schema, self.columns[table], {}, place=place, aliases=(table, "parent"))
        except SpecError as error:
            yield from error.issues

    def _value(
        self,
        value: Value,
        table: str,
        column: str,
        own: tuple[str, ...],
        parent: tuple[str, ...],
        place: str,
        *,
        planting: bool = False,
    ) -> Iterator[SpecIssue]:
        for inner, here in _leaves(value, place):
            shop = Workshop(
                self.schema, self.world, self.connection, {name: [] for name in self.columns}, dict(self.columns)
            )
            row = dict.fromkeys(own, None)
            if planting:
                shop.tables[table] = [row]
            site = Site(
                shop, table, column, here, random.Random(0), own, parent, frozenset({0}) if planting else frozenset()
            )
            try:
                maker(inner, site)
                if isinstance(inner, Ref) and inner.where and inner.ref in self.columns:
                    self._ref_where(inner, site)
            except SpecError as error:
                yield from error.issues

    def _ref_where(self, ref: Ref, site: Site) -> None:
        assert ref.where is not None
        place = f"{site.place}.where"
        if has_subselect(ref.where):
            compile_condition(ref.where, self.schema, table=ref.ref, place=place, file=FILE)
        else:
            others = {"parent": site.parent, "row": site.own}
            RowExpression(ref.where, self.schema, self.columns[ref.ref], others, place=place, aliases=(ref.ref,))


def _choosers(value: Value, place: str) -> Iterator[tuple[By, str]]:
    """Yield each choice by a column, with its place."""
    if isinstance(value, By):
        yield value, place
        for case, inner in value.cases.items():
            yield from _choosers(inner, f"{place}.cases.{case}")
    elif isinstance(value, Maybe):
        yield from _choosers(value.otherwise, f"{place}.otherwise")


def _leaves(value: Value, place: str) -> Iterator[tuple[Value, str]]:
    """Yield the value and the values nested in it, each with its place; only those that are not made of others."""
    if isinstance(value, By):
        if not value.cases:
            yield value, place
        for case, inner in value.cases.items():
            yield from _leaves(inner, f"{place}.cases.{case}")
        yield By(by=value.by, cases={}), place
    elif isinstance(value, Maybe):
        yield from _leaves(value.otherwise, f"{place}.otherwise")
    else:
        yield value, place
