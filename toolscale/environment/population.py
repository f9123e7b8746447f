"""Make the rows of a domain from a seed: batches in order, then planted scenarios, then derived values."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable

from toolscale.canonical import stable_int
from toolscale.environment.environment import Environment
from toolscale.environment.expressions import RowExpression, has_subselect
from toolscale.environment.picks import condition_rows
from toolscale.environment.rows import check_rows, fault
from toolscale.environment.sites import Maker, Row, Site, Workshop, by_value
from toolscale.environment.values import maker
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import PopulationSpec, SchemaSpec, WorldSpec
from toolscale.records.population import By, Choice, Count, CountBy, Digits, Maybe, Plant, Sequence, TableRows, Value
from toolscale.sandbox.base import Rows
from toolscale.sql.statements import compile_write

FILE = "population.yaml"

MOST_ROWS = 1_000_000
"""The most rows of all tables together: a worker holds them in memory. finance has 13,676."""

MOST_CHARACTERS = 10_000
"""The most characters of one text."""

MOST_WORK = 200_000_000
"""Instructions of SQLite's machine that the statements of `derive` may take together: seconds. Those of finance take
two million."""

WORK_STEP = 10_000
"""Instructions between two looks at how many there were."""

_AFFINITY = {
    "text": "TEXT",
    "date": "TEXT",
    "datetime": "TEXT",
    "time": "TEXT",
    "int": "INTEGER",
    "cents": "INTEGER",
    "bool": "INTEGER",
}


def populate(environment: Environment, seed: int = 0, scale: int = 1) -> Rows:
    """Return the rows of the environment: only its spec, the seed and the scale matter. SpecError if they do not fit
    the schema."""
    spec = environment.spec
    return make_rows(environment.schema, spec.world, spec.population, seed=seed, scale=scale)


def make_rows(schema: SchemaSpec, world: WorldSpec, spec: PopulationSpec, *, seed: int = 0, scale: int = 1) -> Rows:
    """Return the rows of all tables, sorted by key. Only the arguments matter: not the process, the platform, or the
    time.

    SpecError if a value does not fit the schema (naming table, column, row and value), a foreign key dangles, or a
    plant finds too few rows.
    """
    run = _Run(schema, world, spec, seed, scale)
    try:
        for number, batch in enumerate(spec.tables):
            run.batch(batch, f"tables[{number}]")
        for number, plant in enumerate(spec.plant):
            run.plant(plant, f"plant[{number}]")
        run.derive()
        rows = run.rows()
        check_rows(schema, rows, run.shop.connection, run.shop.clock)
    finally:
        run.shop.connection.close()
    return rows


def grows(batch: TableRows) -> bool:
    """Return whether `scale` multiplies the batch itself: not if it hangs on a parent, nor if it draws from a closed
    list without replacement."""
    return batch.per is None and not any(map(_runs_out, batch.columns.values()))


def _runs_out(value: Value) -> bool:
    """Return whether the value, or one of its cases, is drawn from a closed list without replacement."""
    if isinstance(value, By):
        return any(map(_runs_out, value.cases.values()))
    if isinstance(value, Maybe):
        return _runs_out(value.otherwise)
    return isinstance(value, Choice) and value.distinct


class _Run:
    """One run of the recipe. A scratch database without constraints holds the rows for the expressions that read
    tables."""

    def __init__(self, schema: SchemaSpec, world: WorldSpec, spec: PopulationSpec, seed: int, scale: int):
        self.schema, self.spec, self.seed = schema, spec, seed
        self.shop = Workshop(
            schema, world, sqlite3.connect(":memory:", isolation_level=None, cached_statements=512), scale=scale
        )
        self.batches: dict[str, int] = {}
        self.growing = set[str]()
        """Tables that a larger scale makes larger."""
        self.made, self.worked = 0, 0
        for name, table in schema.tables.items():
            columns = ", ".join(f"{column} {_AFFINITY[item.type]}" for column, item in table.columns.items())
            self.shop.connection.execute(f"CREATE TABLE {name} ({columns})")
            indexed = [
                table.key,
                *((column,) for column, item in table.columns.items() if item.fk and (column,) != table.key),
            ]
            for number, index in enumerate(filter(None, indexed)):
                self.shop.connection.execute(f"CREATE INDEX {name}_{number} ON {name} ({', '.join(index)})")

    def site(
        self,
        table: str,
        column: str,
        place: str,
        batch: str,
        own: Iterable[str],
        parent: Iterable[str],
        changing: frozenset[int] = frozenset(),
    ) -> Site:
        """Return the site of a column; its random numbers depend on the seeds, the batch and the column, so that other
        columns stay as they are."""
        rng = random.Random(stable_int("population", self.spec.seed, self.seed, batch, column))
        return Site(self.shop, table, column, place, rng, tuple(own), tuple(parent), changing)

    def batch(self, batch: TableRows, place: str) -> None:
        """Make one batch of rows and put them into the scratch database."""
        table = self.schema.tables[batch.table]
        number = self.batches[batch.table] = self.batches.get(batch.table, -1) + 1
        if grows(batch) or batch.per in self.growing:
            self.growing.add(batch.table)
        label = f"{batch.table}#{number}"
        parents = self._parents(batch, place) if batch.per else [{}]
        columns = self.shop.columns.get(batch.per, ()) if batch.per else ()
        makers = []
        for position, (column, value) in enumerate(batch.columns.items()):
            site = self.site(
                batch.table, column, f"{place}.columns.{column}", label, tuple(batch.columns)[:position], columns
            )
            makers.append((column, maker(value, site), table.columns.get(column), site))
            self.shop.recipes[batch.table, column] = value
        absent = {column: None for column in table.columns if column not in batch.columns}
        self.shop.columns[batch.table] = tuple(
            dict.fromkeys((*self.shop.columns.get(batch.table, ()), *batch.columns, *absent))
        )
        counts = random.Random(stable_int("count", self.spec.seed, self.seed, label))
        made: list[Row] = []
        for parent in parents:
            self.shop.distinct.clear()
            wanted = self._count(batch.count, parent, counts, f"{place}.count") * (
                self.shop.scale if grows(batch) else 1
            )
            self._take(wanted, f"{place}.count")
            for _ in range(wanted):
                row: Row = {}
                for column, make, spec, site in makers:
                    row[column] = value_made = make(row, parent)
                    if isinstance(value_made, str) and len(value_made) > MOST_CHARACTERS:
                        raise site.wrong(
                            f"a text has {len(value_made):,} characters", f"keep it below {MOST_CHARACTERS:,}"
                        )
                    if spec is not None and (problem := fault(value_made, spec)):
                        raise site.wrong(
                            f"row {len(made)} of {batch.table}: {column} is {value_made!r}, {problem}",
                            "correct the value",
                        )
                row.update(absent)
                made.append(row)
        self.shop.tables.setdefault(batch.table, []).extend(made)
        self._insert(batch.table, made)

    def _take(self, wanted: int, place: str) -> None:
        """Count rows before they are made. SpecError if they are too many."""
        self.made += max(wanted, 0)
        if self.made > MOST_ROWS:
            raise SpecError(
                [
                    SpecIssue(
                        FILE,
                        place,
                        f"it makes the {MOST_ROWS + 1:,}th row",
                        f"keep all tables together at {MOST_ROWS:,} rows",
                    )
                ]
            )

    def _parents(self, batch: TableRows, place: str) -> list[Row]:
        assert batch.per is not None
        rows = self.shop.tables.get(batch.per, [])
        return self._where(batch.per, batch.where, rows, f"{place}.where") if batch.where else rows

    def _where(self, table: str, where: str, rows: list[Row], place: str) -> list[Row]:
        """Return the rows of the table for which the condition holds."""
        if not rows:
            return []
        if has_subselect(where):
            return condition_rows(self.site(table, "", place, "", (), ()), table, where, rows, place)
        expression = RowExpression(
            where, self.schema, self.shop.columns[table], {}, place=place, aliases=(table, "parent")
        )
        execute, clock = self.shop.connection.execute, self.shop.clock
        return [
            row for row in rows if execute(expression.statement.sqlite, expression.binds(row, {}, clock)).fetchone()[0]
        ]

    def _count(self, count: Count | CountBy, parent: Row, rng: random.Random, place: str) -> int:
        if isinstance(count, CountBy):
            found = str(parent.get(count.by.removeprefix("parent.")))
            cases = by_value(count.cases)
            case = cases.get(found, cases.get("else"))
            if case is None:
                raise SpecError(
                    [
                        SpecIssue(
                            FILE,
                            place,
                            f"{count.by} of the parent is {found!r}, which has no case",
                            "add the case, or else",
                        )
                    ]
                )
            count = case
        return count if isinstance(count, int) else rng.randint(*count)

    def plant(self, plant: Plant, place: str) -> None:
        """Copy or change the rows drawn for one scenario."""
        table = plant.copy_ or plant.change
        assert table is not None
        self.shop.distinct.clear()
        rows = self.shop.tables.get(table, [])
        fitting = self._where(table, plant.where, rows, f"{place}.where") if plant.where else list(rows)
        wanted = plant.count * (self.shop.scale if table in self.growing else 1)
        if len(fitting) < wanted:
            raise SpecError(
                [
                    SpecIssue(
                        FILE,
                        place,
                        f"{plant.title}: {len(fitting)} rows of {table} fit, {wanted} are wanted",
                        "lower count or widen where",
                    )
                ]
            )
        label = f"plant:{plant.title}"
        drawn = random.Random(stable_int("plant", self.spec.seed, self.seed, label)).sample(fitting, wanted)
        makers = self._plant_makers(plant, table, place, label, drawn)
        made = [self._planted(dict(row), row, makers, table) for row in drawn]
        if plant.copy_:
            self._take(len(made), f"{place}.count")
            rows.extend(made)
            self._insert(table, made)
            return
        for old, new in zip(drawn, made, strict=True):
            self._delete(table, old)
            old.update(new)
        self._insert(table, drawn)

    def _plant_makers(
        self, plant: Plant, table: str, place: str, label: str, drawn: list[Row]
    ) -> list[tuple[str, Maker, Site]]:
        known = self.shop.columns[table]
        values: dict[str, Value] = dict(plant.set)
        for column in self.schema.tables[table].columns:
            recipe = self.shop.recipes.get((table, column))
            if plant.copy_ and column not in values and isinstance(recipe, Sequence | Digits):
                values[column] = recipe  # a copy needs its own number
        changing = frozenset(id(row) for row in drawn)
        makers = []
        for column, value in values.items():
            if column not in known:
                raise SpecError(
                    [
                        SpecIssue(
                            FILE,
                            f"{place}.set.{column}",
                            f"{column} is not a column of {table}",
                            f"its columns: {', '.join(known)}",
                        )
                    ]
                )
            site = self.site(table, column, f"{place}.set.{column}", label, known, known, changing)
            makers.append((column, maker(value, site), site))
        return makers

    def _planted(self, row: Row, old: Row, makers: list[tuple[str, Maker, Site]], table: str) -> Row:
        for column, make, site in makers:
            row[column] = make(row, old)
            spec = self.schema.tables[table].columns.get(column)
            if spec is not None and (problem := fault(row[column], spec)):
                raise site.wrong(f"{table}: {column} is {row[column]!r}, {problem}", "correct the value")
        return row

    def _insert(self, table: str, rows: list[Row]) -> None:
        columns = tuple(self.schema.tables[table].columns)
        marks = ", ".join("?" * len(columns))
        self.shop.connection.execute("BEGIN")
        self.shop.connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})", [tuple(row.get(column) for column in columns) for row in rows]
        )
        self.shop.connection.execute("COMMIT")

    def _delete(self, table: str, row: Row) -> None:
        key = self.schema.tables[table].key
        test = " AND ".join(f"{column} = ?" for column in key)
        self.shop.connection.execute(f"DELETE FROM {table} WHERE {test}", tuple(row[column] for column in key))

    def derive(self) -> None:
        """Run the statements of `derive`."""
        statements = [
            compile_write(text, self.schema, place=f"derive[{number}]", file=FILE)
            for number, text in enumerate(self.spec.derive)
        ]
        for number, (table, columns) in enumerate(
            sorted({pair for statement in statements for pair in statement.equalities})
        ):
            self.shop.connection.execute(f"CREATE INDEX derive_{number} ON {table} ({', '.join(columns)})")
        self.shop.connection.set_progress_handler(self._tires, WORK_STEP)
        for number, statement in enumerate(statements):
            try:
                self.shop.connection.execute(statement.sqlite, self.shop.clock)
            except sqlite3.Error as error:
                raise SpecError([SpecIssue(FILE, f"derive[{number}]", *self._fault(error))]) from error
        self.shop.connection.set_progress_handler(None, 0)

    def _tires(self) -> bool:
        self.worked += WORK_STEP
        return self.worked > MOST_WORK

    def _fault(self, error: sqlite3.Error) -> tuple[str, str]:
        if self.worked > MOST_WORK:
            return (
                f"the statements up to this one take more than {MOST_WORK:,} instructions",
                "let each read fewer rows",
            )
        return f"the statement fails: {error}", "correct it"

    def rows(self) -> Rows:
        """Return all rows, in column order, sorted by key."""
        found: Rows = {}
        for name, table in self.schema.tables.items():
            order = ", ".join(table.key) or "rowid"
            found[name] = self.shop.connection.execute(
                f"SELECT {', '.join(table.columns)} FROM {name} ORDER BY {order}"
            ).fetchall()
        return found
