"""Defects of the recording: what was recorded is altered before the gates look at it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from toolscale.environment.moments import is_date
from toolscale.environment.world import World
from toolscale.records import Candidate, GoldenCall
from toolscale.tasks.lookups import root_column
from toolscale.tasks.record import RecordedCall, Recording
from toolscale.verify.defects.planting import Defect, Ground, Planted, pick, shuffled, words_of


def altered_result(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """One value in the recorded result of one call is another."""
    calls = ground.recording(candidate).calls
    places = [(number, path, value) for number, made in enumerate(calls) for path, value in _scalars(made.call.result)]
    place = pick(rng, places)
    if place is None:
        return None
    number, path, value = place
    other = another(value, rng)

    def alter(world: World, recording: Recording) -> None:
        made = recording.calls[number]
        result = copy.deepcopy(made.call.result)
        part = result
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = other
        made.call = GoldenCall.model_construct(name=made.call.name, arguments=made.call.arguments, result=result)

    return Planted(candidate, f"call {number + 1} shows {other!r} for {value!r}", alter=alter)


def another(value: int | str, rng: random.Random) -> int | str:
    """Return a value near to this one, of its kind: what stood for a day is a day, since days are said in words."""
    if isinstance(value, int):
        return value + rng.choice((-100, -1, 1, 100))
    if is_date(value):
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    return f"{value}x"


def _scalars(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield (path, value) of every number and text in a result."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        if isinstance(part, int | str) and not isinstance(part, bool):
            yield (*path, name), part
        else:
            yield from _scalars(part, (*path, name))


def fact_of_another_row(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """What must be told is the value of another row that was seen."""
    recording = ground.recording(candidate)
    places = [
        (number, row[column])
        for number, fact in enumerate(recording.facts)
        if fact.kind in ("money", "text", "date", "time", "duration") and not fact.withheld
        for rows in recording.observed.values()
        for row in rows
        for column in row
        if type(row[column]) is type(fact.value)
        and row[column] != fact.value
        and any(other[column] == fact.value for other in rows)
    ]
    place = pick(rng, places)
    if place is None:
        return None
    number, value = place

    def alter(world: World, recording: Recording) -> None:
        recording.facts[number] = recording.facts[number].model_copy(update={"value": value})

    return Planted(candidate, f"fact {number + 1} is {value!r} for {recording.facts[number].value!r}", alter=alter)


def lost_fact(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """One fact that must be told was not recorded."""
    facts = ground.recording(candidate).facts
    number = pick(rng, [number for number, fact in enumerate(facts) if not fact.withheld])

    def alter(world: World, recording: Recording) -> None:
        del recording.facts[number]

    return None if number is None else Planted(candidate, f"fact {facts[number].value!r} is not recorded", alter=alter)


def dropped_call(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """One recorded call is left out."""
    calls = ground.recording(candidate).calls
    number = pick(rng, range(len(calls)))

    def alter(world: World, recording: Recording) -> None:
        del recording.calls[number]

    return None if number is None else Planted(candidate, f"{calls[number].call.name} is left out", alter=alter)


def extra_write(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The agent made one more write, which nobody asked for; it succeeded, and was recorded like the others."""
    for name in shuffled(rng, [name for name, tool in ground.environment.tools.items() if tool.mutates_state]):
        arguments = _arguments(ground, candidate, name, rng)
        if arguments is None or not _changes(ground, candidate, name, arguments):
            continue

        def alter(world: World, recording: Recording, name: str = name, arguments: dict[str, Any] = arguments) -> None:
            result = world.call(name, arguments)
            made = GoldenCall.model_construct(name=name, arguments=arguments, result=result.value)
            recording.calls.append(RecordedCall(made, True, 1))

        return Planted(candidate, f"{name}({arguments}) besides", alter=alter)
    return None


def _arguments(ground: Ground, candidate: Candidate, name: str, rng: random.Random) -> dict[str, Any] | None:
    """Draw arguments for a tool: keys of rows that the agent saw where there are any, else of any row; plain values
    otherwise."""
    tool, plan, found = ground.environment.tools[name], ground.plan_of(candidate), {}
    seen = [
        (plan.roles[role].table, row) for role, rows in ground.recording(candidate).observed.items() for row in rows
    ]
    for param, schema in tool.spec.parameters.items():
        roots = {root_column(ground.environment, column) for column in tool.consumes.get(param, ())}
        keys = [
            row[key]
            for table, row in seen
            for key in row
            if (table, key) in roots and ground.environment.schema.tables[table].key == (key,)
        ]
        tables = [table for table, column in roots if ground.environment.schema.tables[table].key == (column,)]
        options = keys or [key[0] for table in tables for key in ground.table(table)] or _plain(schema, ground.today)
        if "default" not in schema:
            if not options:
                return None
            found[param] = rng.choice(options)
    return found


def _plain(schema: dict[str, Any], today: str) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "integer":
        return [max(int(schema.get("minimum", 0)), value) for value in (1, 7, 100, 1500, 20_000)]
    if schema.get("format") in ("date", "time"):
        return [today if schema["format"] == "date" else "13:00"]
    return ["note"] if schema.get("type") == "string" and "pattern" not in schema else []


def _changes(ground: Ground, candidate: Candidate, name: str, arguments: dict[str, Any]) -> bool:
    """Whether a call after the golden ones succeeds and leaves another state."""
    ground.record(ground.plan_of(candidate), candidate)
    before = ground.world.net_changes()
    return ground.world.call(name, arguments).error is None and ground.world.net_changes() != before


DEFECTS = tuple(
    Defect(plant.__name__, "recording", words_of(plant), plant)
    for plant in (altered_result, fact_of_another_row, lost_fact, dropped_call, extra_write)
)
