"""Gates `equivalents_accepted`, `idle_fails` and `necessary`: right ways that must pass, lazy ways that must not, and
nothing superfluous."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from toolscale.canonical import canonical_json
from toolscale.environment.builtins import TRANSFER
from toolscale.records import ToolCall
from toolscale.tasks.form import DONE, MOST_REASONS
from toolscale.verify.filled import STYLES
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory

MOST_PAIRS_FROM = 6
"""Up to so many writes, every pair of them is left out once; with more, only pairs of neighbours."""


def equivalents(subject: Subject, other_orders: list[tuple[ToolCall, ...]]) -> Iterator[Trajectory]:
    """Yield trajectories that are right: other orders, other written forms, reads repeated, a failed call first."""
    writes = subject.writes
    for calls in other_orders:
        # A tool that refuses the other order, or a rule that it breaks on the way, says that they do not commute.
        if not any(subject.states.of(calls).errors) and subject.broken_on_the_way(calls) is None:
            yield Trajectory("order", "right", calls)
    doubled = tuple(r.as_made for r in subject.recording.calls for _ in range(1 if r.mutates else 2))
    yield Trajectory("reads", "right", doubled, with_reads=True)
    if any(
        isinstance(value, int) and not isinstance(value, bool) for call in writes for value in call.arguments.values()
    ):
        yield Trajectory("float", "right", tuple(_as_float(call) for call in writes))
    if writes:
        broken = {name: "zz_0" if isinstance(value, str) else value for name, value in writes[0].arguments.items()}
        yield Trajectory("failed_first", "right", (ToolCall.trusted(name=writes[0].name, arguments=broken), *writes))
    yield Trajectory("unknown_first", "right", (ToolCall.trusted(name="zz_no_such_tool", arguments={}), *writes))
    for style in range(1, STYLES):
        yield Trajectory("written", "right", writes, subject.say(subject.told, style))


def exchanged(subject: Subject) -> list[tuple[ToolCall, ...]]:
    """The golden writes with two neighbours exchanged that change different rows, one pair at a time. A hand-over to a
    person stays where it is: nothing may come after it."""
    writes = subject.writes
    touched = subject.states.changed_by_call(writes) if len(writes) > 1 else []
    return [
        (*writes[:position], writes[position + 1], writes[position], *writes[position + 2 :])
        for position in range(len(writes) - 1)
        if not touched[position] & touched[position + 1]
        and not _feeds(subject, position)
        and writes[position + 1].name != TRANSFER
    ]


def _feeds(subject: Subject, position: int) -> bool:
    """Whether the next write uses a result of this one."""
    first, second = subject.recording.writes[position], subject.recording.writes[position + 1]
    if first.plan is None or second.plan is None:
        return False
    return any(first.plan.name in expression.names for expression in second.plan.arguments.values())


def _as_float(call: ToolCall) -> ToolCall:
    changed = {
        name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in call.arguments.items()
    }
    return ToolCall.trusted(name=call.name, arguments=changed)


def idle_agents(subject: Subject) -> Iterator[Trajectory]:
    """Yield agents that do not do the task: each must score 0, refusals included."""
    yield Trajectory("idle", "wrong", (), "")
    recited = [value for values in subject.observed.values() for value in sorted(values, key=str)][:MOST_REASONS]
    for done in DONE:
        yield Trajectory("idle", "wrong", (), canonical_json({"done": done}))
        yield Trajectory("lists_everything", "wrong", (), canonical_json({"done": done, "reasons": recited}))
    transfer = subject.environment.tools.get(TRANSFER)
    for reason in transfer.spec.parameters["reason"]["enum"] if transfer is not None else ():
        calls = (ToolCall.trusted(name=TRANSFER, arguments={"reason": reason}),)
        for done in DONE:
            yield Trajectory("transfer", "wrong", calls, canonical_json({"done": done}))


def without_some(subject: Subject) -> dict[tuple[int, ...], tuple[ToolCall, ...]]:
    """Positions of one golden write, or of two -> the others."""
    writes = subject.writes
    singles = [(position,) for position in range(len(writes))]
    pairs = (
        list(combinations(range(len(writes)), 2))
        if len(writes) <= MOST_PAIRS_FROM
        else [(p, p + 1) for p in range(len(writes) - 1)]
    )
    return {
        out: tuple([call for position, call in enumerate(writes) if position not in out]) for out in (*singles, *pairs)
    }


def superfluous(subject: Subject, rests: Mapping[tuple[int, ...], tuple[ToolCall, ...]]) -> str | None:
    """Return the golden write, or pair of writes, without which the end state is accepted all the same, or None."""
    writes = subject.writes
    moving = set[int]()
    for left_out, calls in rests.items():
        rest = subject.states.of(calls)
        names = " and ".join(writes[position].name for position in left_out)
        if rest.changes in subject.accepted:
            return f"without {names} the end state is accepted all the same"
        if rest.standing != subject.golden.standing:
            moving |= set(left_out) if len(left_out) == 1 else set()
        elif len(left_out) == 2 and moving.issuperset(left_out):
            return f"without {names} the rows that were there end the same: one undoes the other"
    return None
