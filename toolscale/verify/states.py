"""End states: what a list of calls leaves behind, compared as net row changes without volatile columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.environment import World
from toolscale.records import ToolCall
from toolscale.sandbox import Key, NetChanges, Row

Changes = frozenset[Any]
"""Net row changes in the form in which they are compared: a set of (table, key, row before, row after)."""

NOTHING: Changes = frozenset()


@dataclass(frozen=True, slots=True)
class EndState:
    """What a list of calls left behind, an agent's way: a failed call changes nothing and the next one is made."""

    changes: Changes
    errors: tuple[str | None, ...]
    touched: frozenset[Any]
    """(table, key) of every row written, no-op writes included."""
    standing: Changes = NOTHING
    """The changes of rows that were there before: what a ledger of moves there and back adds up to."""


class EndStates:
    """Runs lists of calls on a world; the result of a list is kept until `forget`, since mutants, equivalents and idle agents share many."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._memo: dict[tuple[tuple[str, str], ...], EndState] = {}
        self._volatile = {
            table: frozenset(position for position, column in enumerate(spec.columns.values()) if column.volatile)
            for table, spec in world.environment.schema.tables.items()
        }
        self._mutating = frozenset(name for name, tool in world.environment.tools.items() if tool.mutates_state)

    def forget(self) -> None:
        """Drop what was kept: the next candidate begins."""
        self._memo.clear()

    def writes(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls that may change the state. Admission has shown that the others do not."""
        return tuple(call for call in calls if call.name in self._mutating)

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        """Return the end state of calls made one after the other from a fresh reset."""
        key = tuple((call.name, canonical_json(call.arguments)) for call in calls)
        state = self._memo.get(key)
        if state is None:
            state = self._memo[key] = self._run(calls)
        return state

    def _run(self, calls: Sequence[ToolCall]) -> EndState:
        world = self.world
        world.reset()
        errors = tuple(world.call(call.name, call.arguments, returns=False).error for call in calls)
        changes = self.comparable(world.net_changes())
        return EndState(changes, errors, frozenset(world.touched()), frozenset(change for change in changes if change[2] is not None))

    def changed_by_call(self, calls: Sequence[ToolCall]) -> list[frozenset[Any]]:
        """Return, for each call made in order, the keys of the rows that it changed."""
        self.world.reset()
        found, before = [], self.world.net_changes()
        for call in calls:
            self.world.call(call.name, call.arguments, returns=False)
            after = self.world.net_changes()
            found.append(frozenset(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)))
            before = after
        return found

    def comparable(self, net: NetChanges) -> Changes:
        """Mask volatile columns; a row in which nothing else changed is no change."""
        return masked(((table, key, before, after) for (table, key), (before, after) in net.items()), self._volatile)


def masked(changes: Iterable[tuple[str, Key, Row | None, Row | None]], hidden: Mapping[str, frozenset[int]]) -> Changes:
    """Return changes without the hidden columns (table -> positions); a row in which nothing else changed is no change."""
    found = set()
    for table, key, before, after in changes:
        positions = hidden[table]
        if positions:
            before, after = _mask(before, positions), _mask(after, positions)
        if before != after:
            found.add((table, key, before, after))
    return frozenset(found)


def _mask(row: Row | None, hidden: frozenset[int]) -> Row | None:
    return None if row is None else tuple(None if position in hidden else value for position, value in enumerate(row))
