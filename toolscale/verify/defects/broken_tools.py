"""Defects of tools and engines: a tool that does nothing, undoes another, ignores what it is told or forgets a row; an
engine that differs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp

from toolscale.environment.environment import Environment
from toolscale.records import CallStep, Candidate, Check, ToolSpec
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.sql.tools import compile_tool
from toolscale.tasks.plan import RolePlan
from toolscale.verify.defects.planting import Defect, Ground, Planted, bend, pick, shuffled, words_of
from toolscale.verify.defects.rows import breaks


def _with_tools(environment: Environment, *tools: CompiledTool) -> Environment:
    return replace(environment, tools={**environment.tools, **{tool.spec.name: tool for tool in tools}})


def _setter(environment: Environment, name: str, role: RolePlan, column: str, value: str) -> CompiledTool:
    """A tool that sets one column of one row of the table of a role."""
    key = role.key[0]
    text = {
        "name": name,
        "description": "Keep the record.",
        "parameters": {key: {"type": "string"}},
        "steps": [{"exec": f"UPDATE {role.table} SET {column} = {value} WHERE {key} = :{key}"}],
        "returns": {column: {"value": f"SELECT {column} FROM {role.table} WHERE {key} = :{key}"}},
    }
    return compile_tool(ToolSpec.model_validate(text), environment.schema)


def _columns(ground: Ground, candidate: Candidate, *types: str) -> Iterator[tuple[RolePlan, str]]:
    """Columns of some types, which neither an invariant nor a check governs, of the one row that a role means on the
    path taken."""
    governed = {spec.table for spec in ground.environment.spec.policy.invariants.values()}
    texts = " ".join(spec.holds for spec in ground.environment.spec.policy.invariants.values())
    for role in (ground.plan_of(candidate).roles[name] for name in ground.recording(candidate).chosen):
        spec = ground.environment.schema.tables[role.table]
        if role.role.take == "one" and len(role.key) == 1 and spec.columns[role.key[0]].type == "text":
            for name, column in spec.columns.items():
                free = not (column.fk or column.check or column.nullable or any(name in check for check in spec.check))
                if (
                    column.type in types
                    and free
                    and name not in spec.key
                    and (role.table not in governed or name not in texts)
                ):
                    yield role, name


def _and_then(
    ground: Ground, candidate: Candidate, role: RolePlan, tools: list[CompiledTool], what: str
) -> Planted | None:
    """Bend the intent so that it ends with calls of new tools on the row of a role."""
    intent = ground.plan_of(candidate).intent
    if intent.outcome != "fulfil":
        return None
    key = role.key[0]
    calls = tuple(
        CallStep(name=f"kept{n}", tool=tool.spec.name, arguments={key: f"{role.name}.{key}"})
        for n, tool in enumerate(tools)
    )
    changed = intent.model_copy(update={"do": (*intent.do, *calls)})
    return bend(ground, candidate, changed, what, environment=_with_tools(ground.environment, *tools))


def noop_write(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The plan makes a write that changes nothing."""
    place = pick(rng, _columns(ground, candidate, "text", "date", "time", "int", "cents"))
    if place is None:
        return None
    role, column = place
    return _and_then(
        ground,
        candidate,
        role,
        [_setter(ground.environment, f"note_{role.table}", role, column, column)],
        f"{column} is set to itself",
    )


def there_and_back(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The plan makes a write and then its opposite: as if freezing a card and unfreezing it were work."""
    place = pick(rng, _columns(ground, candidate, "date", "int", "cents"))
    if place is None:
        return None
    role, column = place
    step = rng.randrange(1, 500)
    is_date = ground.environment.schema.tables[role.table].columns[column].type == "date"
    up, down = (
        (f"add_days({column}, {step})", f"add_days({column}, -{step})")
        if is_date
        else (f"{column} + {step}", f"{column} - {step}")
    )
    there = _setter(ground.environment, f"raise_{role.table}", role, column, up)
    back = _setter(ground.environment, f"lower_{role.table}", role, column, down)
    return _and_then(ground, candidate, role, [there, back], f"{column} of {role.table} goes up {step} and down again")


def freeze_and_unfreeze(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The plan also makes two calls of the toolset of which one undoes the other."""
    plan, tools = ground.plan_of(candidate), ground.environment.tools
    if plan.intent.outcome != "fulfil":
        return None
    writers = {name: set(tool.spec.parameters) for name, tool in tools.items() if tool.mutates_state}
    pairs = [
        (one, other)
        for one in writers
        for other in writers
        if one != other and writers[one] == writers[other] and len(writers[one]) == 1
    ]
    for role in plan.roles.values():
        if role.role.take != "one" or len(role.key) != 1 or role.name not in ground.recording(candidate).chosen:
            continue
        for one, other in shuffled(rng, pairs):
            (param,) = writers[one]
            if param == role.key[0] and _undoes(ground, candidate, role, one, other):
                key = f"{role.name}.{param}"
                calls = tuple(CallStep(name=f"kept_{tool}", tool=tool, arguments={param: key}) for tool in (one, other))
                return bend(
                    ground,
                    candidate,
                    plan.intent.model_copy(update={"do": (*plan.intent.do, *calls)}),
                    f"{one}, then {other}",
                )
    return None


def _undoes(ground: Ground, candidate: Candidate, role: RolePlan, one: str, other: str) -> bool:
    """Whether two calls after the golden ones both succeed and leave what was there."""
    recording = ground.record(ground.plan_of(candidate), candidate)
    before, key = ground.world.net_changes(), {role.key[0]: recording.chosen[role.name][0][role.key[0]]}
    return (
        all(ground.world.call(name, key).error is None for name in (one, other))
        and ground.world.net_changes() == before
    )


def deaf_parameter(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A writing tool ignores a number that it is given: any other number would do as well."""
    plan = ground.plan_of(candidate)
    made = [recorded.plan for recorded in ground.recording(candidate).writes]
    calls = [call for call in made if call is not None and call.tool.spec.name != "transfer_to_human"]
    found = [plan.roles[name] for name in ground.recording(candidate).chosen]
    options = [(role, column) for role in found if role.role.take == "one" for column in role.finder.columns]
    options = [(role, column) for role, column in options if role.finder.columns[column] in ("int", "cents")]
    call, place = pick(rng, calls), pick(rng, options)
    if call is None or place is None or plan.intent.outcome != "fulfil":
        return None
    role, column = place
    spec = call.tool.spec.model_copy(
        update={
            "parameters": {**call.tool.spec.parameters, "reference": {"type": "integer"}},
            "steps": (Check(check=":reference > -1000000000000", error="No such reference"), *call.tool.spec.steps),
        }
    )

    def told(value: Any) -> Any:
        """The plan with the new argument in every call of the tool."""
        if isinstance(value, dict):
            if value.get("tool") == spec.name and "arguments" in value:
                return {**value, "arguments": {**value["arguments"], "reference": f"{role.name}.{column}"}}
            return {name: told(part) for name, part in value.items()}
        return [told(part) for part in value] if isinstance(value, list | tuple) else value

    text = plan.intent.model_dump(by_alias=True)
    changed = type(plan.intent).model_validate({**text, "do": told(text["do"])})
    environment = _with_tools(ground.environment, compile_tool(spec, ground.environment.schema))
    return bend(ground, candidate, changed, f"{spec.name} is given {role.name}.{column}", environment=environment)


def forgetful_tool(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A tool leaves out one of its writes, and with it an invariant of the policy."""
    calls = ground.recording(candidate).write_calls
    for name in shuffled(rng, dict.fromkeys(call.name for call in calls)):
        tool = ground.environment.tools[name]
        for place in shuffled(rng, [number for number, step in enumerate(tool.steps) if step.kind == "exec"]):
            environment = _with_tools(
                ground.environment, replace(tool, steps=(*tool.steps[:place], *tool.steps[place + 1 :]))
            )
            if breaks(ground, ground.rows, calls, environment):
                return Planted(candidate, f"{name} leaves out step {place + 1}", environment=environment)
    return None


def engine_difference(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A statement of a tool means another thing on the second engine."""
    calls = ground.recording(candidate).calls
    for name in shuffled(rng, dict.fromkeys(made.call.name for made in calls)):
        tool = ground.environment.tools[name]
        for statement, twisted in shuffled(rng, _twisted(tool, rng)):
            if _matters(ground, candidate, _exchanged(tool, statement, replace(statement, sqlite=twisted.sqlite))):
                other = _exchanged(tool, statement, replace(statement, duckdb=twisted.duckdb))
                environment = _with_tools(ground.environment, other)
                return Planted(
                    candidate, f"{name} on DuckDB: {twisted.duckdb}", environment=environment, audited="engine"
                )
    return None


def _twisted(tool: CompiledTool, rng: random.Random) -> Iterator[tuple[Statement, Statement]]:
    """Yield (statement, the same with its order turned round, or a sum turned into a difference, on both engines). What
    is a sum in the words of one engine alone (minutes between two times, days between two dates) is passed over."""
    for statement in filter(
        None, [*(step.statement for step in tool.steps), *(part.statement for part in tool.returns)]
    ):
        texts, turned = {}, set()
        for engine in ("sqlite", "duckdb"):
            node = sqlglot.parse_one(getattr(statement, engine), read=engine)
            orders, signs = (
                list(node.find_all(exp.Ordered)),
                list(filter(_is_of_numbers, node.find_all(exp.Add, exp.Sub))),
            )
            turned.add((len(orders), len(signs)))
            for ordered in orders:
                ordered.set("desc", not ordered.args.get("desc"))
                ordered.set("nulls_first", None)
            for sign in signs:
                sign.replace(
                    (exp.Sub if isinstance(sign, exp.Add) else exp.Add)(
                        this=sign.left.copy(), expression=sign.right.copy()
                    )
                )
            texts[engine] = node.transform(_as_substr).sql(dialect=engine)
        if len(turned) == 1 and turned != {(0, 0)}:
            yield statement, replace(statement, sqlite=texts["sqlite"], duckdb=texts["duckdb"])


def _is_of_numbers(sign: exp.Binary) -> bool:
    """Whether a sum is one of numbers, not of the days between two dates."""
    days = (exp.Cast, exp.TryCast)
    return not any(isinstance(side, days) and side.to.is_type("date") for side in (sign.left, sign.right))


def _as_substr(node: exp.Expr) -> exp.Expr:
    """Write SUBSTR as it was compiled: SQLite's authorizer does not know it as SUBSTRING."""
    if not isinstance(node, exp.Substring):
        return node
    parts = (node.args.get(name) for name in ("this", "start", "length"))
    return exp.Anonymous(this="SUBSTR", expressions=[part for part in parts if part is not None])


def _exchanged(tool: CompiledTool, old: Statement, new: Statement) -> CompiledTool:
    steps = tuple(replace(step, statement=new) if step.statement is old else step for step in tool.steps)
    return replace(
        tool,
        steps=steps,
        returns=tuple(replace(part, statement=new) if part.statement is old else part for part in tool.returns),
    )


def _matters(ground: Ground, candidate: Candidate, tool: CompiledTool) -> bool:
    """Whether the golden calls give other results with the twisted tool, on the first engine."""
    made = ground.recording(candidate).calls
    sandbox, twisted = ground.world, _with_tools(ground.environment, tool)
    sandbox.reset()
    results = []
    for recorded in made:
        arguments: Any = sandbox.prepare(recorded.call.name, recorded.call.arguments)[1]
        results.append(sandbox.call_prepared(twisted.tools[recorded.call.name], arguments))
    return any(result.value != m.call.result for result, m in zip(results, made, strict=True))


DEFECTS = tuple(
    Defect(plant.__name__, "tools", words_of(plant), plant)
    for plant in (noop_write, there_and_back, freeze_and_unfreeze, deaf_parameter, forgetful_tool, engine_difference)
)
