"""What of an environment the tasks of a dataset touch: tools, guards, rules, intents, values of arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolscale.dataset.columns import Row
from toolscale.environment.builtins import BUILT_IN
from toolscale.environment.environment import Environment
from toolscale.errors import SpecError
from toolscale.records import Check, Forbid, Intent, Let
from toolscale.tasks.evolution import Inapplicable, evolve


@dataclass(frozen=True, slots=True)
class Covered:
    """Of the things of one sort: how many there are, and the names of those that no task touches."""

    all: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the things, the share that some task touches; 1 where there are none."""
        return round(1 - len(self.missing) / self.all, 4) if self.all else 1.0

    def __str__(self) -> str:
        return f"{self.all - len(self.missing)} of {self.all}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the tasks of a domain, or of several together, touch. Names of several begin with the domain."""

    tools: Covered
    """Called by a golden trajectory. The built-in ones do not count."""
    intents: Covered
    """With a task of their own, or composed into one."""
    guards: Covered
    """`tool.number` of each step that can refuse a call, in the tools that are called."""
    rules: Covered
    """Of the policy: those that guard a tool that is called, or that a refusal is about."""
    refused: Covered
    """Of the policy: those that the refusal of some task is about."""
    values: Covered
    """`tool.argument=value` of each value that an `enum`, or a boolean, allows."""
    distinct: Mapping[str, int]
    """`tool.argument` -> different values in golden calls."""


def cover(environment: Environment, tasks: Sequence[Row]) -> Coverage:
    """Return what tasks of this environment touch. ValueError (or another of `UNREADABLE`) if a cell does not hold what
    its column says."""
    calls = {(call["name"], call["arguments"]) for row in tasks for call in row["golden_calls"]}
    called = {name for name, _ in calls}
    ours = {name: tool.spec for name, tool in environment.tools.items() if name not in BUILT_IN}
    rules = environment.spec.policy.rules
    broken = set(_rules_refused(environment, tasks))
    kept = {name for name, rule in rules.items() if called & set(rule.guards)}
    guards = {
        f"{name}.{number}": name in called
        for name, spec in ours.items()
        for number, step in enumerate(spec.steps, 1)
        if isinstance(step, Check | Forbid) or (isinstance(step, Let) and step.error is not None)
    }
    used: dict[str, set[str]] = {}
    for name, arguments in sorted(calls):
        for argument, value in json.loads(arguments).items():
            used.setdefault(f"{name}.{argument}", set()).add(json.dumps(value, sort_keys=True))
    allowed = [
        (f"{name}.{argument}", json.dumps(value))
        for name, spec in ours.items()
        for argument, schema in spec.parameters.items()
        for value in _values_of(schema)
    ]
    return Coverage(
        tools=_covered(ours, called),
        intents=_covered([intent.id for intent in environment.spec.intents.intents], set(_intents(tasks))),
        guards=_covered(guards, {name for name, is_met in guards.items() if is_met}),
        rules=_covered(rules, broken | kept),
        refused=_covered(rules, broken),
        values=_covered(
            [f"{place}={json.loads(value)}" for place, value in allowed],
            {f"{place}={json.loads(value)}" for place, value in allowed if value in used.get(place, ())},
        ),
        distinct={place: len(values) for place, values in sorted(used.items())},
    )


def join_coverage(parts: Mapping[str, Coverage]) -> Coverage:
    """Return what the tasks of several domains touch: domain -> what its own touch."""

    def joined(sort: str) -> Covered:
        found = {domain: getattr(part, sort) for domain, part in parts.items()}
        missing = tuple(f"{domain}.{name}" for domain, part in found.items() for name in part.missing)
        return Covered(sum(part.all for part in found.values()), missing)

    sorts = {sort: joined(sort) for sort in ("tools", "intents", "guards", "rules", "refused", "values")}
    distinct = {f"{domain}.{name}": many for domain, part in parts.items() for name, many in part.distinct.items()}
    return Coverage(**sorts, distinct=distinct)


def _covered(names: Iterable[str], touched: set[str]) -> Covered:
    every = list(names)
    return Covered(len(every), tuple(name for name in every if name not in touched))


def _intents(tasks: Iterable[Row]) -> Iterator[str]:
    for row in tasks:
        yield str(row["intent_id"])
        for line in row["evolutions"]:
            operator, *names = line.split()
            if operator == "compose":
                yield from names[:1]


def _rules_refused(environment: Environment, tasks: Sequence[Row]) -> Iterator[str]:
    """Yield the rules that the refusals of tasks are about: the intent of each, evolved as the row says, names them."""
    intents = {intent.id: intent for intent in environment.spec.intents.intents}

    @cache
    def evolved(intent_id: str, lines: tuple[str, ...]) -> Intent | None:
        try:
            return evolve(environment, intents, intent_id, lines)
        except (Inapplicable, KeyError, SpecError):
            return None  # a row may say anything; `toolscale verify` names it

    for row in tasks:
        if (intent := evolved(row["intent_id"], tuple(row["evolutions"]))) is not None:
            yield from filter(None, (intent.rule, *(part.rule for part in intent.refused)))


def _values_of(schema: Mapping[str, Any]) -> Sequence[Any]:
    return schema.get("enum") or ([False, True] if schema.get("type") == "boolean" else [])
