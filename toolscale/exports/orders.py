"""The golden calls in other orders that are right too, each executed and graded: more conversations for one request."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.environment.world import World
from toolscale.records import GoldenCall, Task, ToolCall
from toolscale.verify.equivalents import exchanged
from toolscale.verify.graded import grade_subject
from toolscale.verify.subject import Subject


def other_orders(task: Task, subject: Subject, world: World) -> Iterator[tuple[GoldenCall, ...]]:
    """Yield the golden calls with two neighbouring writes exchanged, one pair at a time, with what they return then.
    Look-ups stay where they are."""
    places = [place for place, call in enumerate(task.golden_calls) if world.toolbox.tools[call.name].mutates_state]
    for writes in exchanged(subject):
        calls = [ToolCall(name=call.name, arguments=call.arguments) for call in task.golden_calls]
        for place, call in zip(places, writes, strict=True):
            calls[place] = call
        world.reset()
        results = [world.call(call.name, call.arguments) for call in calls]
        if all(result.ok for result in results) and grade_subject(subject, calls, subject.answer).score == 1:
            yield tuple(
                GoldenCall(name=call.name, arguments=call.arguments, result=result.value)
                for call, result in zip(calls, results, strict=True)
            )
