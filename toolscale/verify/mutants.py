"""Gate `mutants_killed`: trajectories that are wrong by their meaning, labelled before they are judged.

Operators and labels follow the definitions in `docs/understand/gates.md`. Every argument is mutated by what it is: the
key of a row (sibling, stranger), an amount, a date, an enum value; calls are dropped, repeated, replaced by another
tool or added; branches are taken the other way; facts are falsified, exchanged, left out or buried among others.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations, islice
from typing import Any

from toolscale.environment.environment import Environment
from toolscale.language.answers import bare_label
from toolscale.language.heard import contains_words
from toolscale.language.times import clock_text, minutes_of
from toolscale.records import Fact, ToolCall
from toolscale.sandbox.base import Rows
from toolscale.tasks.form import DONE
from toolscale.tasks.lookups import root_column
from toolscale.tasks.names import Expression
from toolscale.tasks.record import Invisible, Recorder, Rejection, with_defaults
from toolscale.verify.deeds import done_of
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory, swap_argument

PER_OPERATOR = 4
"""How many mutants of one operator a candidate is tried with."""


OFF = (5, 60, 720, -1)
"""Minutes by which a time or a length is told or taken wrongly: a few, an hour, am for pm."""

FEW = 12
"""A candidate with fewer mutants than this gets more false facts."""


class Relatives:
    """Keys of the rows of the populated database, by table and by parent: where siblings and strangers come from."""

    def __init__(self, environment: Environment, rows: Rows) -> None:
        self.environment = environment
        self._keys: dict[str, list[Any]] = {}
        self._parents: dict[str, dict[Any, Any]] = {}
        self._families: dict[str, dict[Any, list[Any]]] = {}
        for table, spec in environment.schema.tables.items():
            if len(spec.key) != 1:
                continue
            names = list(spec.columns)
            key = names.index(spec.key[0])
            link = next((names.index(name) for name, column in spec.columns.items() if column.fk), None)
            self._keys[table] = [row[key] for row in rows.get(table, ())]
            self._parents[table] = {
                row[key]: row[link] if link is not None else row[key] for row in rows.get(table, ())
            }
            families: dict[Any, list[Any]] = {}
            for child, parent in self._parents[table].items():
                families.setdefault(parent, []).append(child)
            self._families[table] = families

    def siblings(self, table: str, key: Any) -> list[Any]:
        """Other rows under the same parent."""
        family = self._families.get(table, {}).get(self._parents.get(table, {}).get(key), [])
        return [other for other in family if other != key]

    def strangers(self, table: str, key: Any, rng: random.Random, count: int) -> list[Any]:
        """Rows under other parents."""
        keys, parents = self._keys.get(table, []), self._parents.get(table, {})
        if not keys:
            return []
        drawn = [keys[rng.randrange(len(keys))] for _ in range(count * 2)]
        return [other for other in dict.fromkeys(drawn) if parents[other] != parents.get(key)][:count]

    def any(self, table: str, rng: random.Random) -> list[Any]:
        """Some rows of the table."""
        keys = self._keys.get(table, [])
        return [keys[rng.randrange(len(keys))] for _ in range(3)] if keys else []


class MutantMaker:
    """Makes the mutants of a subject; the draw depends on the candidate alone."""

    def __init__(self, environment: Environment, rows: Rows) -> None:
        self.environment = environment
        self.relatives = Relatives(environment, rows)
        self._writers = sorted(name for name, tool in environment.tools.items() if tool.mutates_state)
        self._required = {
            name: frozenset(
                [param for param, schema in environment.tools[name].spec.parameters.items() if "default" not in schema]
            )
            for name in self._writers
        }

    def make(self, subject: Subject, recorder: Recorder, rng: random.Random) -> list[Trajectory]:
        """Return the mutants but the extra writes, at most PER_OPERATOR of each operator, without repetition."""
        # Drawn before anything else: the state of the random generator must not depend on what was found.
        strangers = list(islice(self._strangers(subject, rng), PER_OPERATOR * 4))
        operators = (
            self._siblings(subject),
            iter(strangers),
            self._amounts(subject),
            self._dates(subject),
            self._enums(subject),
            self._swaps(subject),
            self._tools(subject),
            self._drops(subject),
            self._branches(subject, recorder),
            self._forbidden(subject),
            self._repeats(subject),
            self._claims(subject),
            self._false_facts(subject),
            self._exchanged(subject),
            self._unsaid(subject),
            self._disclosed(subject),
            self._shotguns(subject),
        )
        seen: set[object] = set()
        found: list[Trajectory] = []
        for operator in operators:
            self._add(found, seen, islice(_others(subject, operator), PER_OPERATOR * 4), PER_OPERATOR)
        # Where little is written, the words carry the task: they are tried harder.
        if len(found) < FEW:
            self._add(found, seen, _others(subject, self._false_facts(subject)), FEW)
        return found

    def _add(self, found: list[Trajectory], seen: set[object], made: Iterator[Trajectory], most: int) -> None:
        added = 0
        for trajectory in made:
            what = (trajectory.answer, *[(call.name, repr(call.arguments)) for call in trajectory.calls])
            if what not in seen:
                seen.add(what)
                found.append(trajectory)
                added += 1
                if added == most:
                    return

    def _arguments(self, subject: Subject) -> Iterator[tuple[int, str, Any, Expression]]:
        """Every argument of every golden write: (position, parameter, value, expression)."""
        for position, recorded in enumerate(subject.recording.writes):
            if recorded.plan is not None:
                for name, expression in recorded.plan.arguments.items():
                    yield position, name, recorded.call.arguments[name], expression

    def _table_of(self, tool: str, parameter: str) -> str | None:
        """The table whose key a parameter is."""
        for column in sorted(self.environment.tools[tool].consumes.get(parameter, ())):
            table, name = root_column(self.environment, column)
            if self.environment.schema.tables[table].key == (name,):
                return table
        return None

    def _siblings(self, subject: Subject) -> Iterator[Trajectory]:
        for position, name, value, expression in self._arguments(subject):
            table = self._table_of(subject.writes[position].name, name)
            if table is None:
                continue
            fitting = set()
            if expression.direct is not None and expression.direct[0] in subject.recording.chosen:
                role, column = expression.direct
                fitting = {
                    row[column]
                    for row in (*subject.recording.interchangeable.get(role, ()), *subject.recording.chosen[role])
                }
            for other in self.relatives.siblings(table, value):
                if other not in fitting:
                    yield Trajectory("sibling", "wrong", swap_argument(subject.writes, position, **{name: other}))

    def _strangers(self, subject: Subject, rng: random.Random) -> Iterator[Trajectory]:
        for position, name, value, _ in self._arguments(subject):
            table = self._table_of(subject.writes[position].name, name)
            if table is not None:
                for other in self.relatives.strangers(table, value, rng, 2):
                    yield Trajectory("stranger", "wrong", swap_argument(subject.writes, position, **{name: other}))

    def _amounts(self, subject: Subject) -> Iterator[Trajectory]:
        said = [
            value for name, value in subject.candidate.say.items() if subject.plan.intent.slots[name].kind == "money"
        ]
        others = {}
        for position, name, value, _ in self._arguments(subject):
            if (
                isinstance(value, int)
                and not isinstance(value, bool)
                and self._kind(subject.writes[position].name, name) == "integer"
            ):
                others[position, name] = [
                    other for other in (value + 1, value - 1, value * 100, value // 100, *said) if other != value
                ]
        return self._in_turn("amount", subject, others)

    def _dates(self, subject: Subject) -> Iterator[Trajectory]:
        others = {}
        for position, name, value, _ in self._arguments(subject):
            form = self._schema(subject.writes[position].name, name).get("format")
            if form == "date":
                others[position, name] = [
                    (date.fromisoformat(value) + timedelta(days=days)).isoformat() for days in (1, 7, -1, 31)
                ]
            elif form == "time":
                others[position, name] = [clock_text(minutes_of(value) + off) for off in OFF]
        return self._in_turn("date", subject, others)

    def _enums(self, subject: Subject) -> Iterator[Trajectory]:
        others = {}
        for position, name, value, _ in self._arguments(subject):
            others[position, name] = [
                other for other in self._schema(subject.writes[position].name, name).get("enum", ()) if other != value
            ]
        return self._in_turn("enum", subject, others)

    def _in_turn(
        self, operator: str, subject: Subject, others: Mapping[tuple[int, str], Sequence[Any]]
    ) -> Iterator[Trajectory]:
        """Yield one mutant of each argument, then the next of each: an operator's share must reach every argument
        before it is used up."""
        for turn in range(max(map(len, others.values()), default=0)):
            for (position, name), values in others.items():
                if turn < len(values):
                    yield Trajectory(operator, "wrong", swap_argument(subject.writes, position, **{name: values[turn]}))

    def _schema(self, tool: str, parameter: str) -> dict[str, Any]:
        return self.environment.tools[tool].spec.parameters[parameter]

    def _kind(self, tool: str, parameter: str) -> Any:
        return self._schema(tool, parameter).get("type")

    def _swaps(self, subject: Subject) -> Iterator[Trajectory]:
        for position, call in enumerate(subject.writes):
            ids = [(name, self._table_of(call.name, name)) for name in call.arguments]
            for first, (name, table) in enumerate(ids):
                for other, other_table in ids[first + 1 :]:
                    if table is not None and table == other_table and call.arguments[name] != call.arguments[other]:
                        changed = {name: call.arguments[other], other: call.arguments[name]}
                        yield Trajectory("swap", "wrong", swap_argument(subject.writes, position, **changed))

    def _tools(self, subject: Subject) -> Iterator[Trajectory]:
        for position, call in enumerate(subject.writes):
            for name in self._writers:
                required = self._required[name]
                if name != call.name and required and required <= call.arguments.keys():
                    parameters = self.environment.tools[name].spec.parameters
                    arguments = {param: value for param, value in call.arguments.items() if param in parameters}
                    other = ToolCall.trusted(name=name, arguments=arguments)
                    yield Trajectory(
                        "tool", "wrong", (*subject.writes[:position], other, *subject.writes[position + 1 :])
                    )

    def _drops(self, subject: Subject) -> Iterator[Trajectory]:
        for position in range(len(subject.writes)):
            yield Trajectory("drop", "wrong", (*subject.writes[:position], *subject.writes[position + 1 :]))

    def _branches(self, subject: Subject, recorder: Recorder) -> Iterator[Trajectory]:
        for branch in range(len(subject.recording.branches)):
            recorder.world.reset()
            try:
                other = recorder.record(subject.plan, dataclasses.replace(subject.inputs, flip=branch))
            except (Rejection, Invisible):
                continue
            writes = other.write_calls
            if writes != subject.writes or other.facts != subject.recording.facts:
                done = done_of(subject.plan, other)
                yield Trajectory("branch", "wrong", writes, subject.say(tuple(other.facts), done=done))

    def _forbidden(self, subject: Subject) -> Iterator[Trajectory]:
        if subject.recording.forbidden:
            acts = tuple(
                ToolCall.trusted(name=step.tool.spec.name, arguments=with_defaults(step, arguments))
                for step, arguments in subject.recording.forbidden
            )
            if subject.states.of(acts).changes:  # a tool that refuses by itself leaves nothing to forbid
                yield Trajectory("forbidden", "wrong", acts, subject.say((), done="all"))
                yield Trajectory("forbidden", "wrong", acts)

    def _repeats(self, subject: Subject) -> Iterator[Trajectory]:
        for position, call in enumerate(subject.writes):
            yield Trajectory("repeat", "open", (*subject.writes[: position + 1], call, *subject.writes[position + 1 :]))

    def extras(self, subject: Subject, rng: random.Random) -> Iterator[Trajectory]:
        """Yield the golden writes with one more write each, over ids that the agent saw (any ids of a table that it did
        not see). Many of these writes have no effect."""
        pool: dict[str, list[Any]] = {}
        for name, rows in subject.recording.observed.items():
            role = subject.plan.roles[name]
            if len(role.key) == 1:
                pool.setdefault(role.table, []).extend(row[role.key[0]] for row in rows)
        writers, made = list(self._writers), set[str]()
        rng.shuffle(writers)
        for _ in range(5):
            for name in writers:
                arguments = {}
                for param, schema in self.environment.tools[name].spec.parameters.items():
                    table = self._table_of(name, param)
                    options = (
                        pool.get(table) or self.relatives.any(table, rng)
                        if table is not None
                        else _plain_values(schema, subject.today)
                    )
                    if "default" in schema:
                        continue
                    if not options:
                        break
                    arguments[param] = options[rng.randrange(len(options))]
                else:
                    extra = ToolCall.trusted(name=name, arguments=arguments)
                    if repr(extra) in made:
                        continue
                    made.add(repr(extra))
                    yield Trajectory("extra", "open", (*subject.writes, extra))

    def _claims(self, subject: Subject) -> Iterator[Trajectory]:
        """Claim that more or less was done than was."""
        for done in DONE:
            if done != subject.brief.done:
                yield Trajectory("done", "wrong", subject.writes, subject.say(subject.told, done=done))

    def _false_facts(self, subject: Subject) -> Iterator[Trajectory]:
        for position, fact in enumerate(subject.told):
            for value in self._other_values(subject, fact) if not _is_label(fact, subject.told) else ():
                changed = (
                    *subject.told[:position],
                    fact.model_copy(update={"value": value}),
                    *subject.told[position + 1 :],
                )
                yield Trajectory("fact", "wrong", subject.writes, subject.say(changed))

    def _other_values(self, subject: Subject, fact: Fact) -> Iterator[Any]:
        if fact.kind == "bool":  # a form says it by `done`
            return
        near: Sequence[Any] = ()
        if fact.kind == "yes_no":
            near = (1 - int(fact.value),)
        elif isinstance(fact.value, int):
            near = (fact.value + 1, fact.value * 100, fact.value + 100, fact.value + 9) if fact.value else (1, 100)
            near = tuple(fact.value + off for off in OFF) if fact.kind == "duration" else near
        elif fact.kind == "time":
            near = tuple(clock_text(minutes_of(fact.value) + off) for off in OFF)
        elif fact.kind == "date":
            near = tuple(
                (date.fromisoformat(fact.value) + timedelta(days=days)).isoformat() for days in (1, -7, 31, -1)
            )
        seen = [value for value in sorted(subject.observed.get(fact.kind, ())) if value != fact.value]
        told = {(other.kind, other.value) for other in subject.told}
        for value in (*seen[:1], *near, *seen[1:6]):
            if (fact.kind, value) not in told:
                yield value

    def _exchanged(self, subject: Subject) -> Iterator[Trajectory]:
        """Tell two facts of one kind under each other's label. Pairs without labels are left out, and reasons:
        exchanged, they are only told in another order, which is right."""
        facts = subject.told
        for first, second in combinations(range(len(facts)), 2):
            one, other = facts[first], facts[second]
            labels = {bare_label(fact.about) for fact in (one, other) if fact.about is not None}
            if (
                one.kind == other.kind
                and one.value != other.value
                and (one.field or other.field)
                and labels
                and (len(labels) == 2 or None in (one.about, other.about))
            ):
                changed = list(facts)
                changed[first] = one.model_copy(update={"value": other.value})
                changed[second] = other.model_copy(update={"value": one.value})
                yield Trajectory("exchanged", "wrong", subject.writes, subject.say(changed))

    def _unsaid(self, subject: Subject) -> Iterator[Trajectory]:
        for position, fact in enumerate(subject.told):
            if _is_label(fact, subject.told):
                continue
            rest = (*subject.told[:position], *subject.told[position + 1 :])
            yield Trajectory("unsaid", "wrong", subject.writes, subject.say(rest))

    def _disclosed(self, subject: Subject) -> Iterator[Trajectory]:
        """Tell what is somebody else's, besides all that is to be told."""
        for fact in subject.facts:
            if fact.withheld:
                told = (*subject.told, fact.model_copy(update={"withheld": False}))
                yield Trajectory("disclosed", "wrong", subject.writes, subject.say(told))

    def _shotguns(self, subject: Subject) -> Iterator[Trajectory]:
        """Say everything seen of the kind, so that the fact is among it. Wrong as soon as three rival values are in the
        list."""
        for fact in subject.told:
            if fact.kind not in ("money", "date", "time", "duration", "number"):
                continue
            rivals = [
                v
                for v in sorted(subject.observed.get(fact.kind, ()))
                if v != fact.value and (fact.kind, v) not in subject.allowed
            ]
            if len(rivals) >= 3 and fact.kind != "number":
                listed = [Fact(kind=fact.kind, value=value) for value in (*rivals[:6], fact.value)]
                yield Trajectory("shotgun", "wrong", subject.writes, subject.say((*subject.told, *listed)))


def _others(subject: Subject, mutants: Iterator[Trajectory]) -> Iterator[Trajectory]:
    """Leave out mutants that are equal to the golden trajectory: a form does not show every difference of facts."""
    return (mutant for mutant in mutants if mutant.calls != subject.writes or mutant.answer != subject.filled)


def _is_label(fact: Fact, told: Sequence[Fact]) -> bool:
    """Whether a fact is said as soon as another one is said under its label: "For Cedar Insurance, the amount is
    $42"."""
    return fact.kind in ("text", "digits") and any(
        contains_words(other.about, str(fact.value)) for other in told if other.about is not None
    )


def _plain_values(schema: Mapping[str, Any], today: str) -> list[Any]:
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "integer":
        least = int(schema.get("minimum", 0))
        return [max(least, value) for value in (1, 2, 100, 1500, 2500, 20_000)]
    if schema.get("format") == "date":
        return [(date.fromisoformat(today) + timedelta(days=days)).isoformat() for days in (3, 10, 40)]
    if schema.get("format") == "time":
        return ["09:15", "13:00", "20:40"]
    if schema.get("type") == "boolean":
        return [True, False]
    return ["note", "for later", "as agreed"] if schema.get("type") == "string" and "pattern" not in schema else []
