"""End states: what a list of calls leaves behind, compared as net row changes without volatile columns.

Lists of one candidate share long beginnings: a mutant changes one call of the golden list. So a list is run from where it parts from the one before,
from a savepoint, and lists that are known ahead are run in the order in which they share most. What a list leaves behind depends on its calls alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale.environment import World
from toolscale.records import ToolCall
from toolscale.sandbox import NetChanges
from toolscale.sql.compiled import CompiledTool

Changes = frozenset[Any]
"""Net row changes in the form in which they are compared."""

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


Runnable = tuple[CompiledTool, dict[str, Any]]
Path = tuple[int, ...]
"""The numbers of calls made one after the other."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A call of this candidate: its number and how it is run, or what is wrong with it; then it reaches no tool and the state is not asked."""

    call: ToolCall
    number: int
    error: str | None = None


class _Run:
    """The calls that were made in the current episode of a world, and the marks to go back to. Any other use of the world in between is seen."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._episode = -1
        self._made: list[int] = []
        self._errors: list[str | None] = []
        self._marks: dict[int, int] = {}
        """How many calls had been made -> mark."""

    def forget(self) -> None:
        """Begin with a new episode next time: the numbers of calls will mean others."""
        self._episode = -1

    def make(self, path: Path, runnable: Sequence[Runnable], marked: Collection[int]) -> tuple[str | None, ...]:
        """Make the calls of a path from the last mark that it shares with what was made; set marks after so many calls as `marked` says."""
        sandbox = self._world.sandbox
        start = self._go_back(path)
        for position in range(start, len(path)):
            if position in marked and position not in self._marks:
                self._marks[position] = sandbox.savepoint()
            tool, arguments = runnable[path[position]]
            error = self._world.call_prepared(tool, arguments, returns=False).error
            self._made.append(path[position])
            self._errors.append(error)
        if len(path) in marked and len(path) not in self._marks:
            self._marks[len(path)] = sandbox.savepoint()
        return tuple(self._errors)

    def _go_back(self, path: Path) -> int:
        """Go to the last mark before which the path and what was made are the same; return how many calls that is."""
        sandbox = self._world.sandbox
        if sandbox.episode != self._episode:  # somebody began another one, or a limit ended ours
            self._world.reset()
            self._episode = sandbox.episode
            self._made, self._errors, self._marks = [], [], {0: sandbox.savepoint()}
            return 0
        shared = _shared(self._made, path)
        start = max(made for made in self._marks if made <= shared)
        # Also where nothing has to be undone: what others did since in this episode has to be.
        sandbox.rollback_to(self._marks[start])
        self._marks = {made: mark for made, mark in self._marks.items() if made <= start}
        del self._made[start:], self._errors[start:]
        return start


class EndStates:
    """Runs lists of calls on a world; the result of a list is kept until `forget`, since mutants, equivalents and idle agents share many."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._run = _Run(world)
        self._known: dict[tuple[str, str], _Known] = {}
        self._by_identity: dict[int, _Known] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._runnable: list[Runnable] = []
        self._paths: dict[int, tuple[Sequence[ToolCall], Path, Sequence[str | None]]] = {}
        self._memo: dict[Path, EndState] = {}
        self._nets: dict[Path, NetChanges] = {}
        self._volatile = {
            table: frozenset(position for position, column in enumerate(spec.columns.values()) if column.volatile)
            for table, spec in world.environment.schema.tables.items()
        }
        self._mutating = frozenset(name for name, tool in world.environment.tools.items() if tool.mutates_state)

    def forget(self) -> None:
        """Drop what was kept: the next candidate begins."""
        for kept in (self._known, self._by_identity, self._numbers, self._runnable, self._paths, self._memo, self._nets):
            kept.clear()
        self._run.forget()

    def writes(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls that may change the state. Admission has shown that the others do not."""
        writes = tuple([call for call in calls if call.name in self._mutating])
        return calls if isinstance(calls, tuple) and len(calls) == len(writes) else writes

    def run_ahead(self, lists: Iterable[Sequence[ToolCall]]) -> None:
        """Run lists that `of` will be asked for, in the order that shares most. It changes no answer, only what the answers take."""
        # Longest shared beginnings next to each other; the first calls met, the golden ones, come last and are left standing for what follows.
        paths = sorted({path for calls in lists if (path := self._path(calls)[0]) not in self._memo}, reverse=True)
        parted = [_shared(path, after) for path, after in zip(paths, paths[1:], strict=False)]
        needed: list[set[int]] = [{len(paths[-1]) - 1, len(paths[-1])}] if paths else []
        for depth in reversed(parted):
            needed.append({depth, *(other for other in needed[-1] if other < depth)})
        for path, marked in zip(paths, reversed(needed), strict=True):
            self._end(path, marked)

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        """Return the end state of calls made one after the other from a fresh reset."""
        path, refused = self._path(calls)
        state = self._memo.get(path)
        if state is None:
            state = self._end(path, range(len(path) + 1))
        if len(path) == len(calls):
            return state
        errors = iter(state.errors)
        return EndState(state.changes, tuple([error or next(errors) for error in refused]), state.touched, state.standing)

    def changed_by_call(self, calls: Sequence[ToolCall]) -> list[frozenset[Any]]:
        """Return, for each call made in order, the keys of the rows that it changed."""
        nets = []
        for length in range(len(calls) + 1):
            path, _ = self._path(calls[:length])
            if path not in self._nets:
                self._end(path, range(len(path) + 1))
            nets.append(self._nets[path])
        return [
            frozenset([key for key in before.keys() | after.keys() if before.get(key) != after.get(key)])
            for before, after in zip(nets, nets[1:], strict=False)
        ]

    def _path(self, calls: Sequence[ToolCall]) -> tuple[Path, Sequence[str | None]]:
        """Return the numbers of the calls that reach a tool, and for each call what is wrong with it, None if it does reach one."""
        found = self._paths.get(id(calls))
        if found is None:
            known = [self._find(call) for call in calls]
            path = tuple([one.number for one in known if one.error is None])
            found = calls, path, [one.error for one in known]
            if isinstance(calls, tuple):  # held, so that its id() stays its own
                self._paths[id(calls)] = found
        return found[1:]

    def _find(self, call: ToolCall) -> _Known:
        """Number a call by the tool and the complete arguments that it comes to: `25.0` is `25`, and a default left out is the default."""
        found = self._by_identity.get(id(call))
        if found is None:
            place = (call.name, repr(call.arguments))
            found = self._known.get(place) or self._known.setdefault(place, self._prepare(call))
            self._by_identity[id(call)] = _Known(call, found.number, found.error)  # holds the call, so that its id() stays its own
        return found

    def _prepare(self, call: ToolCall) -> _Known:
        tool, prepared = self.world.prepare(call.name, call.arguments)
        if tool is None:
            return _Known(call, -1, str(prepared))
        assert isinstance(prepared, dict)
        place = (call.name, repr(sorted(prepared.items())))
        number = self._numbers.setdefault(place, len(self._runnable))
        if number == len(self._runnable):
            self._runnable.append((tool, prepared))
        return _Known(call, number)

    def _end(self, path: Path, marked: Collection[int]) -> EndState:
        errors = self._run.make(path, self._runnable, marked)
        net = self._nets[path] = self.world.net_changes()
        changes = self.comparable(net)
        standing = frozenset([change for change in changes if change[2] is not None])
        state = self._memo[path] = EndState(changes, errors, frozenset(self.world.touched()), standing)
        return state

    def comparable(self, net: NetChanges) -> Changes:
        """Mask volatile columns; a row in which nothing else changed is no change."""
        found = set()
        for (table, key), (before, after) in net.items():
            hidden = self._volatile[table]
            if hidden:
                before, after = _mask(before, hidden), _mask(after, hidden)
            if before != after:
                found.add((table, key, before, after))
        return frozenset(found)


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many calls two lists have in common at the beginning."""
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _mask(row: tuple[Any, ...] | None, hidden: frozenset[int]) -> tuple[Any, ...] | None:
    return None if row is None else tuple(None if position in hidden else value for position, value in enumerate(row))
