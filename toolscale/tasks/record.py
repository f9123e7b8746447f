"""The recorder: runs a plan as an agent that cannot see the database.

Its only inputs are what the request says, what earlier calls returned, the policy's constants and the clock. What it
does is the golden trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.environment.column_kinds import as_said, typed_value
from toolscale.environment.world import World
from toolscale.records import Candidate, Fact, GoldenCall, ToolCall
from toolscale.sql.compiled import Column
from toolscale.tasks.form import field_names
from toolscale.tasks.lookups import flatten
from toolscale.tasks.names import Expression, Scratch, Unbound, relation_key
from toolscale.tasks.plan import (
    CallPlan,
    EachPlan,
    FindPlan,
    IfPlan,
    Plan,
    RefusalPlan,
    RolePlan,
    RulePlan,
    StepPlan,
    TellPlan,
    calls_of,
)

Env = dict[str, Any]


class Rejection(Exception):
    """The candidate cannot be recorded; `gate` and `finding` say why."""

    def __init__(self, gate: str, finding: str) -> None:
        super().__init__(f"{gate}: {finding}")
        self.gate = gate
        self.finding = finding


class Invisible(Exception):
    """A row that the plan was told to use is not among those that the agent can see."""


@dataclass
class RecordedCall:
    """A golden call with where it came from."""

    call: GoldenCall
    mutates: bool
    depth: int
    plan: CallPlan | None = None
    """None for the look-ups that find roles."""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The rows that roles had when the arguments were computed."""

    @cached_property
    def as_made(self) -> ToolCall:
        """The call without its result."""
        return ToolCall.trusted(name=self.call.name, arguments=self.call.arguments)


@dataclass
class Recording:
    """All that happened while a plan ran."""

    calls: list[RecordedCall] = field(default_factory=list)
    env: Env = field(default_factory=dict)
    observed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Role -> every row that its look-ups showed, chosen or not."""
    chosen: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Role -> the rows it means."""
    interchangeable: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """`take: any` roles -> all rows that would do."""
    branches: list[bool] = field(default_factory=list)
    undone: bool = False
    """A condition did not hold, and nothing was done instead."""
    facts: list[Fact] = field(default_factory=list)
    standing: list[Fact] = field(default_factory=list)
    """What the form has a field for, and need not be told since a condition does not hold: it is so all the same."""
    forbidden: list[tuple[CallPlan, dict[str, Any]]] = field(default_factory=list)
    """Refusals: the calls that were not made."""
    depths: dict[str, int] = field(default_factory=dict)

    @property
    def writes(self) -> list[RecordedCall]:
        """The golden calls that change the state."""
        return [recorded for recorded in self.calls if recorded.mutates]

    @property
    def write_calls(self) -> tuple[ToolCall, ...]:
        """The golden calls that change the state, as an agent makes them."""
        return tuple(recorded.as_made for recorded in self.writes)


@dataclass(frozen=True)
class Inputs:
    """What the recorder is given: slots, and per role the described columns as the request says them."""

    say: Mapping[str, Any]
    said: Mapping[str, Mapping[str, Any]]
    forced: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Role -> key columns of the rows to take instead (for `unambiguous`): one, or all that a set then means."""
    flip: int | None = None
    """Take the other way at this branch (for the mutant `branch`)."""
    hidden: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Role -> rows that the agent must not look up: only the judge knows them, for facts that are withheld."""


def inputs_of(
    plan: Plan, candidate: Candidate, row_of: Callable[[str, tuple[Any, ...]], dict[str, Any] | None]
) -> Inputs:
    """What the request of a candidate says: its slots, and the described columns of the rows it is about, which
    `row_of(table, key)` gives.

    Raises Rejection if those rows are not there.
    """
    said: dict[str, dict[str, Any]] = {}
    hidden: dict[str, list[dict[str, Any]]] = {}
    for name, role in plan.roles.items():
        bound = candidate.bindings.get(name, ())
        if role.role.only_said:
            hidden[name] = [row for key in bound if (row := row_of(role.table, tuple(key))) is not None]
        if role.said:
            row = row_of(role.table, tuple(bound[0])) if bound else None
            if row is None:
                raise Rejection("schema", f"{name} is bound to {bound or 'no row'}, which {role.table} does not have")
            said[name] = {column: as_said(role.finder.columns[column], row[column]) for column in role.said}
    return Inputs(dict(candidate.say), said, hidden=hidden)


class Recorder:
    """Records plans on one world. The world must be reset by the caller; the episode stays open so that row changes can
    be read."""

    def __init__(self, world: World, policy: Mapping[str, Any]) -> None:
        self.world = world
        self.scratch = Scratch(world.environment.spec.world.now)
        self._policy = dict(policy)

    def record(self, plan: Plan, inputs: Inputs) -> Recording:
        """Run the plan. Raises Rejection, or Invisible if a forced row cannot be seen."""
        run = _Run(self, plan, inputs)
        try:
            run.steps(plan.steps)
            if plan.intent.outcome != "refuse":
                run.tell(plan.tells, run.recording.env, fields=field_names([told.tell for told in plan.tells]))
            for part in plan.refusals:
                run.refuse(part)
        except Unbound as error:
            raise Rejection("schema", f"{error} has no value on the path taken") from error
        return run.recording

    def breaks(self, rule: RulePlan, arguments: Mapping[str, Any], read: Any) -> tuple[bool, Env]:
        """Evaluate a rule for a call; `read(call plan, arguments)` makes the look-ups. Returns whether it is broken,
        and the names it saw."""
        env: Env = {"call": dict(arguments), "policy": self._policy}
        if rule.applies is not None and not self.scratch.evaluate(rule.applies, env):
            return False, env
        for step in rule.reads:
            bind_result(
                env, step, read(step, {name: self.scratch.evaluate(e, env) for name, e in step.arguments.items()})
            )
        return bool(self.scratch.evaluate(rule.breaks, env)), env

    def start(self, inputs: Inputs) -> Env:
        """The names that have a value before any call."""
        env: Env = {"say": dict(inputs.say), "policy": self._policy}
        env.update({f"say_{role}": dict(columns) for role, columns in inputs.said.items()})
        return env


def bind_result(env: Env, step: CallPlan, value: Mapping[str, Any]) -> None:
    """Give the name of a step its flat row and its rows."""
    flat, listed = flatten(step.tool, value)
    env[step.name] = flat
    if listed is not None:
        env[relation_key(step.name)] = listed


class _Run:
    def __init__(self, recorder: Recorder, plan: Plan, inputs: Inputs) -> None:
        self.recorder = recorder
        self.scratch = recorder.scratch
        self.plan = plan
        self.inputs = inputs
        self.recording = Recording(env=recorder.start(inputs))
        self._seen: dict[tuple[str, str, int], Mapping[str, Any]] = {}
        self._written: list[Collection[Column]] = []

    def need(self, names: Iterable[str]) -> None:
        """Find every role among the names that has not been found yet."""
        for name in self.plan.roles:
            if name in names and name not in self.recording.chosen:
                self.find(self.plan.roles[name])

    def value(self, expression: Expression) -> Any:
        self.need(expression.names)
        return self.scratch.evaluate(expression, self.recording.env)

    def call(
        self, name: str, arguments: dict[str, Any], mutates: bool, depth: int, plan: CallPlan | None = None
    ) -> Mapping[str, Any]:
        """Make a call; a look-up made before with no write since is not repeated."""
        key = (name, canonical_json(arguments), self._written_before(name))
        if not mutates and key in self._seen:
            return self._seen[key]
        result = self.recorder.world.call(name, arguments)
        if result.error is not None:
            raise Rejection("replay", f"{name} fails: {result.error}")
        self._seen[key] = result.value
        if mutates:
            self._written.append(self.recorder.world.environment.tools[name].writes)
        rows = {role: self.recording.env[role] for role in self.plan.roles if role in self.recording.env}
        golden = GoldenCall.trusted(name=name, arguments=arguments, result=result.value)
        self.recording.calls.append(RecordedCall(golden, mutates, depth, plan, rows))
        value: Mapping[str, Any] = result.value
        return value

    def _written_before(self, name: str) -> int:
        """How many writes made so far could have changed what a look-up shows: only then is it made again."""
        seen = self.recorder.world.environment.tools[name].reads
        return sum(not seen.isdisjoint(columns) for columns in self._written)

    def depth(self, names: Iterable[str]) -> int:
        return 1 + max((self.recording.depths.get(name, 0) for name in names), default=0)

    def find(self, role: RolePlan) -> None:
        """Look the role up with its tool, and choose among the rows that it shows."""
        self.need(set(role.ancestors[:1]) | role.needs)
        depth = self.depth({*role.ancestors, *role.needs})
        parents = self.recording.chosen[role.ancestors[0]] if role.ancestors else [{}]
        rows: list[dict[str, Any]] = []
        for parent in parents:
            arguments = {
                param: self._argument(source.name, source.column, source.said, role, parent)
                for param, source in role.finder.arguments.items()
            }
            for row in role.finder.rows(self.call(role.finder.tool.spec.name, arguments, False, depth)):
                if row not in rows:
                    rows.append(row)
        self.recording.depths[role.name] = depth
        self.recording.observed[role.name] = rows
        self._choose(role, rows)

    def _argument(self, name: str, column: str, said: bool, role: RolePlan, parent: Mapping[str, Any]) -> Any:
        if said:
            return self.recording.env[f"say_{role.name}"][column]
        if role.ancestors and name == role.ancestors[0]:
            return parent[column]
        self.need([name])
        return self.recording.env[name][column]

    def _choose(self, role: RolePlan, rows: list[dict[str, Any]]) -> None:
        env = {**self.recording.env, relation_key(role.name): rows}
        fitting = (
            [(rows[int(position)], best) for position, best in self.scratch.rows(role.select, role.binds, env)]
            if rows
            else []
        )
        take = role.role.take
        if role.name in self.inputs.forced:
            fitting = self._forced(role, rows)
        if not fitting:
            raise Rejection("case_agrees", f"the agent finds no row for {role.name} among the {len(rows)} it sees")
        best = [row for row, value in fitting if value == fitting[0][1]]
        if take == "all":
            best = [row for row, _ in fitting]
        elif take == "one" and len(best) > 1:
            raise Rejection("unambiguous", self._tie(role, best))
        elif take == "any":
            if any(row[column] != best[0][column] for row in best for column in role.role.same):
                raise Rejection("unambiguous", f"rows that fit {role.name} differ in {', '.join(role.role.same)}")
            self.recording.interchangeable[role.name] = best
            best = best[:1]
        self.recording.chosen[role.name] = best
        if take == "all":
            self.recording.env[relation_key(role.name)] = best
        else:
            self.recording.env[role.name] = best[0]

    def _tie(self, role: RolePlan, best: Sequence[Mapping[str, Any]]) -> str:
        said = self.inputs.said.get(role.name, {})
        differing = [
            column
            for column, value in best[0].items()
            if not column.endswith("_id") and any(row[column] != value for row in best)
        ]
        told = [
            f"; {what}: {', '.join(names)}" for what, names in (("said", said), ("different", differing[:6])) if names
        ]
        return f"{len(best)} rows fit {role.name} equally well{''.join(told)}"

    def _forced(self, role: RolePlan, rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
        wanted = self.inputs.forced[role.name]
        found = [
            (row, 0)
            for row in rows
            if any(all(row[column] == value for column, value in key.items()) for key in wanted)
        ]
        if len(found) < len(wanted):
            raise Invisible(role.name)
        return found if role.role.take == "all" else found[:1]

    def steps(self, steps: tuple[StepPlan, ...]) -> None:
        for step in steps:
            if isinstance(step, CallPlan):
                self._step(step)
            elif isinstance(step, IfPlan):
                test = bool(self.value(step.test))
                if self.inputs.flip == len(self.recording.branches):
                    test = not test
                self.recording.branches.append(test)
                taken, other = (step.then, step.otherwise) if test else (step.otherwise, step.then)
                self.recording.undone |= _writes(other) and not _writes(taken)
                self.steps(taken)
            elif isinstance(step, FindPlan):
                self.need([step.role])
            else:
                self._each(step)

    def _step(self, step: CallPlan) -> None:
        arguments = {name: self.value(expression) for name, expression in step.arguments.items()}
        depth = self.depth(name for expression in step.arguments.values() for name in expression.names)
        value = self.call(step.tool.spec.name, arguments, step.tool.mutates_state, depth, step)
        self.recording.depths[step.name] = depth
        bind_result(self.recording.env, step, value)

    def _each(self, step: EachPlan) -> None:
        env = self.recording.env
        self.need([step.role])
        names = [call.name for call in calls_of(step.do)]
        collected: dict[str, list[Any]] = {name: [] for name in names}
        for row in self.recording.chosen[step.role]:
            env[step.role] = row
            self.steps(step.do)
            for name in names:
                if name in env:
                    collected[name].append(env[name])
        env.pop(step.role, None)
        for name, rows in collected.items():
            env[relation_key(name)] = rows

    def refuse(self, part: RefusalPlan) -> None:
        """Work out the calls that are not made, look up what the rule needs, and tell why it is broken."""
        forbidden, rule = list(self._forbidden(part.steps)), part.rule
        self.recording.forbidden += forbidden
        for step, arguments in forbidden:
            if step.tool.spec.name not in rule.rule.guards:
                continue

            def read(look_up: CallPlan, params: dict[str, Any]) -> Mapping[str, Any]:
                return self.call(
                    look_up.tool.spec.name, params, False, 1 + max(self.recording.depths.values(), default=0), look_up
                )

            full = with_defaults(step, arguments)
            broken, env = self.recorder.breaks(rule, full, read)
            if broken:
                about = None if part.about is None else str(self.value(part.about))
                self.tell(rule.tells, env, about)
                if self.plan.intent.outcome == "refuse":
                    self.tell(self.plan.tells, {**self.recording.env})
                return
        raise Rejection("lawful", f"what is asked does not break the rule {rule.name}")

    def _forbidden(self, steps: tuple[StepPlan, ...]) -> Iterator[tuple[CallPlan, dict[str, Any]]]:
        for step in steps:
            if isinstance(step, CallPlan):
                yield step, {name: self.value(expression) for name, expression in step.arguments.items()}
            elif isinstance(step, IfPlan):
                yield from self._forbidden(step.then if self.value(step.test) else step.otherwise)
            elif isinstance(step, EachPlan):
                self.need([step.role])
                for row in self.recording.chosen[step.role]:
                    self.recording.env[step.role] = row
                    yield from self._forbidden(step.do)

    def tell(
        self, tells: tuple[TellPlan, ...], env: Env, about: str | None = None, fields: Sequence[str | None] = ()
    ) -> None:
        """Compute the facts of the final answer, about a part of the request if one is named. `fields`: where the form
        takes them."""
        for tell, place in zip(tells, fields or [None] * len(tells), strict=True):
            expressions = [e for e in (tell.value, tell.about, tell.when) if e is not None]
            if any(name in self.inputs.hidden for expression in expressions for name in expression.names):
                self._of_hidden(tell, place)
                continue
            for expression in expressions:
                self.need(expression.names - ({tell.tell.each} if tell.tell.each else set()))
            if tell.tell.each is None:
                self._fact(tell, {**self.recording.env, **env}, place, about)
                continue
            self.need([tell.tell.each])
            for position, row in enumerate(self.recording.chosen[tell.tell.each]):
                scoped = {**self.recording.env, **env, tell.tell.each: row}
                for name in {name for expression in expressions for name in expression.names} - set(self.plan.roles):
                    rows = scoped.get(relation_key(name))
                    if rows is not None and len(rows) == len(self.recording.chosen[tell.tell.each]):
                        scoped[name] = rows[position]
                self._fact(tell, scoped, place)

    def _of_hidden(self, tell: TellPlan, place: str | None) -> None:
        """Compute a fact about rows that no look-up shows: what must not be told, and whose it is."""
        hidden = self.inputs.hidden
        env = {**self.recording.env, **{name: rows[0] for name, rows in hidden.items()}}
        for row in hidden.get(tell.tell.each or "", [{}]):
            self._fact(tell, {**env, tell.tell.each or "": row}, place)

    def _fact(self, tell: TellPlan, env: Env, place: str | None, part: str | None = None) -> None:
        if tell.when is not None and not self.scratch.evaluate(tell.when, env):
            self._stand(tell, env, place)
            return
        kind = tell.tell.kind
        value = typed_value(kind, self.scratch.evaluate(tell.value, env))
        if value is None:
            raise Rejection("schema", f"the fact {tell.value.source} has no value")
        about = part if tell.about is None else str(self.scratch.evaluate(tell.about, env))
        fact = Fact(kind=kind, value=value, about=about, unit=tell.unit)
        self.recording.facts.append(fact.model_copy(update={"withheld": tell.tell.withheld, "field": place}))

    def _stand(self, tell: TellPlan, env: Env, place: str | None) -> None:
        """Note what would be told if a condition held, unless it is the outcome of a call that was not made."""
        try:
            value = typed_value(tell.tell.kind, self.scratch.evaluate(tell.value, env))
            about = None if tell.about is None else str(self.scratch.evaluate(tell.about, env))
        except Unbound:
            return
        if value is not None and place is not None and not tell.tell.withheld:
            self.recording.standing.append(Fact(kind=tell.tell.kind, value=value, about=about, field=place))


def _writes(steps: tuple[StepPlan, ...]) -> bool:
    return any(call.tool.mutates_state for call in calls_of(steps))


def with_defaults(step: CallPlan, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the defaults of the tool filled in."""
    return {name: arguments.get(name, schema.get("default")) for name, schema in step.tool.spec.parameters.items()}
