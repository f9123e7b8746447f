"""Gate `unambiguous`: role by role, every other row that fits what is *said* must lead to the same end, or be refused
by a tool."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlglot import exp

from toolscale.environment.column_kinds import said_type
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.language.heard import contains_words
from toolscale.records import ToolCall
from toolscale.sql.compiled import Statement
from toolscale.tasks.compiler import starting_scope
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.lint import SIZES, order_of
from toolscale.tasks.lookups import said_condition
from toolscale.tasks.names import (
    Bind,
    ExpressionScope,
    bind_select,
    binds_of,
    bound_values,
    compile_statement,
    parse_expression,
    relation_key,
)
from toolscale.tasks.plan import Plan, RolePlan
from toolscale.tasks.record import Invisible, Recorder, Rejection
from toolscale.verify.subject import Subject

KEPT = 4_096
"""Roles of evolved intents whose statements are kept."""

Selected = tuple[Statement, tuple[Bind, ...]]
"""A statement, and where its bound values come from."""

_EVERY = frozenset(("all", "every", "each", "both", "any", "everything"))
"""Cues that say how many, and not which."""

ALTERNATIVES = 12
"""How many other rows are tried per role, in the order of the superlative."""


@dataclasses.dataclass(frozen=True, slots=True)
class OtherReading:
    """What else a request could mean."""

    finding: str
    calls: tuple[ToolCall, ...] | None = None
    """The writes of an agent that reads it so; None if it cannot be carried out."""


class Ambiguity:
    """Finds other readings of a request on the database. The statements are compiled once per role and set of conjuncts
    that a text states."""

    def __init__(self, environment: Environment, reader: World) -> None:
        self.environment = environment
        self.reader = reader
        """A world that nobody writes to."""
        self._statements: dict[tuple[str, str, tuple[str, ...]], Selected] = {}
        self._compiled: dict[tuple[object, ...], Selected] = {}
        """The same by what they say: evolved intents share most of their roles."""
        self._conjuncts: dict[tuple[str, str], tuple[str, ...]] = {}
        self._words: dict[str, tuple[tuple[str | None, ...], bool]] = {}

    def find(self, subject: Subject, recorder: Recorder) -> OtherReading | None:
        """Return a role that could mean another row, which, and what would come of it; or None."""
        for name, role in subject.plan.roles.items():
            if name not in subject.recording.chosen:
                continue
            if role.role.take == "all":
                chosen = {tuple(row[column] for column in role.key) for row in subject.recording.chosen[name]}
                readings = [keys for keys in self._sets(subject, role) if set(keys) != chosen]
            else:
                readings = [[key] for key in self._fitting(subject, role)][:ALTERNATIVES]
                turned = self._turned(subject, role)
                if turned is not None:
                    return turned
            for reading in readings:
                other = self._other_end(subject, recorder, role, reading)
                if other is not None:
                    return dataclasses.replace(other, finding=other.finding + self._unsaid(subject, role))
        return None

    def _unsaid(self, subject: Subject, role: RolePlan) -> str:
        """Return the conditions of a role that no word of the request states, as the end of a finding."""
        stated = self._stated(subject, role)
        unsaid = [text for text in self._conjuncts[(_plan_name(subject), role.name)] if text not in stated]
        others = [
            name for name in subject.plan.roles if name != role.name and any(f"{name}." in text for text in unsaid)
        ]
        remedy = f" (it names {', '.join(others)}: let cues of {role.name} say it)" if others else ""
        return f"; no word says {', '.join(unsaid)}{remedy}" if unsaid else ""

    def _other_end(
        self, subject: Subject, recorder: Recorder, role: RolePlan, keys: list[tuple[Any, ...]]
    ) -> OtherReading | None:
        forced = {role.name: [dict(zip(role.key, key, strict=True)) for key in keys]}
        meant = (
            f"{role.name} could be "
            f"{' '.join(map(str, keys[0])) if len(keys) == 1 else f'{len(keys)} rows' if keys else 'no row'}"
        )
        recorder.world.reset()
        try:
            other = recorder.record(subject.plan, dataclasses.replace(subject.inputs, forced=forced))
        except Invisible:
            return OtherReading(f"{meant}, which no tool shows")
        except Rejection as rejection:
            if rejection.gate == "lawful":
                return OtherReading(f"{meant}, for which the request is allowed")
            if rejection.gate == "case_agrees" and role.role.first and self._has_cues(subject, role):
                # Who says *my last order* of another order than the last starts from a wrong premise.
                return OtherReading(f"{meant}, to which something else that is said does not belong")
            return OtherReading(f"{meant}, for which {rejection.finding}") if rejection.gate == "unambiguous" else None
        if subject.states.of(other.write_calls).changes not in subject.accepted:
            return OtherReading(f"{meant}, which ends in another state", other.write_calls)
        if [(f.kind, f.value) for f in other.facts] != [(f.kind, f.value) for f in subject.facts]:
            return OtherReading(f"{meant}, for which other facts are true", other.write_calls)
        return None

    def _fitting(self, subject: Subject, role: RolePlan) -> list[tuple[Any, ...]]:
        """Keys of the rows under the bound parent that fit the stated part of the role, best first, but for those that
        are right."""
        rows = self._rows(subject, role, self._stated(subject, role))
        chosen = {tuple(row[column] for column in role.key) for row in subject.recording.chosen[role.name]}
        if role.first and self._has_cues(subject, role):
            # The plan passes over rows that a tool refuses, so every row before the chosen one, or of the same rank, is
            # another reading.
            last = next((number for number, row in enumerate(rows) if tuple(row[:-1]) in chosen), 0)
            rows = [row for number, row in enumerate(rows) if number <= last or row[-1] == rows[last][-1]]
        chosen |= {
            tuple(row[column] for column in role.key) for row in subject.recording.interchangeable.get(role.name, ())
        }
        return [key for row in rows if (key := tuple(row[:-1])) not in chosen]

    def _turned(self, subject: Subject, role: RolePlan) -> OtherReading | None:
        """Return what is wrong if an order by several columns points the other way than its words: who says *most* or
        *longest* means the greatest figure, and figures of rows have no sign for people. Nothing is told where some are
        above zero and some below. (`lint` compares an order by one column with its words.)"""
        if not role.first or order_of(role.first) is not None:
            return None
        ranks = [row[-1] for row in self._rows(subject, role, self._stated(subject, role))]
        if not all(isinstance(rank, int | float) for rank in ranks):
            return None
        ranks = [rank - _taken_from(role.first) for rank in ranks]
        if len(set(ranks)) < 2 or min(ranks) < 0 < max(ranks):
            return None
        lowest = min(ranks) >= 0
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        for cue in cues:
            if any(SIZES.get(word, lowest) != lowest for word in cue.lower().split()):
                return OtherReading(
                    f"the words say {cue!r}, and {role.first} takes the {'lowest' if lowest else 'highest'} first"
                )
        return None

    def _sets(self, subject: Subject, role: RolePlan) -> Iterator[list[tuple[Any, ...]]]:
        """Keys of the sets that a role may mean: first, all rows that fit the stated conditions; then, for each
        unstated condition (if there are several), all rows that fit every other condition.

        The first set alone is not enough: one row in it that a tool refuses, and that nobody means, would hide that
        other rows are missing.
        """
        stated = self._stated(subject, role)
        every = self._conjuncts[(_plan_name(subject), role.name)]
        unstated = [text for text in every if text not in stated]
        kept = [tuple(text for text in every if text != dropped) for dropped in unstated] if len(unstated) > 1 else []
        for conditions in (stated, *kept):
            yield [tuple(row[:-1]) for row in self._rows(subject, role, conditions)]

    def _stated(self, subject: Subject, role: RolePlan) -> tuple[str, ...]:
        """The conjuncts of a role that the request states."""
        place = (_plan_name(subject), role.name)
        if place not in self._conjuncts:
            if len(self._conjuncts) > KEPT:
                self._conjuncts.clear()
                self._statements.clear()
                self._compiled.clear()
            where = role.role.where
            self._conjuncts[place] = conjuncts(where.replace("{all}", role.table)) if where else ()
        return tuple(text for text in self._conjuncts[place] if self._is_stated(text, subject, role))

    def _rows(self, subject: Subject, role: RolePlan, conditions: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Key and rank of the rows under the bound parent that fit some conjuncts and the description, best first."""
        place = (_plan_name(subject), role.name, conditions)
        if place not in self._statements:
            self._statements[place] = self._compile(subject.plan, role, conditions)
        statement, binds = self._statements[place]
        return list(self.reader.sandbox.query(statement, self._values(binds, subject, role)))

    def _has_cues(self, subject: Subject, role: RolePlan) -> bool:
        """Whether the words of a superlative stand in the request."""
        cues = (*role.role.cues, *(role.description.cues if role.description else ()))
        return bool(cues) and all(map(subject.heard.says, cues))

    def _is_stated(self, text: str, subject: Subject, role: RolePlan) -> bool:
        adjectives = self.environment.spec.language.adjectives.get(role.table, {})
        bare = text.replace(f"{role.name}.", "")
        if bare in adjectives:
            return subject.heard.says(adjectives[bare])
        literals, names_slot = self._words_of(text)
        if None in literals:
            return False  # a number in a predicate is said by its adjective or not at all
        if literals:
            request = subject.heard.text
            named = (
                value
                for name, columns in subject.inputs.said.items()
                if name != role.name
                for value in columns.values()
            )
            for value in sorted((value for value in named if isinstance(value, str)), key=len, reverse=True):
                # What another row is called states nothing.
                request = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "", request, flags=re.IGNORECASE)
            return all(contains_words(request, literal) for literal in literals if literal is not None)
        return names_slot or (self._has_cues(subject, role) and self._has_own_cue(subject, role))

    def _has_own_cue(self, subject: Subject, role: RolePlan) -> bool:
        """Whether a set has a cue for each of its conditions that neither says a word of its own nor compares with what
        is said: *all* says that it is all of them, and not which."""
        if role.role.take != "all":
            return True
        adjectives = self.environment.spec.language.adjectives.get(role.table, {})
        conditions = self._conjuncts[(_plan_name(subject), role.name)]
        bare = [text.replace(f"{role.name}.", "") for text in conditions]
        told = {adjectives[text] for text in bare if text in adjectives}
        told |= {literal for text in conditions for literal in self._words_of(text)[0] if literal is not None}
        spare = [
            cue
            for cue in role.role.cues
            if cue.lower() not in _EVERY and not any(contains_words(cue, word) for word in told)
        ]
        needing = [
            text
            for text, short in zip(conditions, bare, strict=True)
            if short not in adjectives and self._words_of(text) == ((), False)
        ]
        return len(spare) >= len(needing)

    def _words_of(self, text: str) -> tuple[tuple[str | None, ...], bool]:
        if text not in self._words:
            self._words[text] = _words_of(parse_expression(text, "intents.yaml", "where"))
        return self._words[text]

    def _compile(self, plan: Plan, role: RolePlan, stated: tuple[str, ...]) -> Selected:
        """Compile the statement of a role, once for all plans in which its names mean the same."""
        sql = self._sql(plan, role, stated)
        slots = tuple([(name, slot.kind) for name, slot in plan.intent.slots.items() if name in sql])
        others = [other for other in plan.roles.values() if other.name != role.name and other.name in sql]
        roles = tuple([(one.name, one.role.take == "all", tuple(one.finder.columns.items())) for one in others])
        place = (sql, slots, roles)
        if place not in self._compiled:
            scope = self._scope(plan, role, others)
            bound, _ = bind_select(sql, scope, "intents.yaml", role.name)
            statement = compile_statement(
                bound, scope, file="intents.yaml", place=f"intents[{plan.intent.id}].roles.{role.name}", source=sql
            )
            self._compiled[place] = statement, binds_of(statement, scope)
        return self._compiled[place]

    def _scope(self, plan: Plan, role: RolePlan, others: Iterable[RolePlan]) -> ExpressionScope:
        schema = self.environment.schema
        columns = schema.tables[role.table].columns
        scope = starting_scope(self.environment, plan.intent, schema)
        scope = scope.with_row(f"say_{role.name}", {column: said_type(columns[column].type) for column in role.said})
        for other in others:
            if other.role.take == "all":
                scope = scope.with_relation(other.name, other.finder.columns)
            else:
                scope = scope.with_row(other.name, other.finder.columns)
        return scope

    def _sql(self, plan: Plan, role: RolePlan, stated: tuple[str, ...]) -> str:
        columns = self.environment.schema.tables[role.table].columns
        conditions = [said_condition(role.name, column, columns[column].type) for column in role.said]
        if role.role.of is not None:
            parent = plan.roles[role.role.of]
            child, above = self.environment.schema.foreign_key(role.table, parent.table) or ("", "")
            among = (
                f"{role.name}.{child} IN (SELECT p.{above} FROM {parent.name} AS p)"
                if parent.role.take == "all"
                else None
            )
            conditions.append(among or f"{role.name}.{child} = {parent.name}.{above}")
        conditions += [f"({text})" for text in stated]
        key = ", ".join(f"{role.name}.{column}" for column in role.key)
        where = " AND ".join(conditions) or "1 = 1"
        return (
            f"SELECT {key}, ({role.first or '0'}) AS best FROM {role.table} AS {role.name} "
            f"WHERE {where} ORDER BY best, {key}"
        )

    def _values(self, binds: tuple[Bind, ...], subject: Subject, role: RolePlan) -> Mapping[str, Any]:
        env = dict(subject.recording.env)
        for name, rows in subject.recording.chosen.items():
            env[name] = rows[0]
            env[relation_key(name)] = rows
        world = self.environment.spec.world
        return bound_values(binds, env, {"now": world.now, "today": world.today})


def _taken_from(first: str) -> int:
    """Return the number from which an order takes a figure away: 100 of `100 - days`, 0 where there is none."""
    node = parse_expression(first, "", "")
    while isinstance(node, exp.Paren):
        node = node.this
    is_taken = isinstance(node, exp.Sub) and isinstance(node.this, exp.Literal) and node.this.is_int
    return int(node.this.this) if is_taken else 0


def _words_of(node: exp.Expr) -> tuple[tuple[str | None, ...], bool]:
    """The constants of a predicate without a sub-select (None for a number), and whether it names a slot."""
    constants = [] if node.find(exp.Select) is not None else list(node.find_all(exp.Literal))
    names_slot = any(column.table == "say" for column in node.find_all(exp.Column))
    return tuple(constant.this if constant.is_string else None for constant in constants), names_slot


def _plan_name(subject: Subject) -> str:
    return " + ".join([subject.candidate.intent_id, *subject.candidate.evolutions])
