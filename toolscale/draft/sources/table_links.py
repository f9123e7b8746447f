"""Which tables of somebody's database belong to which: the references that a schema here can have, and a line for each
that it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from toolscale.draft.sources.keys import PLAIN_KEYS
from toolscale.draft.sources.naming import singular, snake
from toolscale.draft.sources.reflection import FoundReference, FoundTable, Reflection, quote

Cell = tuple[str, str]
"""(table, column)."""


@dataclass
class Kinship:
    """Which columns hold the same kind of thing: keys and all that refers to them, whether or not that is kept as a
    reference."""

    above: dict[Cell, Cell] = field(default_factory=dict)
    members: set[Cell] = field(default_factory=set)

    def join(self, one: Cell, other: Cell) -> None:
        """Note that a column refers to another."""
        self.members |= {one, other}
        first, last = self.of(one), self.of(other)
        if first != last:
            self.above[first] = last

    def of(self, cell: Cell) -> Cell:
        """Return the column that stands for all of one kind."""
        while cell in self.above:
            cell = self.above[cell]
        return cell


def settle_references(
    reflection: Reflection, found: Mapping[str, FoundTable], kin: Kinship, notes: list[str]
) -> list[str]:
    """Set `references` of each table to those that can be kept: of one column, to a column that no two rows share, in
    no circle. Return the tables, parents before children."""
    for table in found.values():
        for declared in table.declared:
            _settle(table, declared, reflection, found, kin, notes)
    _infer(reflection, found, kin, notes)
    return _in_order(found, notes)


def _settle(
    table: FoundTable, declared: FoundReference, reflection: Reflection, found: Mapping[str, FoundTable],
    kin: Kinship, notes: list[str],
) -> None:  # fmt: skip
    columns = [each.name for name in declared.columns if (each := table.column(name))]
    place = f"{table.name}.{', '.join(columns)}"
    plain = "a plain value" if len(columns) == 1 else "plain values"
    name, where = _target(declared.table, reflection)
    target = found.get(name)
    if target is None or not columns:
        notes.append(f"{place}: refers to {name}, {where}; {plain}")
        return
    others = _others(declared, target)
    if len(others) != len(columns):
        key = f"has the key {', '.join(target.key)}" if target.key else "has no key"
        notes.append(f"{place}: refers to the key of {name}, which {key}; {plain}")
        return
    pairs = list(zip(columns, others, strict=True))
    missing = [other for other in others if target.column(other) is None]
    if missing:
        notes.append(f"{place}: refers to {name}.{missing[0]}, which is not there; {plain}")
        return
    for column, other in pairs:
        if other in target.key or is_unique(target, other):
            kin.join((table.name, column), (target.name, other))
    single = [(column, other) for column, other in pairs if is_unique(target, other)]
    if len(pairs) == 1 and not single:
        notes.append(f"{place}: refers to {name}.{others[0]}, which rows may share; {plain}")
    elif not single:
        notes.append(
            f"{place}: refer together to {name} ({', '.join(others)}), and a reference here is of one column; {plain}"
        )
    else:
        _keep(table, *single[0], target, notes)
        if len(pairs) > 1:
            notes.append(f"{place}: refer together to {name}; kept as a reference of {single[0][0]}, which is enough")


def _keep(table: FoundTable, column: str, other: str, target: FoundTable, notes: list[str]) -> None:
    """Keep a reference, if its column has no other one."""
    old = table.references.get(column)
    if (table.name, column) == (target.name, other):
        notes.append(f"{table.name}.{column}: refers to itself; a plain value")
    elif old is not None and old != (target.name, other):
        notes.append(f"{table.name}.{column}: refers to {old[0]} and to {target.name}; only the first is kept")
    else:
        table.references[column] = (target.name, other)


def _target(name: str, reflection: Reflection) -> tuple[str, str]:
    """Return the name of what a reference goes to as the database has it, and where it is if it is no table that was
    chosen."""
    for names, where in (
        (reflection.tables, "which is not among the tables"),
        (reflection.views, "which is a view"),
    ):
        if name in names:
            return name, where
        if alike := [each for each in names if each.lower() == name.lower()]:
            return alike[0], where
    return name, "which is not there"


def _others(declared: FoundReference, target: FoundTable) -> tuple[str, ...]:
    """Return the columns that a reference goes to, by the names that they have; those of the key if it names none."""
    if not declared.others:
        return target.key
    found = [(target.column(name), name) for name in declared.others]
    return tuple(column.name if column else name for column, name in found)


def is_unique(table: FoundTable, column: str) -> bool:
    """Return whether no two rows share a value of a column."""
    return table.key == (column,) or (column,) in table.unique


def _infer(reflection: Reflection, found: Mapping[str, FoundTable], kin: Kinship, notes: list[str]) -> None:
    """Take `orders.customer_id` for a reference to `customers`, where none is declared and every value is found."""
    keys = {name: table for table in found.values() if len(table.key) == 1 for name in _key_names(table)}
    for table in found.values():
        bound = {name.lower() for declared in table.declared for name in declared.columns}
        for column in table.columns:
            target = keys.get(snake(column.name))
            if target is None or target is table or column.name.lower() in bound:
                continue
            key = target.column(target.key[0])
            if key is None or key.kind != column.kind:
                continue
            there, here = quote(key.name), quote(column.name)
            rows, cause = reflection.attempt(
                f"SELECT COUNT(*), COUNT(CASE WHEN {here} NOT IN (SELECT {there} FROM {target.place} "
                f"WHERE {there} IS NOT NULL) THEN 1 END) FROM {table.place} WHERE {here} IS NOT NULL"
            )
            place = f"{table.name}.{column.name}"
            if rows is None:
                notes.append(f"{place}: whether it refers to {target.name} cannot be told ({cause}); a plain value")
            elif rows[0][0] and not rows[0][1]:
                table.references[column.name] = (target.name, key.name)
                kin.join((table.name, column.name), (target.name, key.name))
                notes.append(f"{place}: taken for a reference to {target.name}; each value is found")


def _key_names(table: FoundTable) -> set[str]:
    """Return what a column is called that holds the key of a table: `customer_id`, `sku`."""
    key, row = snake(table.key[0]), singular(snake(table.name))
    return {f"{row}_{key}", f"{row}_{key.removeprefix(f'{row}_')}", *({key} - set(PLAIN_KEYS))}


def _in_order(found: Mapping[str, FoundTable], notes: list[str]) -> list[str]:
    """Return the tables, parents before children. References that close a circle are dropped, and no others."""
    ordered: list[str] = []
    while len(ordered) < len(found):
        left = {name: table for name, table in found.items() if name not in ordered}
        if free := [name for name, table in left.items() if not any(_waits(table, left))]:
            ordered += free
            continue
        closing = {
            name: columns
            for name, table in left.items()
            if (columns := [each for each in _waits(table, left) if _leads(table.references[each][0], name, left)])
        }
        name = min(closing, key=lambda each: len(closing[each]))
        for column in closing[name]:
            other = left[name].references.pop(column)[0]
            notes.append(f"{name}.{column}: its reference to {other} closes a circle; a plain value")
    return ordered


def _waits(table: FoundTable, left: Mapping[str, FoundTable]) -> Iterator[str]:
    """Yield the columns that refer to other tables that are left."""
    return (column for column, (other, _) in table.references.items() if other in left and other != table.name)


def _leads(begin: str, end: str, left: Mapping[str, FoundTable]) -> bool:
    """Return whether references lead from one table to another."""
    seen, ahead = set[str](), [begin]
    while ahead:
        here = ahead.pop()
        if here not in seen:
            seen.add(here)
            ahead += [left[here].references[column][0] for column in _waits(left[here], left)]
    return end in seen
