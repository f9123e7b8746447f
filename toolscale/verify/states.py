"""End states: what a list of calls leaves behind, compared as net row changes without volatile columns.

Lists of one candidate share long beginnings: a mutant changes one call of the golden list. So they are kept as a tree
of states with calls as edges:
each call is made once where lists agree, and a savepoint leads back to where they part. A call that fails leads to the
state it was made in. What a list leaves behind depends on its calls alone, never on what was run before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from toolscale.environment.world import World
from toolscale.errors import SandboxError
from toolscale.records import GoldenCall, ToolCall
from toolscale.sandbox.base import Key, NetChanges, Row
from toolscale.sql.compiled import CompiledTool

Changes = frozenset[Any]
"""Net row changes in the form in which they are compared: a set of (table, key, row before, row after)."""

NOTHING: Changes = frozenset()


class EndState(NamedTuple):
    """What a list of calls left behind, an agent's way: a failed call changes nothing and the next one is made."""

    changes: Changes
    errors: tuple[str | None, ...]
    touched: frozenset[Any]
    """(table, key) of every row written, no-op writes included."""
    standing: Changes = NOTHING
    """The changes of rows that were there before. Two moves there and back leave none of these, only new rows in a
    ledger."""


Runnable = tuple[CompiledTool, dict[str, Any]]


@dataclass(slots=True, eq=False)
class _State:
    """A state that was reached: the successful calls that lead to it, by number, and what the calls made in it led
    to."""

    path: tuple[int, ...]
    edges: dict[int, _State | str] = field(default_factory=dict)
    """Number of a call -> the state after it, or its error: then the state is still this one."""
    net: NetChanges | None = None
    end: EndState | None = None
    """What a list without errors left behind that ends here; None until it was asked for."""


class _List(NamedTuple):
    """A list of calls in numbers; `refused` has for each call what is wrong with it if it reaches no tool, and so no
    state."""

    calls: Sequence[ToolCall]
    numbers: tuple[int, ...]
    refused: tuple[str | None, ...]


class _Position:
    """Where a world stands in the tree, and the marks to go back to. Any other use of the world in between is seen, or
    undone."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._episode = -1
        self._made: list[int] = []
        self._marks: dict[int, tuple[int, int]] = {}
        """How many calls had been made -> (mark, how many writes stood there)."""

    def forget(self) -> None:
        """Begin with a new episode next time: the numbers of calls will mean others."""
        self._episode = -1

    def distrust(self) -> None:
        """Others may have made calls in the present episode: go back to a mark before the next one."""
        if self._marks:
            self._return_to(max(self._marks))

    def mark(self) -> None:
        """Make it possible to come back to here."""
        if len(self._made) not in self._marks:
            self._marks[len(self._made)] = self._world.sandbox.savepoint(), self._world.sandbox.written

    def go_to(self, path: tuple[int, ...], runnable: Sequence[Runnable]) -> None:
        """Go to the state that successful calls led to, from the last mark on the way."""
        if self._world.sandbox.episode != self._episode:  # somebody began another one, or a limit ended ours
            self._world.reset()
            self._episode = self._world.sandbox.episode
            self._made, self._marks = [], {}
            self.mark()
        shared = _shared(self._made, path)
        if shared < len(self._made):
            self._return_to(max(made for made in self._marks if made <= shared))
        for number in path[len(self._made) :]:
            error = self.make(number, runnable[number])
            if error is not None:
                raise SandboxError(
                    f"{runnable[number][0].spec.name} succeeded in this state before and fails now: {error}"
                )

    def make(self, number: int, runnable: Runnable) -> str | None:
        """Make a call and return its error. Raises SandboxError if it fails at a mark and writes all the same."""
        error = self._world.call_prepared(*runnable, returns=False).error
        if error is None:
            self._made.append(number)
        elif len(self._made) in self._marks and self._world.sandbox.written != self._marks[len(self._made)][1]:
            raise SandboxError(f"{runnable[0].spec.name} fails and writes all the same: {error}")
        return error

    def _return_to(self, made: int) -> None:
        if self._world.sandbox.episode == self._episode:
            self._world.sandbox.rollback_to(self._marks[made][0])
        self._marks = {other: mark for other, mark in self._marks.items() if other <= made}
        del self._made[made:]


class EndStates:
    """Runs lists of calls on a world; what they lead to is kept until `forget`, since mutants, equivalents and idle
    agents share many."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._position = _Position(world)
        self._root = _State(())
        self._lists: dict[int, _List] = {}
        self._ends: dict[int, tuple[Sequence[ToolCall], EndState]] = {}
        self._met: dict[int, tuple[ToolCall, tuple[int, str | None]]] = {}
        self._known: dict[tuple[str, str], tuple[int, str | None]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._runnable: list[Runnable] = []
        self.volatile: Mapping[str, frozenset[int]] = {
            table: frozenset(position for position, column in enumerate(spec.columns.values()) if column.volatile)
            for table, spec in world.environment.schema.tables.items()
        }
        self._mutating = frozenset(name for name, tool in world.environment.tools.items() if tool.mutates_state)

    def forget(self) -> None:
        """Drop what was kept: the next candidate begins."""
        self._root = _State(())
        for kept in (self._lists, self._ends, self._met, self._known, self._numbers, self._runnable):
            kept.clear()
        self._position.forget()

    def writes(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls that may change the state. Admission has shown that the others do not."""
        for call in calls:
            if call.name not in self._mutating:
                return tuple([each for each in calls if each.name in self._mutating])
        return calls if isinstance(calls, tuple) else tuple(calls)

    def run_ahead(self, lists: Iterable[Sequence[ToolCall]]) -> None:
        """Run together the lists that `of` will be asked for. This saves time and changes no result."""
        self._run(list(dict.fromkeys([self._numbered(calls).numbers for calls in lists])))

    def of(self, calls: Sequence[ToolCall]) -> EndState:
        """Return the end state of calls made one after the other from a fresh reset."""
        if (known := self._ends.get(id(calls))) is not None:
            return known[1]
        end = self._end_of(calls)
        if isinstance(calls, tuple):  # it is held, so that its id() stays its own
            self._ends[id(calls)] = calls, end
        return end

    def _end_of(self, calls: Sequence[ToolCall]) -> EndState:
        state, listed = self._reach(calls)
        assert state.end is not None
        if len(listed.numbers) == len(calls) == len(state.path):
            return state.end
        errors = iter(self._follow(listed.numbers)[1])
        made = tuple([error or next(errors) for error in listed.refused])
        return EndState(state.end.changes, made, state.end.touched, state.end.standing)

    def made(self, calls: Sequence[ToolCall]) -> list[GoldenCall]:
        """Return the calls that succeed, look-ups included, each with what it gives, made in order from a fresh
        reset."""
        self.world.reset()
        results = [(call, self.world.call(call.name, call.arguments)) for call in calls]
        return [
            GoldenCall.trusted(name=call.name, arguments=call.arguments, result=result.value)
            for call, result in results
            if result.ok
        ]

    def number(self, call: ToolCall) -> int:
        """Return what tells a call from others: its tool and its complete arguments."""
        return self._find(call)[0]

    def changed_by_call(self, calls: Sequence[ToolCall]) -> list[frozenset[Any]]:
        """Return, for each call made in order, the keys of the rows that it changed."""
        return [
            frozenset([key for key in before.keys() | after.keys() if before.get(key) != after.get(key)])
            for before, after in pairwise(self.nets(calls))
        ]

    def nets(self, calls: Sequence[ToolCall]) -> list[NetChanges]:
        """Return how rows differ from the beginning before the first call, and after each."""
        listed = self._numbered(calls)
        self._run([listed.numbers[:length] for length in range(len(listed.numbers) + 1)])
        state, states, numbers = self._root, [self._root], iter(listed.numbers)
        for refused in listed.refused:
            after = state.edges[next(numbers)] if refused is None else refused
            state = state if isinstance(after, str) else after
            states.append(state)
        return [state.net or {} for state in states]

    def _reach(self, calls: Sequence[ToolCall]) -> tuple[_State, _List]:
        listed = self._numbered(calls)
        state, _ = self._follow(listed.numbers)
        if state is None:
            self._run([listed.numbers])
            state, _ = self._follow(listed.numbers)
        assert state is not None, "it was just run"
        return state, listed

    def _follow(self, numbers: tuple[int, ...]) -> tuple[_State | None, list[str | None]]:
        """Return the state that a list leads to and the errors on the way; None if that is not known yet."""
        state, errors = self._root, list[str | None]()
        for number in numbers:
            after = state.edges.get(number)
            if after is None:
                return None, errors
            if isinstance(after, str):
                errors.append(after)
            else:
                state = after
                errors.append(None)
        return (state if state.end is not None else None), errors

    def _run(self, lists: list[tuple[int, ...]]) -> None:
        """Make what is missing of the tree."""
        lists = [numbers for numbers in lists if self._follow(numbers)[0] is None]
        if lists:
            self._position.distrust()
            self._explore(self._root, [(numbers, 0) for numbers in lists])

    def _explore(self, state: _State, arrived: list[tuple[tuple[int, ...], int]]) -> None:
        """Run lists on from a state; each is given with how many of its calls led here."""
        waiting: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        while True:
            for numbers, made in arrived:
                if made < len(numbers):
                    waiting.setdefault(numbers[made], []).append((numbers, made + 1))
                elif state.end is None:
                    self._position.go_to(state.path, self._runnable)
                    self._look(state)
            if not waiting:
                return
            # The golden calls were met first, so they have the lowest numbers and come last: a list whose call fails
            # here goes on with them. Extra writes follow them.
            number = max(waiting)
            group = waiting.pop(number)
            if number not in state.edges:
                self._position.go_to(state.path, self._runnable)
                if waiting:
                    self._position.mark()
                error = self._position.make(number, self._runnable[number])
                state.edges[number] = _State((*state.path, number)) if error is None else error
            after = state.edges[number]
            arrived = group if isinstance(after, str) else []
            if not isinstance(after, str):
                self._explore(after, group)

    def _look(self, state: _State) -> None:
        """Read what the calls to a state left behind, where the world stands."""
        net = state.net = self.world.net_changes()
        changes = self.comparable(net)
        standing = frozenset([change for change in changes if change[2] is not None])
        state.end = EndState(changes, (None,) * len(state.path), frozenset(self.world.touched()), standing)

    def _numbered(self, calls: Sequence[ToolCall]) -> _List:
        found = self._lists.get(id(calls))
        if found is None:
            known = [self._find(call) for call in calls]
            numbers = tuple([number for number, error in known if error is None])
            found = _List(calls, numbers, tuple([error for _, error in known]))
            if isinstance(calls, tuple):  # the list holds it, so that its id() stays its own
                self._lists[id(calls)] = found
        return found

    def _find(self, call: ToolCall) -> tuple[int, str | None]:
        """Number a call by the tool and the complete arguments that it comes to: `25.0` is `25`, and a default left out
        is the default."""
        met = self._met.get(id(call))
        if met is not None:
            return met[1]
        place = (call.name, repr(call.arguments))
        found = self._known.get(place)
        if found is None:
            tool, prepared = self.world.prepare(call.name, call.arguments)
            if tool is None:
                found = -1, str(prepared)
            else:
                assert isinstance(prepared, dict)
                number = self._numbers.setdefault((call.name, repr(sorted(prepared.items()))), len(self._runnable))
                if number == len(self._runnable):
                    self._runnable.append((tool, prepared))
                found = number, None
            self._known[place] = found
        self._met[id(call)] = call, found  # the call is held, so that its id() stays its own
        return found

    def comparable(self, net: NetChanges) -> Changes:
        """Mask volatile columns; a row in which nothing else changed is no change."""
        return masked(((table, key, before, after) for (table, key), (before, after) in net.items()), self.volatile)


def masked(changes: Iterable[tuple[str, Key, Row | None, Row | None]], hidden: Mapping[str, frozenset[int]]) -> Changes:
    """Return changes without the hidden columns (table -> positions); a row in which nothing else changed is no
    change."""
    found = set()
    for table, key, before, after in changes:
        positions = hidden[table]
        if positions:
            before, after = _mask(before, positions), _mask(after, positions)
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


def _mask(row: Row | None, hidden: frozenset[int]) -> Row | None:
    return None if row is None else tuple(None if position in hidden else value for position, value in enumerate(row))
