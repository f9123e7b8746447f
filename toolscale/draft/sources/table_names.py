"""How tables and columns of somebody's database are called here: as admission allows, each name once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from toolscale.draft.sources.column_figures import Figures
from toolscale.draft.sources.keys import PLAIN_KEYS
from toolscale.draft.sources.naming import singular, snake
from toolscale.draft.sources.reflection import FoundTable
from toolscale.environment.builtins import HANDOVERS
from toolscale.environment.scaffold import Entity
from toolscale.forbidden_names import LONGEST_TABLE, refusals

LONGEST = LONGEST_TABLE - len("_entry") - 2
"""Letters of a name: with what may stand behind it, its plural is within what a table may have."""


@dataclass(frozen=True)
class Plan:
    """How a table is called here."""

    table: FoundTable
    entity: str
    """One row of it."""
    name: str
    columns: Mapping[str, str]
    """Name there -> name here, of the columns that are taken."""


def plans_of(
    found: Mapping[str, FoundTable], figures: Mapping[str, Figures], shared: Callable[[str, str], bool],
    notes: list[str],
) -> dict[str, Plan]:  # fmt: skip
    """Return how each table is called; `shared` says of which columns, by table, all that is told is kept as text."""
    plans: dict[str, Plan] = {}
    for name, table in found.items():
        others = {each: _table_words(singular(each)) for each in found if each != name}
        kept = {word for each, words in others.items() if each in words for word in words}
        taken = {HANDOVERS, *kept, *(word for plan in plans.values() for word in (plan.entity, plan.name))}
        entity = _free(singular(snake(name)) or "thing", taken, "entry", _table_words)
        columns = _columns(table, entity, figures[name], lambda column, name=name: shared(name, column), notes)  # type: ignore[misc]
        plan = Plan(table, entity, Entity(entity, (), "").table, columns)
        if plan.name != name:
            notes.append(f"{name}: called {plan.name}")
        plans[name] = plan
    return plans


def _columns(
    table: FoundTable, entity: str, figures: Figures, shared: Callable[[str], bool], notes: list[str]
) -> dict[str, str]:
    named: dict[str, str] = {}
    for column in table.columns:
        if column.name in figures.left_out:
            notes.append(figures.left_out[column.name])
            continue
        name = snake(column.name) or "value"
        if table.key == (column.name,) and name in PLAIN_KEYS:
            name = f"{entity}_{name}"
        if not shared(column.name):
            name = figures.columns[column.name].renamed(name)
        named[column.name] = _free(name, named.values(), "value", _column_words)
        if named[column.name] != column.name:
            notes.append(f"{table.name}.{column.name}: called {named[column.name]}")
    return named


def made_key(plan: Plan) -> str:
    """Return the name of the key that is made for a table without one."""
    return _free(f"{plan.entity}_id", plan.columns.values(), "key", _column_words)


def _free(name: str, taken: Collection[str], ending: str, words_of: Callable[[str], tuple[str, ...]]) -> str:
    """Return a name that nobody refuses in any of its words, and none is taken: `order` is `order_entry`."""
    name = name[:LONGEST].rstrip("_")
    kinds = ("column", "parameter") if words_of is _column_words else ("table", "role")
    allowed = (name, f"{name}_{ending}", f"own_{name}", f"own_{name}_{ending}")
    name = next((each for each in allowed if not any(refusals(w, k) for w in words_of(each) for k in kinds)), ending)
    number, found = 2, name
    while not set(words_of(found)).isdisjoint(taken):
        found, number = f"{name}{number}", number + 1
    return found


def _table_words(entity: str) -> tuple[str, ...]:
    """Return both words for a table, of one row and of all."""
    return entity, Entity(entity, (), "").table


def _column_words(column: str) -> tuple[str, ...]:
    return (column,)
