"""Candidates: an interesting case picked on the database by a seed, put into words.

The database is read here and nowhere else on the way to a golden trajectory, and only to choose *which* rows a task is about. The recorder has to
find the same rows again from the request alone (gate `case_agrees`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import gcd
from typing import Any

from toolscale.canonical import stable_int
from toolscale.environment import Environment, World
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import Candidate, ColumnType, Slot
from toolscale.sql.compiled import Statement
from toolscale.tasks.names import (
    Bind, Expression, Scope, bind_select, binds_of, bound_values, compile_expression, compile_statement, conjuncts, relation_key,
)  # fmt: skip
from toolscale.tasks.phrase import put_into_words
from toolscale.tasks.plan import SLOT_TYPES, Plan, compile_plans

PROBES = 600
"""How many rows of the root table are tried before a number is given up as having no case."""

ROWS = 40
"""How many rows of one role are tried under one parent."""


@dataclass(frozen=True)
class RoleQuery:
    """The rows of the database that a role may mean, given the roles before it."""

    name: str
    table: str
    take: str
    first: bool
    root: bool
    """Without a parent: its rows are probed one by one, whatever the size of the table."""
    statement: Statement
    binds: tuple[Bind, ...]
    conditions: tuple[Expression, ...]
    """Conjuncts of `when` that can be decided once this role is bound."""
    slots: tuple[tuple[str, Statement, tuple[Bind, ...]], ...]
    """Slots drawn from the database once this role is bound."""


@dataclass(frozen=True)
class Case:
    """One bound case: role -> rows of the database, slot -> value."""

    rows: Mapping[str, list[dict[str, Any]]]
    say: Mapping[str, Any]


class CandidateSource:
    """Draws candidates of one environment. Number n is the k-th of intent n mod I, with k = n div I; the draw depends on seed and number alone."""

    def __init__(self, environment: Environment, world: World) -> None:
        self.environment = environment
        self.world = world
        self.plans, self.rules = compile_plans(environment)
        self.intents = tuple(environment.spec.intents.intents)
        self._columns = {table: {name: column.type for name, column in spec.columns.items()} for table, spec in environment.schema.tables.items()}
        self._queries = {intent.id: self._compile(self.plans[intent.id]) for intent in self.intents}
        self._roots: dict[str, list[dict[str, Any]]] = {}
        spec = environment.spec
        self._clock = {"now": spec.world.now, "today": spec.world.today}

    def draw(self, seed: int, number: int) -> Candidate | None:
        """Return the candidate with this number, or None if no case is found for it."""
        intent = self.intents[number % len(self.intents)]
        turn = number // len(self.intents)
        plan = self.plans[intent.id]
        rng = random.Random(stable_int("candidate", seed, self.environment.domain, intent.id, turn))
        say = {name: self._slot(slot, rng) for name, slot in intent.slots.items() if slot.sql is None}
        queries = self._queries[intent.id]
        env: dict[str, Any] = {"say": say, "policy": dict(self.environment.spec.policy.constants)}
        case = self._bind(queries, 0, env, {}, rng)
        if case is None:
            return None
        request, skeleton = put_into_words(plan, self.environment, case.rows, case.say, turn, rng)
        bindings = {role: tuple(tuple(row[column] for column in plan.roles[role].key) for row in rows) for role, rows in case.rows.items()}
        return Candidate(
            domain=self.environment.domain, number=number, seed=seed, intent_id=intent.id, bindings=bindings, say=dict(case.say),
            request=request, skeleton=skeleton,
        )  # fmt: skip

    def _slot(self, slot: Slot, rng: random.Random) -> Any:
        value = rng.choice(slot.from_)
        if slot.kind == "date" and isinstance(value, int):
            return (date.fromisoformat(self.environment.spec.world.today) + timedelta(days=value)).isoformat()
        return value

    def _probe(self, query: RoleQuery, rng: random.Random) -> Iterator[dict[str, Any]]:
        """Yield rows of the table of a role without parent in an order that the seed fixes, each at most once."""
        if query.table not in self._roots:
            names = tuple(self._columns[query.table])
            self._roots[query.table] = [dict(zip(names, row, strict=True)) for row in self.world.sandbox.dump(query.table)]
        rows = self._roots[query.table]
        if not rows:
            return
        start, step = rng.randrange(len(rows)), rng.randrange(1, len(rows) + 1)
        while gcd(step, len(rows)) != 1:
            step += 1
        for turn in range(min(PROBES, len(rows))):
            yield rows[(start + turn * step) % len(rows)]

    def _bind(
        self, queries: Sequence[RoleQuery], depth: int, env: dict[str, Any], rows: dict[str, list[dict[str, Any]]], rng: random.Random
    ) -> Case | None:
        """Bind the roles from `depth` on, going back where a condition fails; None if no way is left."""
        if depth == len(queries):
            return Case(dict(rows), dict(env["say"]))
        query = queries[depth]
        for choice in self._choices(query, env, rng):
            rows[query.name] = choice
            env[query.name] = choice[0]
            env[relation_key(query.name)] = choice
            say = dict(env["say"])
            if self._draw_slots(query, env, rng) and all(self._holds(condition, env) for condition in query.conditions):
                case = self._bind(queries, depth + 1, env, rows, rng)
                if case is not None:
                    return case
            env["say"] = say
            del rows[query.name], env[query.name], env[relation_key(query.name)]
        return None

    def _choices(self, query: RoleQuery, env: dict[str, Any], rng: random.Random) -> Iterator[list[dict[str, Any]]]:
        names = tuple(self._columns[query.table])
        if query.root:
            for row in self._probe(query, rng):
                env["root"] = row
                if self.world.sandbox.query(query.statement, bound_values(query.binds, env, self._clock)):
                    yield [row]
            return
        found = self.world.sandbox.query(query.statement, bound_values(query.binds, env, self._clock))
        listed = [dict(zip(names, row, strict=False)) for row in found]
        if not listed:
            return
        if query.take in ("all", "any"):
            yield listed
        elif query.first:
            yield listed[:1]
        else:
            rng.shuffle(listed)
            for row in listed[:ROWS]:
                yield [row]

    def _draw_slots(self, query: RoleQuery, env: dict[str, Any], rng: random.Random) -> bool:
        for name, statement, binds in query.slots:
            values = sorted({row[0] for row in self.world.sandbox.query(statement, bound_values(binds, env, self._clock)) if row[0] is not None})
            if not values:
                return False
            env["say"] = {**env["say"], name: rng.choice(values)}
        return True

    def _holds(self, condition: Expression, env: Mapping[str, Any]) -> bool:
        if condition.statement is None:
            name, column = condition.direct or ("", "")
            return bool(env[name][column] if condition.direct else condition.literal)
        return bool(self.world.sandbox.query(condition.statement, bound_values(condition.binds, env, self._clock))[0][0])

    def _compile(self, plan: Plan) -> tuple[RoleQuery, ...]:
        """Compile the case queries of an intent. Raises SpecError."""
        intent, place = plan.intent, f"intents[{plan.intent.id}]"
        slots: dict[str, ColumnType] = {name: SLOT_TYPES[slot.kind] for name, slot in intent.slots.items()}
        policy: dict[str, ColumnType] = {
            name: "int" if isinstance(value, int) else "text" for name, value in self.environment.spec.policy.constants.items()
        }
        scope = Scope({"say": slots, "policy": policy}, schema=self.environment.schema)
        drawn = {name for name, slot in intent.slots.items() if slot.sql is None}
        waiting = list(conjuncts(intent.when, "intents.yaml", f"{place}.when")) if intent.when else []
        undrawn = [name for name in intent.slots if name not in drawn]
        queries, bound = [], set[str]()
        for name, role in intent.roles.items():
            statement, binds, first = self._role_query(plan, name, scope, place)
            columns = self._columns[role.is_]
            scope = scope.with_relation(name, columns) if role.take == "all" else scope.with_row(name, columns)
            bound.add(name)
            now_slots = []
            for slot in list(undrawn):
                sql = intent.slots[slot].sql or ""
                if not (_mentioned(sql, intent.roles) - bound):
                    undrawn.remove(slot)
                    drawn.add(slot)
                    text, _ = bind_select(sql, scope, "intents.yaml", f"{place}.slots.{slot}")
                    compiled = compile_statement(text, scope, file="intents.yaml", place=f"{place}.slots.{slot}.sql", source=sql)
                    now_slots.append((slot, compiled, binds_of(compiled, scope)))
            conditions = []
            for text in list(waiting):
                if not (_mentioned(text, intent.roles) - bound) and not (_slots_of(text) - drawn):
                    waiting.remove(text)
                    conditions.append(compile_expression(text, scope, file="intents.yaml", place=f"{place}.when"))
            queries.append(RoleQuery(name, role.is_, role.take, first, role.of is None, statement, binds, tuple(conditions), tuple(now_slots)))
        if waiting or undrawn:
            raise SpecError(
                [SpecIssue("intents.yaml", f"{place}.when", f"{(waiting + undrawn)[0]!r} names no role", "use roles and slots of this intent")]
            )
        return tuple(queries)

    def _role_query(self, plan: Plan, name: str, scope: Scope, place: str) -> tuple[Statement, tuple[Bind, ...], bool]:
        role, table = plan.intent.roles[name], plan.intent.roles[name].is_
        conditions = []
        if role.of is not None:
            parent = plan.intent.roles[role.of]
            link = self.environment.schema.foreign_key(table, parent.is_)
            if link is None:
                raise SpecError(
                    [SpecIssue("intents.yaml", f"{place}.roles.{name}", f"{table} has no foreign key to {parent.is_}", "choose another parent")]
                )
            values = f"(SELECT p.{link[1]} FROM {role.of} AS p)" if parent.take == "all" else None
            conditions.append(f"{name}.{link[0]} IN {values}" if values else f"{name}.{link[0]} = {role.of}.{link[1]}")
        else:
            key = self.environment.schema.tables[table].key
            scope = scope.with_row("root", {column: self._columns[table][column] for column in key})
            conditions += [f"{name}.{column} = root.{column}" for column in key]
        if role.where:
            conditions.append(f"({role.where.replace('{all}', table)})")
        description = plan.roles[name].description
        first = role.first or (description.first.replace("{r}", name) if description and description.first else None)
        columns = ", ".join(f"{name}.{column}" for column in self._columns[table])
        order = ", ".join(f"{name}.{column}" for column in self.environment.schema.tables[table].key)
        sql = f"SELECT {columns}, ({first or '0'}) AS best FROM {table} AS {name} WHERE {' AND '.join(conditions) or '1 = 1'} ORDER BY best, {order}"
        text, _ = bind_select(sql, scope, "intents.yaml", f"{place}.roles.{name}")
        statement = compile_statement(text, scope, file="intents.yaml", place=f"{place}.roles.{name}.where", source=role.where or sql)
        return statement, binds_of(statement, scope), first is not None


def _mentioned(text: str, roles: Mapping[str, Any]) -> set[str]:
    return {name for name in roles if re.search(rf"\b{re.escape(name)}\b", text)}


def _slots_of(text: str) -> set[str]:
    return set(re.findall(r"\bsay\.(\w+)", text))
