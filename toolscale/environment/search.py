"""Find calls that reach every guard of a tool, and its success: on SQLite, where a try costs microseconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolscale.canonical import canonical_json, stable_int
from toolscale.environment.guards import Arguments, CallMaker
from toolscale.environment.row_graph import RowGraph
from toolscale.environment.world import World
from toolscale.errors import SandboxError
from toolscale.sandbox.arguments import rows_json
from toolscale.sql.compiled import CompiledStep, CompiledTool

SUCCESS = -1
"""The target that stands for all guards passed."""

_PER_TARGET = 2
_SUCCESSES = 4
_TRIES = 4000
_LEAST_TRIES = 60
_TRIES_AFTER = 60

Made = tuple[str, Arguments]
"""A call: tool and arguments."""


@dataclass(frozen=True)
class Probe:
    """A call found by the search: what is called before it, and the guard it reaches."""

    target: int
    arguments: Arguments
    before: tuple[Made, ...] = ()


@dataclass
class Found:
    """The probes of one tool."""

    tool: CompiledTool
    targets: dict[int, list[Probe]] = field(default_factory=dict)

    @property
    def unreached(self) -> list[int]:
        """Steps whose guard no probe reaches, and SUCCESS."""
        return [target for target in (*guards_of(self.tool), SUCCESS) if not self.targets.get(target)]

    def add(self, probe: Probe) -> None:
        """Keep the probe if its target has too few."""
        probes = self.targets.setdefault(probe.target, [])
        most = _SUCCESSES if probe.target == SUCCESS else _PER_TARGET
        if len(probes) < most and all(
            canonical_json(probe.arguments) != canonical_json(other.arguments) for other in probes
        ):
            probes.append(probe)

    @property
    def complete(self) -> bool:
        """Whether every target has as many probes as are wanted."""
        wanted = dict.fromkeys(guards_of(self.tool), _PER_TARGET) | {
            SUCCESS: _SUCCESSES if self.tool.spec.parameters else 1
        }
        return all(len(self.targets.get(target, ())) >= count for target, count in wanted.items())


def guards_of(tool: CompiledTool) -> list[int]:
    """Return the steps at which a call can be refused."""
    return [
        number
        for number, step in enumerate(tool.steps)
        if step.kind in ("check", "forbid") or (step.kind == "let" and step.error is not None)
    ]


def reached(world: World, tool: CompiledTool, arguments: Mapping[str, Any]) -> int:
    """Return the step at which the call would be refused in the present state, or SUCCESS. SandboxError if a `let`
    finds several rows."""
    values = dict(arguments)
    for number, step in enumerate(tool.steps):
        if step.kind in ("exec", "new_id") or step.statement is None:
            break  # all guards stand before
        rows = world.sandbox.query(step.statement, values)
        if _refuses(step, rows):
            return number
        if step.kind == "let":
            if len(rows) > 1:
                raise SandboxError(f"{step.place}: {len(rows)} rows where one is bound")
            row: Sequence[Any] = rows[0] if rows else (None,) * len(step.statement.columns)
            values.update(
                (f"{step.name}__{column}", value) for column, value in zip(step.statement.columns, row, strict=True)
            )
        elif step.kind == "let_rows":
            values[str(step.name)] = rows_json(step.statement.columns, rows)
    return SUCCESS


def _refuses(step: CompiledStep, rows: Sequence[Sequence[Any]]) -> bool:
    if step.kind == "check":
        return not rows or not rows[0][0]
    return bool(rows) if step.kind == "forbid" else step.kind == "let" and not rows and step.error is not None


def search(world: World, tool: CompiledTool, graph: RowGraph) -> Found:
    """Return calls of the tool in the initial state that reach as much of it as can be found, and how many tries the
    rest took in vain."""
    found = Found(tool)
    maker = CallMaker(
        tool, graph, world.environment.spec.world.today, random.Random(stable_int("calls", tool.spec.name))
    )
    world.reset()
    deepest: list[tuple[int, Arguments]] = []
    for number in range(_TRIES if tool.spec.parameters else 1):
        if found.complete and number >= _LEAST_TRIES:
            break
        base = deepest[maker.rng.randrange(len(deepest))][1] if deepest and number % 2 else None
        arguments = maker.draw() if base is None else maker.vary(base)
        _try(world, found, arguments, (), deepest)
    return found


def search_after(
    world: World, found: Found, graph: RowGraph, setups: Sequence[Made], call: Callable[[World, Made], bool]
) -> None:
    """Look for the targets that are left in the states after other calls: the same call again, or one that shares
    arguments with it."""
    tool = found.tool
    maker = CallMaker(
        tool, graph, world.environment.spec.world.today, random.Random(stable_int("calls after", tool.spec.name))
    )
    deepest = [
        (target, probe.arguments) for target, probes in found.targets.items() for probe in probes if target == SUCCESS
    ]
    for setup in setups:
        if not found.unreached:
            return
        world.reset()
        if not call(world, setup):
            continue
        shared = {name: value for name, value in setup[1].items() if name in tool.spec.parameters}
        for number in range(_TRIES_AFTER):
            base = deepest[maker.rng.randrange(len(deepest))][1] if deepest and number % 3 else maker.draw()
            arguments = dict(setup[1]) if number == 0 and setup[0] == tool.spec.name else {**base, **shared}
            if number > 1 and arguments and maker.rng.random() < 0.5:
                arguments = {**maker.vary(arguments), **(shared if number % 2 else {})}
            _try(world, found, arguments, (setup,), [])


def _try(
    world: World, found: Found, arguments: Arguments, before: tuple[Made, ...], deepest: list[tuple[int, Arguments]]
) -> None:
    tool, complete = world.prepare(found.tool.spec.name, arguments)
    if tool is None or isinstance(complete, str):
        return
    target = reached(world, tool, complete)
    depth = len(tool.steps) + 1 if target == SUCCESS else target
    if target not in found.targets or len(found.targets[target]) < _PER_TARGET or target == SUCCESS:
        found.add(Probe(target, arguments, before))
    if not deepest or depth > deepest[0][0]:
        deepest[:] = [(depth, arguments)]
    elif depth == deepest[0][0] and len(deepest) < 40:
        deepest.append((depth, arguments))
