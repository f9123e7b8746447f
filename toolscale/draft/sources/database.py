"""A database as the source of a domain: its schema in the types of ours, and figures about its columns.

No value of a row goes into a source. What a model reads is made of counts, bounds that are rounded outwards, shapes of
texts (`AA-9999`), and the values of columns that hold few different ones, each in `SHARED` rows or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolscale.draft.sources.column_figures import Figures, figures_of
from toolscale.draft.sources.keys import find_key
from toolscale.draft.sources.naming import singular, snake
from toolscale.draft.sources.reflection import FoundColumn, FoundTable, Reflection
from toolscale.draft.sources.source import MOST_TABLES, Source
from toolscale.draft.sources.table_links import Kinship, is_unique, settle_references
from toolscale.draft.sources.table_names import Plan, made_key, plans_of
from toolscale.environment.references import check_schema
from toolscale.environment.scaffold import Entity
from toolscale.errors import UsageError
from toolscale.records import ColumnSpec, SchemaSpec, TableSpec
from toolscale.records.schema import ColumnType
from toolscale.text_files import printable

MOST_COLUMNS = 60
"""Columns that a table of a domain may have."""


@dataclass(frozen=True)
class _Read:
    """All that was read of a database."""

    figures: Mapping[str, Figures]
    plans: Mapping[str, Plan]
    kin: Kinship

    def is_shared(self, table: str, column: str) -> bool:
        """Return whether a column holds the names of things, which are texts here."""
        return _is_shared(self.plans[table].table, column, self.kin)


def read_database(reflection: Reflection, only: tuple[str, ...] = ()) -> Source:
    """Return the tables of a database as the source of a domain, in a schema that admission takes.

    UsageError if there are none, none of those that are chosen, more than `MOST_TABLES`, or none that refers to
    another.
    """
    notes = [] if only else [*reflection.notes, *_unread(reflection)]
    found = {table.name: table for table in _chosen(reflection, only, notes)}
    for table in found.values():
        find_key(reflection, table, notes)
    kin, before = Kinship(), len(notes)
    ordered = settle_references(reflection, found, kin, notes)
    _must_refer(reflection, found, notes[before:])
    figures = {name: figures_of(reflection, table, _names(table, kin)) for name, table in found.items()}
    plans = plans_of(found, figures, lambda table, column: _is_shared(found[table], column, kin), notes)
    read = _Read(figures, plans, kin)
    notes += [line for table in found.values() for line in (*figures[table.name].notes, *table.notes)]
    tables = {plans[name].name: _table(plans[name], read, notes) for name in ordered}
    notes += _retyped(read)
    schema = SchemaSpec(tables=tables)
    if issues := check_schema(schema):
        raise UsageError(f"{reflection.name}: no schema here can hold it ({issues[0]}); choose tables with --only")
    lines = tuple(line for name in ordered for line in _lines(read, name, tables[plans[name].name]))
    return Source(reflection.name, schema, lines, notes=tuple(notes))


def _unread(reflection: Reflection) -> Iterator[str]:
    """Yield what is not read where nobody chooses tables."""
    if reflection.views:
        yield f"views are not read: {_some(reflection.views)}"
    if more := [name for name in reflection.tables if name not in reflection.shown]:
        yield f"tables of other schemas are not read: {_some(more)}; name those that matter with --only"


def _chosen(reflection: Reflection, only: tuple[str, ...], notes: list[str]) -> list[FoundTable]:
    if not reflection.tables:
        raise UsageError(f"{reflection.name}: there is no table; name a database that has some")
    wanted = dict.fromkeys(_named(name, reflection.tables) for name in only) or reflection.shown
    if len(wanted) > MOST_TABLES:
        if only:
            raise UsageError(f"--only: {len(only)} tables; choose {MOST_TABLES} or fewer")
        raise UsageError(
            f"{reflection.name}: {len(wanted)} tables; choose {MOST_TABLES} or fewer with --only: "
            f"{_some(reflection.shown)}"
        )
    chosen = []
    for table in (reflection.read(name) for name in reflection.tables if name in wanted):
        if len(table.columns) > MOST_COLUMNS:
            raise UsageError(
                f"{reflection.name}: {table.name} has {len(table.columns)} columns, and {MOST_COLUMNS} can be read; "
                "make a table of those that matter, or leave it out with --only"
            )
        rows, cause = reflection.attempt(f"SELECT 1 FROM {table.place} LIMIT 1")
        if rows is None:
            notes.append(f"{table.name}: left out, it cannot be read ({cause})")
        else:
            chosen.append(table)
    if not chosen:
        raise UsageError(f"{reflection.name}: no table can be read; {notes[-1]}")
    return chosen


def _named(name: str, tables: tuple[str, ...]) -> str:
    """Return the table that somebody means: by its name there, in whatever capitals, or by its name here."""
    here = {table: Entity(singular(snake(table)), (), "").table for table in tables}
    for fits in (
        lambda table: table == name,
        lambda table: table.lower() == name.lower(),
        lambda table: name in (here[table], snake(table)),
    ):
        if len(found := [table for table in tables if fits(table)]) == 1:
            return found[0]
    raise UsageError(f"--only: there is no table {name!r}; there are {_some(tables)}")


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    return ", ".join(names[:30]) + more


def _must_refer(reflection: Reflection, found: Mapping[str, FoundTable], lost: list[str]) -> None:
    """UsageError unless some table belongs to another."""
    if any(other != name for name, table in found.items() for other, _ in table.references.values()):
        return
    several = "; ".join(lost[:3])
    raise UsageError(
        f"{reflection.name}: no table refers to another"
        + (f" in a way that can be kept ({several})" if lost else "")
        + ", so nothing belongs to anybody; declare foreign keys"
        + (" of one column" if lost else "")
        + ", or choose other tables with --only"
    )


def _names(table: FoundTable, kin: Kinship) -> set[str]:
    """Return the columns of which no value is told: keys, and what refers to something."""
    spelt = {column.name for name in (name for each in table.declared for name in each.columns)
             if (column := table.column(name))}  # fmt: skip
    return spelt | {column.name for column in table.columns if _is_shared(table, column.name, kin)}


def _is_shared(table: FoundTable, column: str, kin: Kinship) -> bool:
    return column in table.key or (table.name, column) in kin.members


def _table(plan: Plan, read: _Read, notes: list[str]) -> TableSpec:
    table, columns = plan.table, dict[str, ColumnSpec]()
    if not table.key:
        columns[made_key(plan)] = ColumnSpec(type="text", pk=True)
    for column in table.columns:
        if column.name in plan.columns:
            columns[plan.columns[column.name]] = _column(plan, column, read)
    several = list[tuple[str, ...]]()
    for each in table.unique:
        if len(each) > 1 and each != table.key:
            if missing := [name for name in each if name not in plan.columns]:
                notes.append(
                    f"{table.name}: that no two rows share {', '.join(each)} is not kept: {missing[0]} is left out"
                )
            else:
                several.append(tuple(plan.columns[name] for name in each))
    return TableSpec(description=_original(table.name), columns=columns, unique=tuple(several))


def _column(plan: Plan, column: FoundColumn, read: _Read) -> ColumnSpec:
    table, known = plan.table, read.figures[plan.table.name].columns[column.name]
    reference = table.references.get(column.name)
    is_key = column.name in table.key
    told = [_original(column.name)]
    if column.computed is not None:
        told.append(printable(f"computed: {column.computed}" if column.computed else "computed", 120))
    return ColumnSpec(
        type=_shared_type(table, column.name, read) if read.is_shared(table.name, column.name) else known.type,
        description="; ".join(filter(None, told)),
        pk=is_key,
        fk=f"{read.plans[reference[0]].name}.{read.plans[reference[0]].columns[reference[1]]}" if reference else None,
        nullable=column.nullable and not is_key and known.nulls > 0,
        values=tuple(known.values) if known.values and known.type == "text" and not reference else None,
        unique=is_unique(table, column.name) and table.key != (column.name,),
    )


def _original(name: str) -> str:
    """Return what something is called there, where letters of it cannot be kept."""
    return "" if name.isascii() and snake(name) else printable(name, 60)


def _shared_type(table: FoundTable, column: str, read: _Read) -> ColumnType:
    """Return the type of a key and of all that refers to it: text, since ids of people's things are no quantities."""
    there, at = read.kin.of((table.name, column))
    known = read.figures[there].columns[at]
    return known.type if known.type in ("date", "datetime") else "text"


def _retyped(read: _Read) -> Iterator[str]:
    """Yield the line of keys that are text here and something else there."""
    names = [
        f"{name}.{column.name}"
        for name, plan in read.plans.items()
        for column in plan.table.columns
        if column.name in plan.columns and column.kind not in ("text", "any", None)
        if read.is_shared(name, column.name) and _shared_type(plan.table, column.name, read) == "text"
    ]
    if names:
        yield f"{_some(names)}: kept as text, like all keys and what refers to them"


def _lines(read: _Read, name: str, table: TableSpec) -> Iterator[str]:
    plan, figures = read.plans[name], read.figures[name]
    parents = dict.fromkeys(read.plans[other].name for other, _ in plan.table.references.values())
    rows = "many" if figures.rows is None else figures.rows
    yield f"`{plan.name}` (one row: {plan.entity}): {rows} rows" + (
        f", belongs to {', '.join(parents)}" if parents else ""
    )
    for there, here in plan.columns.items():
        yield f"`{plan.name}.{here}`: {figures.columns[there].line(table.columns[here].type)}"
