"""Case queries: which rows of the database each role of an intent may mean, compiled once per intent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.environment.environment import Environment
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import ColumnType
from toolscale.sql.compiled import Statement
from toolscale.tasks.compiler import starting_scope
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.names import (
    Bind,
    Expression,
    ExpressionScope,
    bind_select,
    binds_of,
    compile_expression,
    compile_statement,
)
from toolscale.tasks.plan import Plan


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


def compile_case(environment: Environment, plan: Plan) -> tuple[RoleQuery, ...]:
    """Compile the case queries of an intent. Raises SpecError."""
    intent, place = plan.intent, f"intents[{plan.intent.id}]"
    scope = starting_scope(environment, intent, environment.schema)
    drawn = {name for name, slot in intent.slots.items() if slot.sql is None}
    waiting = [part for text in intent.when for part in conjuncts(text, "intents.yaml", f"{place}.when")]
    undrawn = [name for name in intent.slots if name not in drawn]
    queries, bound = [], set[str]()
    for name, role in intent.roles.items():
        _check_drawn(plan, name, drawn, place)
        statement, binds, first = _role_query(environment, plan, name, scope, place)
        columns = _columns(environment, role.is_)
        scope = scope.with_relation(name, columns) if role.take == "all" else scope.with_row(name, columns)
        bound.add(name)
        now_slots = []
        for slot in list(undrawn):
            sql = intent.slots[slot].sql or ""
            if not (_mentioned(sql, intent.roles) - bound) and not (_slots_of(sql) - drawn):
                undrawn.remove(slot)
                drawn.add(slot)
                text, _ = bind_select(sql, scope, "intents.yaml", f"{place}.slots.{slot}")
                compiled = compile_statement(
                    text, scope, file="intents.yaml", place=f"{place}.slots.{slot}.sql", source=sql
                )
                now_slots.append((slot, compiled, binds_of(compiled, scope)))
        conditions = []
        for text in list(waiting):
            if not (_mentioned(text, intent.roles) - bound) and not (_slots_of(text) - drawn):
                waiting.remove(text)
                conditions.append(compile_expression(text, scope, file="intents.yaml", place=f"{place}.when"))
        queries.append(
            RoleQuery(
                name, role.is_, role.take, first, role.of is None, statement, binds, tuple(conditions), tuple(now_slots)
            )
        )
    if waiting or undrawn:
        raise SpecError(
            [
                SpecIssue(
                    "intents.yaml",
                    f"{place}.when",
                    f"{(waiting + undrawn)[0]!r} names no role",
                    "use roles and slots of this intent",
                )
            ]
        )
    return tuple(queries)


def _check_drawn(plan: Plan, name: str, drawn: set[str], place: str) -> None:
    """Raise SpecError if a role asks for a value that is drawn from rows which are not known yet."""
    asked = _slots_of(f"{plan.intent.roles[name].where} {plan.roles[name].first}") & plan.intent.slots.keys()
    for slot in sorted(asked - drawn):
        problem = f"say.{slot} is drawn from a role that comes after {name}"
        raise SpecError(
            [SpecIssue("intents.yaml", f"{place}.roles.{name}", problem, "write the roles in another order")]
        )


def _role_query(
    environment: Environment, plan: Plan, name: str, scope: ExpressionScope, place: str
) -> tuple[Statement, tuple[Bind, ...], bool]:
    role, table = plan.intent.roles[name], plan.intent.roles[name].is_
    conditions = []
    if role.of is not None:
        parent = plan.intent.roles[role.of]
        link = environment.schema.foreign_key(table, parent.is_)
        if link is None:
            raise SpecError(
                [
                    SpecIssue(
                        "intents.yaml",
                        f"{place}.roles.{name}",
                        f"{table} has no foreign key to {parent.is_}",
                        "choose another parent",
                    )
                ]
            )
        values = f"(SELECT p.{link[1]} FROM {role.of} AS p)" if parent.take == "all" else None
        conditions.append(f"{name}.{link[0]} IN {values}" if values else f"{name}.{link[0]} = {role.of}.{link[1]}")
    else:
        key = environment.schema.tables[table].key
        scope = scope.with_row("root", {column: _columns(environment, table)[column] for column in key})
        conditions += [f"{name}.{column} = root.{column}" for column in key]
    if role.where:
        conditions.append(f"({role.where.replace('{all}', table)})")
    first = plan.roles[name].first
    columns = ", ".join(f"{name}.{column}" for column in _columns(environment, table))
    order = ", ".join(f"{name}.{column}" for column in environment.schema.tables[table].key)
    sql = (
        f"SELECT {columns}, ({first or '0'}) AS best FROM {table} AS {name} "
        f"WHERE {' AND '.join(conditions) or '1 = 1'} ORDER BY best, {order}"
    )
    text, _ = bind_select(sql, scope, "intents.yaml", f"{place}.roles.{name}")
    statement = compile_statement(
        text, scope, file="intents.yaml", place=f"{place}.roles.{name}.where", source=role.where or sql
    )
    return statement, binds_of(statement, scope), first is not None


def _mentioned(text: str, roles: Mapping[str, Any]) -> set[str]:
    return {name for name in roles if re.search(rf"\b{re.escape(name)}\b", text)}


def _slots_of(text: str) -> set[str]:
    return set(re.findall(r"\bsay\.(\w+)", text))


def _columns(environment: Environment, table: str) -> dict[str, ColumnType]:
    return {name: column.type for name, column in environment.schema.tables[table].columns.items()}
