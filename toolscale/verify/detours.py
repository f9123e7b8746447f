"""What a rollout did besides: what it took back, whom it looked up, what came after the hand-over. The end state does
not show it, and nobody asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from toolscale.environment.builtins import TRANSFER
from toolscale.records import GoldenCall, ToolCall
from toolscale.sandbox.base import NetChanges, Row
from toolscale.verify.states import EndState, EndStates
from toolscale.verify.subject import Subject


def something_else(subject: Subject, calls: Sequence[ToolCall], state: EndState) -> str | None:
    """Return what a rollout that ends in `state` wrote and was not asked for, or None.

    It wrote a row that no right way writes, changed or not. Or a write that no right way makes led away from the end:
    it set a column to what it does not have at the end, made a row that is gone, or removed one that is there. A number
    may come nearer in steps. The right ways are `Subject.ways`. Or it looked up somebody whose affairs the one who
    asks is not told, broke a rule that held at that moment, or handed over before all else was done. Slips that were
    put right at once are left out where the environment forgives them.
    """
    writes = subject.states.writes(calls)
    if subject.environment.spec.world.slips == "forgiven":
        writes = _without_slips(subject.states, writes)
        state = subject.states.of(writes)
    asked = frozenset().union(*(subject.states.of(way).touched for way in subject.ways))
    if strange := sorted(state.touched - asked, key=repr):
        table, key = strange[0]
        return f"wrote {table} {', '.join(map(str, key))}, which nobody asked for"
    if (pried := _prying(subject, calls)) is not None:
        return f"{pried.name} looked up somebody whose affairs are not to be looked up"
    if (broken := subject.broken_on_the_way(subject.states.writes(calls))) is not None:
        return broken
    if (late := _after_hand_over(subject, calls)) is not None:
        return f"{late.name} came after the hand-over, which is the last thing to do"
    for call, place in _detours(subject, writes):
        table, key = place
        return f"{call.name} did something to {table} {', '.join(map(str, key))} that was taken back"
    return None


def _prying(subject: Subject, calls: Sequence[ToolCall]) -> GoldenCall | None:
    """Return the first call that shows a row of somebody who is only asked about, and which no golden call shows."""
    roles, hidden = subject.plan.roles, set[str]()
    for name, rows in subject.inputs.hidden.items():
        if (roles[name].ancestors or (name,))[-1] in subject.inputs.hidden:  # else it is the asker's own
            key = subject.environment.schema.tables[roles[name].table].key
            hidden |= {str(row[column]) for row in rows for column in key}
    if not hidden:
        return None
    shown = {value for recorded in subject.recording.calls for value in _texts(recorded.call.result)}
    return next(
        (call for call in subject.states.made(calls) if (hidden - shown).intersection(_texts(call.result))), None
    )


def _texts(value: object) -> Iterator[str]:
    """Yield every value in a result, as text."""
    if isinstance(value, dict):
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _texts(part)
    if isinstance(value, str):
        yield value


def _after_hand_over(subject: Subject, calls: Sequence[ToolCall]) -> ToolCall | None:
    """Return the first call that changed something after the hand-over to a person."""
    writes = subject.states.writes(calls)
    steps = zip(writes, pairwise(subject.states.nets(writes)), strict=True)
    changing = [call for call, (before, after) in steps if before != after]
    names = [call.name for call in changing]
    return next(iter(changing[names.index(TRANSFER) + 1 :]), None) if TRANSFER in names else None


def _without_slips(states: EndStates, writes: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Leave out each change that the next change takes back whole, and what takes it back."""
    nets = [states.comparable(net) for net in states.nets(writes)]
    changing = [number for number, (before, after) in enumerate(pairwise(nets)) if before != after]
    slips = set[int]()
    for first, second in pairwise(changing):
        if first not in slips and nets[first] == nets[second + 1]:
            slips |= {first, second}
    return tuple([call for number, call in enumerate(writes) if number not in slips])


def _detours(subject: Subject, writes: Sequence[ToolCall]) -> list[tuple[ToolCall, tuple[str, tuple[object, ...]]]]:
    states = subject.states
    nets = states.nets(writes)
    left = Counter[int]()
    for way in subject.ways:
        left |= Counter(map(states.number, way))
    found = []
    for call, (before, after) in zip(writes, pairwise(nets), strict=True):
        number = states.number(call)
        changed = [place for place in before.keys() | after.keys() if before.get(place) != after.get(place)]
        if not changed:
            continue
        left[number] -= 1
        if left[number] >= 0:
            continue
        for place in sorted(changed, key=repr):
            rows = [_row(net, place, nets) for net in (before, after, nets[-1])]
            if _leads_away(*rows, hidden=states.volatile[place[0]]):
                found.append((call, place))
    return found


def _row(net: NetChanges, place: tuple[str, tuple[object, ...]], nets: Sequence[NetChanges]) -> Row | None:
    """Return a row as it stands after the changes of `net`: of one that is not among them, as it was at first."""
    if place in net:
        return net[place][1]
    return next(other[place][0] for other in nets if place in other)


def _leads_away(before: Row | None, after: Row | None, end: Row | None, *, hidden: frozenset[int]) -> bool:
    """Whether a change of a row is not on the way from what it was to what it is at the end."""
    if after is None or end is None:
        return (after is None) != (end is None)
    if before is None:
        return False
    for position, (was, became, last) in enumerate(zip(before, after, end, strict=True)):
        if position in hidden or became in (was, last):
            continue
        numbers = all(type(value) is int for value in (was, became, last))
        if not numbers or not min(was, last) < became < max(was, last):
            return True
    return False
