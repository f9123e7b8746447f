"""What tells the rows of a table apart, whether or not its database declares a key: a file made from Parquet or JSON
has none."""

from __future__ import annotations

from toolscale.draft.sources.naming import singular, snake
from toolscale.draft.sources.reflection import FoundTable, Reflection, quote

PLAIN_KEYS = ("id", "key", "no", "nr", "number", "code", "uuid", "pk", "name")
"""Names of keys that do not say of what."""

_LIKELY = tuple(name for name in PLAIN_KEYS if name != "name")


def find_key(reflection: Reflection, table: FoundTable, notes: list[str]) -> None:
    """Give the table a key: its own, else unique columns that are always filled, else one unique column, else one that
    is called like a key and whose values all differ. Without any of these one is made for it later."""
    spelt = {each.name: each for each in table.columns}
    table.key = tuple(column.name for name in table.key if (column := table.column(name)))
    named = [tuple(column.name for name in columns if (column := table.column(name))) for columns in table.unique]
    table.unique = [*dict.fromkeys(named)]
    if table.key:
        return
    filled = [columns for columns in table.unique if not any(spelt[name].nullable for name in columns)]
    single = [columns for columns in table.unique if len(columns) == 1]
    table.key = next(iter([*sorted(filled, key=len), *single]), ())
    if table.key:
        notes.append(f"{table.name}: no key; {', '.join(table.key)}, which no two rows share, is taken for it")
    elif likely := _likely(reflection, table):
        table.key = (likely,)
        notes.append(f"{table.name}: no key; {likely}, of which all values differ, is taken for it")
    else:
        notes.append(f"{table.name}: no key; a column for it is made")


def _likely(reflection: Reflection, table: FoundTable) -> str | None:
    """Return the column that is called like the key of a table, if each row has a value of it, and no two the same."""
    row = singular(snake(table.name.rpartition(".")[2]))
    wanted = [name for plain in _LIKELY for name in (plain, f"{row}_{plain}")]
    found = {snake(column.name): column.name for column in reversed(table.columns) if column.kind in _NAMING}
    for name in (found[each] for each in wanted if each in found):
        rows, _ = reflection.attempt(f"SELECT COUNT(*), COUNT(DISTINCT {quote(name)}) FROM {table.place}")
        if rows and rows[0][0] == rows[0][1] > 0:
            return name
    return None


_NAMING = ("whole", "decimal", "text", "any")
"""What names things."""
