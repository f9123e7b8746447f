"""A database as the source of a domain: its schema in the types of ours, and figures about its columns.

No value of a row goes into a source. What a model reads is made of counts, bounds that are rounded outwards, shapes of
texts (`AA-9999`), and the values of columns that hold few different ones, each in `SHARED` rows or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolscale.draft.sources.column_figures import Figures, figures_of
from toolscale.draft.sources.naming import singular, snake, usable
from toolscale.draft.sources.reflection import FoundTable, Reflection
from toolscale.draft.sources.source import MOST_TABLES, Source
from toolscale.environment.scaffold import Entity
from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.records import ColumnSpec, SchemaSpec, TableSpec
from toolscale.records.schema import ColumnType

_LEFT_OUT = regex(r"BLOB|BYTEA|JSON|ARRAY|\[\]|STRUCT|MAP|UNION|INTERVAL|BIT|GEOMETRY|XML|VECTOR")

MOST_COLUMNS = 60
"""Columns that a table of a domain may have."""

_PLAIN_KEYS = ("id", "key", "no", "nr", "number", "code", "uuid", "pk", "name")
"""Names of keys that do not say of what."""


@dataclass(frozen=True)
class _Plan:
    """How a table is called here."""

    table: FoundTable
    entity: str
    name: str
    columns: Mapping[str, str]
    """Name there -> name here, of the columns that are taken."""


def read_database(reflection: Reflection, only: tuple[str, ...] = ()) -> Source:
    """Return the tables of a database as the source of a domain.

    UsageError if there are none, none of those that are chosen, more than `MOST_TABLES`, or none that refers to
    another.
    """
    chosen = _chosen(reflection, only)
    notes: list[str] = []
    found = {table.name: _with_key(table, notes) for table in chosen}
    figures = {name: figures_of(reflection, table) for name, table in found.items()}
    _infer_references(reflection, found, notes)
    plans = _plans(found, figures, notes)
    ordered = _in_order(found, notes)
    if not any(table.references for table in found.values()):
        raise UsageError(
            f"{reflection.name}: no table refers to another, so nothing belongs to anybody; "
            "declare foreign keys, or choose other tables with --only"
        )
    tables = {plans[name].name: _table(plans[name], plans, figures) for name in ordered}
    lines = tuple(line for name in ordered for line in _lines(plans, name, tables[plans[name].name], figures[name]))
    return Source(reflection.name, SchemaSpec(tables=tables), lines, notes=tuple(notes))


def _chosen(reflection: Reflection, only: tuple[str, ...]) -> list[FoundTable]:
    names = [table.name for table in reflection.tables]
    if not names:
        raise UsageError(f"{reflection.name}: there is no table; name a database that has some")
    if unknown := [name for name in only if name not in names]:
        raise UsageError(f"--only: there is no table {unknown[0]!r}; there are {_some(names)}")
    if not only and len(names) > MOST_TABLES:
        raise UsageError(
            f"{reflection.name}: {len(names)} tables; choose {MOST_TABLES} or fewer with --only: {_some(names)}"
        )
    if len(only) > MOST_TABLES:
        raise UsageError(f"--only: {len(only)} tables; choose {MOST_TABLES} or fewer")
    chosen = [table for table in reflection.tables if not only or table.name in only]
    for table in chosen:
        if len(table.columns) > MOST_COLUMNS:
            raise UsageError(
                f"{reflection.name}: {table.name} has {len(table.columns)} columns, and {MOST_COLUMNS} can be read; "
                "make a table of those that matter, or leave it out with --only"
            )
    return chosen


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    return ", ".join(names[:30]) + more


def _with_key(table: FoundTable, notes: list[str]) -> FoundTable:
    """Return the table with a key: its own, else a unique column, else one that is made for it."""
    if table.key:
        return table
    if single := next((columns for columns in table.unique if len(columns) == 1), None):
        table.key = single
    else:
        notes.append(f"{table.name}: no key; a column for it is made")
    return table


def _infer_references(reflection: Reflection, found: Mapping[str, FoundTable], notes: list[str]) -> None:
    """Take `orders.customer_id` for a reference to `customers`, where none is declared and every value is found."""
    keys = {name: table for table in found.values() if len(table.key) == 1 for name in _key_names(table)}
    quote = reflection.quote
    for table in found.values():
        for column in table.columns:
            target = keys.get(snake(column.name))
            if target is None or target is table or column.name in table.references:
                continue
            ((held, missing),) = reflection.ask(
                f"SELECT COUNT(*), COUNT(CASE WHEN {quote(column.name)} NOT IN (SELECT {quote(target.key[0])} "
                f"FROM {quote(target.name)}) THEN 1 END) FROM {quote(table.name)} "
                f"WHERE {quote(column.name)} IS NOT NULL"
            )
            if held and not missing:
                table.references[column.name] = (target.name, target.key[0])
                notes.append(f"{table.name}.{column.name}: taken for a reference to {target.name}; each value is found")


def _key_names(table: FoundTable) -> set[str]:
    """Return what a column is called that holds the key of a table: `customer_id`, `sku`."""
    key, row = snake(table.key[0]), singular(snake(table.name))
    return {f"{row}_{key}", f"{row}_{key.removeprefix(f'{row}_')}", *({key} - set(_PLAIN_KEYS))}


def _in_order(found: Mapping[str, FoundTable], notes: list[str]) -> list[str]:
    """Return the tables, parents before children. References out of what is chosen, and those that close a circle, are
    dropped."""
    for table in found.values():
        for column, (other, _) in list(table.references.items()):
            if other not in found:
                del table.references[column]
                notes.append(f"{table.name}.{column}: refers to {other}, which is not among the tables; a plain value")
    ordered: list[str] = []
    while len(ordered) < len(found):
        left = [table for name, table in found.items() if name not in ordered]
        free = [table for table in left if not _waits(table, ordered)]
        if free:
            ordered += [table.name for table in free]
            continue
        table = min(left, key=lambda each: len(_waits(each, ordered)))
        for column in _waits(table, ordered):
            notes.append(
                f"{table.name}.{column}: its reference to {table.references.pop(column)[0]} closes a circle; "
                "a plain value"
            )
    return ordered


def _waits(table: FoundTable, ordered: list[str]) -> list[str]:
    return [column for column, (other, _) in table.references.items() if other not in (*ordered, table.name)]


def _plans(found: Mapping[str, FoundTable], figures: Mapping[str, Figures], notes: list[str]) -> dict[str, _Plan]:
    plans: dict[str, _Plan] = {}
    for name, table in found.items():
        taken = {plan.entity for plan in plans.values()}
        entity = usable(singular(snake(name)) or "thing", taken, "entry")
        plan = _Plan(table, entity, Entity(entity, (), "").table, _columns(table, entity, figures[name], notes))
        if plan.name != name:
            notes.append(f"{name}: called {plan.name}")
        plans[name] = plan
    return plans


def _columns(table: FoundTable, entity: str, figures: Figures, notes: list[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for column in table.columns:
        if _LEFT_OUT.search(column.type):
            notes.append(f"{table.name}.{column.name}: left out, of type {column.type}")
            continue
        name = snake(column.name) or "value"
        if table.key == (column.name,) and name in _PLAIN_KEYS:
            name = f"{entity}_{name}"
        if column.name in figures.columns:
            name = figures.columns[column.name].renamed(name)
        named[column.name] = usable(name, named.values(), "value")
        if named[column.name] != column.name:
            notes.append(f"{table.name}.{column.name}: called {named[column.name]}")
    return named


def _table(plan: _Plan, plans: Mapping[str, _Plan], figures: Mapping[str, Figures]) -> TableSpec:
    table, columns = plan.table, dict[str, ColumnSpec]()
    if not table.key:
        columns[usable(f"{plan.entity}_id", plan.columns.values(), "key")] = ColumnSpec(type="text", pk=True)
    unique = {each[0] for each in table.unique if len(each) == 1}
    for column in table.columns:
        if column.name not in plan.columns:
            continue
        known = figures[table.name].columns[column.name]
        reference = table.references.get(column.name)
        is_key = column.name in table.key
        columns[plan.columns[column.name]] = ColumnSpec(
            type=_shared_type(table, column.name, plans, figures) if is_key or reference else known.type,
            pk=is_key,
            fk=f"{plans[reference[0]].name}.{plans[reference[0]].columns[reference[1]]}" if reference else None,
            nullable=column.nullable and not is_key and known.nulls > 0,
            values=tuple(known.values) if known.values and known.type == "text" and not reference else None,
            unique=column.name in unique and not is_key,
        )
    several = tuple(
        tuple(plan.columns[name] for name in each)
        for each in table.unique
        if len(each) > 1 and all(name in plan.columns for name in each)
    )
    return TableSpec(columns=columns, unique=several)


def _shared_type(
    table: FoundTable, column: str, plans: Mapping[str, _Plan], figures: Mapping[str, Figures]
) -> ColumnType:
    """Return the type of a key and of all that refers to it: text, since ids of people's things are no quantities."""
    seen = set[tuple[str, str]]()
    at = (table.name, column)
    while at not in seen:
        seen.add(at)
        reference = plans[at[0]].table.references.get(at[1])
        if reference is None:
            break
        at = reference
    known = figures[at[0]].columns[at[1]]
    return known.type if known.type in ("date", "datetime") else "text"


def _lines(plans: Mapping[str, _Plan], name: str, table: TableSpec, figures: Figures) -> Iterator[str]:
    plan = plans[name]
    parents = dict.fromkeys(plans[other].name for other, _ in plan.table.references.values())
    yield f"`{plan.name}` (one row: {plan.entity}): {figures.rows} rows" + (
        f", belongs to {', '.join(parents)}" if parents else ""
    )
    for there, here in plan.columns.items():
        yield f"`{plan.name}.{here}`: {figures.columns[there].line(table.columns[here].type)}"
