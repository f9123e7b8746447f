"""Towards what a policy fails: what of a task is counted, and how often each stream is drawn because of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from toolscale.environment.environment import Environment
from toolscale.errors import UsageError
from toolscale.records import (
    QUIET,
    CallStep,
    DomainWeakness,
    EachStep,
    Failed,
    IfStep,
    Intent,
    PlanStep,
    Task,
    Weakness,
)
from toolscale.strict_json import read_record
from toolscale.tasks.binding import Stream, streams_of
from toolscale.tasks.evolution import first_lines
from toolscale.tasks.split import held_out_intents, partners_of
from toolscale.text_files import printable, read_text

AGAIN = "have it written again by `toolscale evaluate … --weak FILE`"
PULL = 9.0
"""What is failed for certain is drawn ten times as often as what is not failed at all."""


def length_of(calls: int) -> str:
    """Return the group of tasks with so many golden calls."""
    return str(calls) if calls < 4 else "4 to 6" if calls < 7 else "7 or more"


def values_of(task: Task, intents: Mapping[str, Intent]) -> dict[str, set[str]]:
    """Return what a task is counted under: a field of DomainWeakness -> values. `intents`: those of its domain."""
    lines = [line.partition(" ") for line in task.evolutions if line != QUIET]
    own = {task.intent_id, *(rest for operator, _, rest in lines if operator == "compose")}
    broken = {rest for operator, _, rest in lines if operator == "refuse"}
    return {
        "intents": own & intents.keys(),
        "evolutions": {operator for operator, _, _ in lines} or {"none"},
        "tools": {call.name for call in task.golden_calls},
        "rules": broken | {rule for name in own & intents.keys() if (rule := intents[name].rule) is not None},
        "lengths": {length_of(len(task.golden_calls))},
    }


def read_weakness(path: Path) -> Weakness:
    """Return what a file says. UsageError, in one line, if it is none."""
    text, issues = read_text(path, str(path))
    if text is None:
        raise UsageError(str(issues[0]))
    try:
        return read_record(Weakness, text)
    except ValueError as error:
        raise UsageError(f"{path}: {printable(str(error), 300)}; {AGAIN}") from error


def render_weakness(weakness: Weakness) -> bytes:
    """Return the content of the file."""
    return (json.dumps(weakness.told(), indent=1, ensure_ascii=False) + "\n").encode()


def weights_toward(path: Path, environment: Environment) -> dict[str, float]:
    """Return stream -> how often it is drawn beside 1, by what a file says of its domain: 1 + PULL times the lower end
    of the interval of what was failed of its intent. Of an intent of which no task, or few, were tried, those of its
    tools and rules count; an intent of the test split is never drawn. UsageError if the file says nothing of the
    domain, or speaks of what it has not."""
    weakness = read_weakness(path)
    found = weakness.domains.get(environment.domain)
    if found is None:
        raise UsageError(f"{path}: it says nothing of {environment.domain}; it has {', '.join(weakness.domains)}")
    intents = environment.spec.intents.intents
    for name, known in (
        ("intents", {intent.id for intent in intents}),
        ("tools", environment.tools),
        ("rules", environment.spec.policy.rules),
    ):
        if strange := sorted(getattr(found, name).keys() - set(known)):
            raise UsageError(
                f"{path}: domains.{environment.domain}.{name}: {strange[0]!r} is none of the {name} of the domain; "
                "evaluate the policy on tasks of it as it is now"
            )
    held_out = held_out_intents(intents)
    return {
        stream.name: 0.0 if stream.intent.id in held_out else round(1 + PULL * _failed(stream, found, environment), 4)
        for stream in streams_of(environment)
    }


def _failed(stream: Stream, found: DomainWeakness, environment: Environment) -> float:
    """Return the share that is failed for certain of the tasks that a stream gives."""
    own = found.intents.get(stream.intent.id)
    if own is not None and not own.few:
        return own.low
    known: list[Failed | None] = [own]
    known += [found.tools.get(tool) for tool in _tools_of(stream.intent.do)]
    known += [found.rules.get(rule) for rule in _rules_of(stream, environment)]
    return max((each.low for each in known if each is not None), default=0.0)


def _tools_of(steps: Sequence[PlanStep]) -> Iterator[str]:
    """Yield the tools that a plan names, on both sides of its branches."""
    for step in steps:
        if isinstance(step, CallStep):
            yield step.tool
        elif isinstance(step, IfStep):
            yield from _tools_of((*step.then, *step.else_))
        elif isinstance(step, EachStep):
            yield from _tools_of(step.do)


def _rules_of(stream: Stream, environment: Environment) -> Iterable[str]:
    """Return the rules by which tasks of a stream are refused."""
    if stream.kind != "turned":
        return [rule for rule in [stream.intent.rule] if rule is not None]
    intents = {intent.id: intent for intent in environment.spec.intents.intents}
    partners = partners_of(environment.spec.intents.intents)[stream.intent.id]
    lines = first_lines(environment, intents, stream.intent, partners, turned=True)
    return [line.removeprefix("refuse ") for line in lines]
