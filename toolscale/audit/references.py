"""References in databases that point at nothing: columns that name rows of a table, and values that name none.

A table is a mapping of records by their key, wherever it lies (`users`, `products.*.variants`), or a list of records
that have a key of their own. A column is taken for a reference to a table if its name says so (`user_id`, `item_ids`,
`orders`) and nearly all of its values are keys there. Names alone prove nothing, and values alone happen by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolscale.audit.found import Finding, Undecided

LEAST_SHARE = 0.95
"""Of the values of a column that must be keys before the others are called dangling."""
MOST_SHOWN = 20
DEEPEST = 20


@dataclass
class Table:
    """A table: its keys, how many rows have them, and the name of its key column."""

    keys: set[str] = field(default_factory=set)
    rows: int = 0
    key_columns: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Value:
    """A value of a column, and the record that it stands in."""

    text: str
    record: str


@dataclass(frozen=True)
class Reference:
    """A column whose name speaks of tables, its values, and those of them that are no key there."""

    column: str
    targets: tuple[str, ...]
    values: tuple[Value, ...]
    lost: tuple[Value, ...]

    @property
    def share(self) -> float:
        """The share of values that are keys."""
        return 1 - len(self.lost) / len(self.values)


def references(database: Any) -> list[Reference]:
    """Return the columns of a database that may refer to tables, by their names."""
    tables: dict[str, Table] = defaultdict(Table)
    columns: dict[str, list[Value]] = defaultdict(list)
    _walk(database, "", "", tables, columns, 0)
    found = []
    for column, values in sorted(columns.items()):
        if any(_is_key_of(column, name, table) for name, table in tables.items()):
            continue
        targets = tuple(name for name in sorted(tables) if _names(column, name, tables[name]))
        if targets:
            keys = set().union(*(tables[name].keys for name in targets))
            lost = tuple(value for value in values if value.text not in keys)
            found.append(Reference(column, targets, tuple(values), lost))
    return found


def dangling(found: Sequence[Reference], prefix: str = "") -> Iterator[Finding | Undecided]:
    """Yield each dangling value, and each column whose name promises a reference that its values do not keep."""
    for each in found:
        where, to = f"{prefix}{each.column}", " or ".join(f"{prefix}{name}" for name in each.targets)
        number = f"{len(each.values):,} values"
        if each.lost and each.share >= LEAST_SHARE:
            shown = ", ".join(f"{value.text!r} (of {value.record})" for value in each.lost[:MOST_SHOWN])
            more = f" and {len(each.lost) - MOST_SHOWN} more" if len(each.lost) > MOST_SHOWN else ""
            yield Finding("dangling", (), where, f"{len(each.lost)} of {number} name no row of {to}: {shown}{more}")
        elif each.lost and each.share > 0:
            told = f"{where}: {each.share:.0%} of {number} name a row of {to}; it may be no reference"
            yield Undecided("dangling", (), told)


def _walk(
    value: Any, path: str, record: str, tables: dict[str, Table], columns: dict[str, list[Value]], depth: int
) -> None:
    """Collect tables and columns. `record`: the keys on the way here."""
    if depth > DEEPEST:
        return
    if _is_table(value, path):
        for key, row in value.items():
            tables[path].keys.add(str(key))
            tables[path].rows += 1
            tables[path].key_columns |= {name for name, part in row.items() if part == key}
            _walk(row, f"{path}.*", f"{record}/{key}" if record else str(key), tables, columns, depth + 1)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _walk(part, f"{path}.{name}" if path else str(name), record, tables, columns, depth + 1)
    elif isinstance(value, list):
        key = _key_of(value, path)
        for part in value:
            inner = record
            if key is not None:
                tables[path].keys.add(str(part[key]))
                tables[path].rows += 1
                tables[path].key_columns.add(key)
                inner = f"{record}/{part[key]}" if record else str(part[key])
            _walk(part, path if not isinstance(part, Mapping) else f"{path}.*", inner, tables, columns, depth + 1)
    elif isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        columns[path].append(Value(str(value), record))


def _is_table(value: Any, path: str) -> bool:
    """Whether a mapping holds records by their keys: each of them says its own key, or there are many of one shape."""
    if not (path and isinstance(value, Mapping) and value and all(isinstance(row, Mapping) for row in value.values())):
        return False
    if all(key in row.values() for key, row in value.items()):
        return True
    shapes = {tuple(sorted(map(str, row))) for row in value.values()}
    return len(value) >= 3 and len(shapes) == 1


def _key_of(rows: list[Any], path: str) -> str | None:
    """Return the column of records in a list that is the key: `id`, or that of the list's own name."""
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    stem = _stem(path)
    for name in ("id", f"{stem}_id"):
        if all(isinstance(row.get(name), str | int) for row in rows) and len({row[name] for row in rows}) == len(rows):
            return name
    return None


def _is_key_of(column: str, table: str, found: Table) -> bool:
    """Whether a column is the key of the table that it stands in."""
    name = column.removeprefix(f"{table}.*.")
    return len(found.keys) == found.rows and name != column and name in found.key_columns


def _names(column: str, table: str, found: Table) -> bool:
    """Whether the name of a column speaks of a table."""
    if len(found.keys) < found.rows:  # the lines of an order are told apart within it alone: they are no table
        return False
    last = column.rsplit(".", 1)[-1]
    stem, singular = _stem(table), last.removesuffix("s")
    if last in found.key_columns and last != "id":
        return True
    if singular in found.key_columns and singular.endswith("_id"):
        return True
    if last.endswith(("_id", "_ids", "_ref", "_refs")):
        name = last.rsplit("_", 1)[0]
        return name in (stem, f"{stem}s") or stem.startswith(f"{name}_")  # payment_id, of payment_methods
    return last in (f"{stem}s", f"{stem}es") and column != table and not column.startswith(f"{table}.")


def _stem(path: str) -> str:
    """Return the name of a table without its plural."""
    last = [part for part in path.split(".") if part != "*"][-1]
    for ending, single in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if last.endswith(ending):
            return last.removesuffix(ending) + single
    return last
