"""Expressions over names: what a plan, a rule or a fact may say, and how it is evaluated without any table.

`role.column`, `step.column`, `say.slot`, `policy.constant`, `call.argument` are bound values; a role that means several
rows and the rows of a step are relations that a sub-select may read. Nothing else can be named: an expression that
mentions a table, or a column that no tool showed, does not compile. That is what makes golden calls grounded by
construction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import sqlglot
from sqlglot import exp

from toolscale.environment.complaints import suggest
from toolscale.errors import SpecError, SpecIssue
from toolscale.patterns import regex
from toolscale.records import CallStep, ColumnType, EachStep, IfStep, PlanStep, SchemaSpec
from toolscale.sql.compiled import Statement
from toolscale.sql.statements import compile_select

NO_TABLES = SchemaSpec.trusted(tables={})

_WORD = regex(r"\w+")
_SCHEMAS: dict[int, SchemaSpec] = {}
"""Schemas by identity: their statements are kept as long as they are."""

_Named = tuple[str, tuple[tuple[str, ColumnType], ...]]
_Made = TypeVar("_Made")

Columns = Mapping[str, ColumnType]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ExpressionScope:
    """The names an expression may use: `rows` have one value a column, `relations` are sets of rows."""

    rows: Mapping[str, Columns]
    relations: Mapping[str, Columns] = field(default_factory=dict)
    schema: SchemaSpec = NO_TABLES
    """Tables that may be read besides: none for an agent, all for the judge."""

    def with_row(self, name: str, columns: Columns) -> ExpressionScope:
        """The same scope with one more row."""
        return ExpressionScope({**self.rows, name: columns}, self.relations, self.schema)

    def with_relation(self, name: str, columns: Columns) -> ExpressionScope:
        """The same scope with one more relation."""
        return ExpressionScope(self.rows, {**self.relations, name: columns}, self.schema)


@dataclass(frozen=True)
class Bind:
    """Where one bound value of a statement comes from: a column of a row, a whole relation, or the clock."""

    key: str
    name: str
    column: str | None


@dataclass(frozen=True)
class Expression:
    """A compiled expression. `direct` is its value's place if it is just `name.column`; `literal` holds a constant."""

    source: str
    names: frozenset[str]
    statement: Statement | None
    binds: tuple[Bind, ...] = ()
    direct: tuple[str, str] | None = None
    literal: Any = None

    @property
    def is_literal(self) -> bool:
        """Whether the expression is a constant."""
        return self.statement is None and self.direct is None


def parse_expression(text: str, file: str, place: str) -> exp.Expr:
    """Parse an expression of the subset, to be read and not changed; a syntax error is a SpecError that names the
    place."""
    try:
        node = _parse(f"SELECT {text}")
    except sqlglot.errors.SqlglotError as error:
        raise SpecError([SpecIssue(file, place, f"{text!r} is no SQL expression", _where_to_look(error))]) from error
    if not isinstance(node, exp.Select) or len(node.expressions) != 1:
        raise SpecError([SpecIssue(file, place, f"{text!r} is not one expression", "write a single SQL expression")])
    part: exp.Expr = node.expressions[0]
    return part


def _where_to_look(error: sqlglot.errors.SqlglotError) -> str:
    """What to do about text that cannot be parsed: the words at which the parser stopped."""
    if not isinstance(error, sqlglot.errors.ParseError):
        return "close every quote; a quote inside a text is written twice"
    fault = error.errors[0] if error.errors else {}
    near = f"{fault.get('start_context') or ''}{fault.get('highlight') or ''}".removeprefix("SELECT ")
    return f"correct it behind {near[-40:]!r}" if near else "write a single SQL expression"


@lru_cache(maxsize=512)
def _parse(sql: str) -> exp.Expr:
    """Parse a SELECT once: evolved plans share most of their expressions."""
    return sqlglot.parse_one(sql, read="sqlite")


def bind_names(node: exp.Expr, names: Collection[str]) -> tuple[exp.Expr, frozenset[str]]:
    """Turn `name.column` of bound rows into placeholders; a name that a FROM inside the expression introduces stays a
    column."""
    used: set[str] = set()
    node = node.copy()
    for column in list(node.find_all(exp.Column)):
        name = column.table
        if not name or name not in names or name in _introduced(column):
            continue
        used.add(name)
        placeholder = exp.Placeholder(this=f"{name}.{column.name}")
        if column is node:
            return placeholder, frozenset(used)
        column.replace(placeholder)
    return node, frozenset(used)


def bind_select(sql: str, scope: ExpressionScope, file: str, place: str) -> tuple[str, frozenset[str]]:
    """Turn `name.column` of the scope's rows into placeholders in a whole SELECT; return it with the names used."""
    try:
        return _bound_select(sql, frozenset(_WORD.findall(sql)).intersection(scope.rows))
    except sqlglot.errors.SqlglotError as error:
        raise SpecError([SpecIssue(file, place, f"{sql!r} does not parse", _where_to_look(error))]) from error


@lru_cache(maxsize=16384)
def _bound_select(sql: str, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    bound, used = bind_names(_parse(sql), names)
    return bound.sql(dialect="sqlite"), used


def columns_of(text: str, name: str, file: str, place: str) -> frozenset[str]:
    """The columns of one name that an expression uses."""
    return frozenset(column for owner, column in _columns(text, file, place) if owner == name)


@lru_cache(maxsize=16384)
def _columns(text: str, file: str, place: str) -> frozenset[tuple[str, str]]:
    return frozenset((column.table, column.name) for column in parse_expression(text, file, place).find_all(exp.Column))


def free_names(text: str, file: str, place: str) -> frozenset[str]:
    """The names before a dot in an expression that no sub-select of it brings."""
    columns = parse_expression(text, file, place).find_all(exp.Column)
    return frozenset(column.table for column in columns if column.table and column.table not in _introduced(column))


def _introduced(column: exp.Column) -> set[str]:
    found: set[str] = set()
    parent = column.parent
    while parent is not None:
        if isinstance(parent, exp.Select):
            found |= {table.alias_or_name for table in parent.find_all(exp.Table)}
        parent = parent.parent
    return found


def compile_expression(text: str, scope: ExpressionScope, *, file: str, place: str) -> Expression:
    """Compile an expression over the names of a scope. Raises SpecError for a name or a column that is not there."""
    node = parse_expression(text, file, place)
    if isinstance(node, exp.Column) and node.table in scope.rows:
        _require(node.name, scope.rows[node.table], node.table, file, place)
        return Expression(text, frozenset({node.table}), None, direct=(node.table, node.name))
    if isinstance(node, exp.Literal):
        return Expression(text, frozenset(), None, literal=node.this if node.is_string else int(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return Expression(text, frozenset(), None, literal=-int(node.this.this))
    if isinstance(node, exp.Null):
        return Expression(text, frozenset(), None, literal=None)
    try:
        return _over_signature(_expression, text, scope)
    except SpecError as error:
        raise _placed(error, f"SELECT {text}", scope, file, place, text) from error


@lru_cache(maxsize=16384)
def _expression(text: str, schema: int, rows: tuple[_Named, ...], relations: tuple[_Named, ...]) -> Expression:
    scope = ExpressionScope(
        {name: dict(columns) for name, columns in rows},
        {name: dict(columns) for name, columns in relations},
        _SCHEMAS[schema],
    )
    bound, used = bind_names(parse_expression(text, "", ""), scope.rows)
    statement = compile_statement(
        f"SELECT {bound.sql(dialect='sqlite')} AS value", scope, file="", place="", source=text
    )
    return Expression(
        text,
        used | {bind for bind in statement.binds if bind in scope.relations},
        statement,
        binds_of(statement, scope),
    )


def _over_signature(compiled: Callable[..., _Made], text: str, scope: ExpressionScope) -> _Made:
    """Compile a text over the part of a scope that it can depend on. If that fails, compile it over all columns of its
    names, so that the remedy says which columns there are."""
    try:
        return compiled(text, *_signature(text, scope))
    except SpecError:
        return compiled(text, *_signature(text, scope, whole=True))


def _signature(
    text: str, scope: ExpressionScope, *, whole: bool = False
) -> tuple[int, tuple[_Named, ...], tuple[_Named, ...]]:
    """The part of a scope that a text can depend on: the names that stand in the text, of rows the columns that stand
    in it (`whole`: all columns), and the schema."""
    words = set(_WORD.findall(text))
    rows = tuple(
        (name, tuple((column, kind) for column, kind in columns.items() if whole or column in words))
        for name, columns in scope.rows.items()
        if name in words
    )
    relations = tuple((name, tuple(columns.items())) for name, columns in scope.relations.items() if name in words)
    _SCHEMAS.setdefault(id(scope.schema), scope.schema)
    return id(scope.schema), rows, relations


def _placed(error: SpecError, sql: str, scope: ExpressionScope, file: str, place: str, source: str) -> SpecError:
    """The issues of a statement where it stands; a name that nothing has is said before all else."""
    unknown = _unknown_name(sql, scope)
    if unknown is not None:
        name, column, known = unknown
        return SpecError(
            [SpecIssue(file, place, f"unknown name {name!r} of {name}.{column} in {source!r}", suggest(name, known))]
        )
    return SpecError(
        SpecIssue(file, place, f"{i.problem} (in {source!r})" if source not in i.problem else i.problem, i.remedy)
        for i in error.issues
    )


def compile_statement(sql: str, scope: ExpressionScope, *, file: str, place: str, source: str) -> Statement:
    """Compile a SELECT whose placeholders `:name.column` are rows of the scope; issues show the expression as it was
    written.

    A statement is compiled once for all scopes that agree in the names it uses: the plans of evolved intents share most
    of theirs.
    """
    try:
        return _over_signature(_compiled, sql, scope)
    except SpecError as error:
        raise _placed(error, sql, scope, file, place, source) from error


def _unknown_name(sql: str, scope: ExpressionScope) -> tuple[str, str, set[str]] | None:
    """Return the first name of a statement that is neither in the scope nor introduced by a FROM, its column, and the
    names that could be meant."""
    known = {name for name in scope.rows if not name.startswith("say_")} | set(scope.relations)
    for column in _parse(sql).find_all(exp.Column):
        introduced = _introduced(column)
        if column.table and column.table not in introduced | known | set(scope.rows):
            return column.table, column.name, known | introduced
    return None


@lru_cache(maxsize=16384)
def _compiled(sql: str, schema: int, rows: tuple[_Named, ...], relations: tuple[_Named, ...]) -> Statement:
    lets = {name: dict(columns) for name, columns in rows}
    return compile_select(
        sql, _SCHEMAS[schema], lets=lets, relations={name: dict(columns) for name, columns in relations}
    )


def binds_of(statement: Statement, scope: ExpressionScope) -> tuple[Bind, ...]:
    """Say where each bound value of a statement comes from."""
    found = []
    for key in statement.binds:
        if key in ("now", "today") or key in scope.relations:
            found.append(Bind(key, key, None))
        else:
            name, _, column = key.partition("__")
            found.append(Bind(key, name, column))
    return tuple(found)


def _require(column: str, columns: Columns, name: str, file: str, place: str) -> None:
    if column not in columns:
        raise SpecError(
            [
                SpecIssue(
                    file,
                    place,
                    f"{name}.{column} is not known here",
                    f"{name} has {', '.join(sorted(columns)) or 'no columns'}",
                )
            ]
        )


def relation_key(name: str) -> str:
    """Where an environment of values keeps the rows of a name, beside its current row."""
    return f"*{name}"


def matter_of(name: str) -> str:
    """What the names of a second or third matter of a composed request end in: `_2`; an empty text for those of the
    first."""
    found = _MATTER.search(name)
    return found[0] if found else ""


_MATTER = regex(r"_\d+$")


class Unbound(Exception):
    """An expression used a step of a path that was not taken."""


def bound_values(binds: tuple[Bind, ...], env: Mapping[str, Any], clock: Mapping[str, str]) -> dict[str, Any]:
    """Collect the bound values of a statement from `env` (name -> row, `relation_key(name)` -> list of rows). Raises
    Unbound."""
    found: dict[str, Any] = {}
    for bind in binds:
        if bind.column is None and bind.name in clock:
            found[bind.key] = clock[bind.name]
            continue
        place = relation_key(bind.name) if bind.column is None else bind.name
        if place not in env:
            raise Unbound(bind.name)
        found[bind.key] = json.dumps(env[place]) if bind.column is None else env[place][bind.column]
    return found


class Scratch:
    """Evaluates expressions on a connection that has no table at all. Any thread may, one at a time."""

    def __init__(self, now: str) -> None:
        self._connection = sqlite3.connect(":memory:", cached_statements=2000, check_same_thread=False)
        self._clock = {"now": now, "today": now[:10]}

    def evaluate(self, expression: Expression, env: Mapping[str, Any]) -> Any:
        """Return the value of an expression. Raises Unbound if a name it needs has no value on this path."""
        if expression.direct is not None:
            name, column = expression.direct
            if name not in env:
                raise Unbound(name)
            return env[name][column]
        if expression.statement is None:
            return expression.literal
        return self.rows(expression.statement, expression.binds, env)[0][0]

    def rows(self, statement: Statement, binds: tuple[Bind, ...], env: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement over the names of `env`."""
        return self._connection.execute(statement.sqlite, bound_values(binds, env, self._clock)).fetchall()


def step_names(steps: tuple[PlanStep, ...]) -> Iterator[str]:
    """The names of all calls of some steps, on every branch."""
    for step in steps:
        if isinstance(step, CallStep):
            yield step.name
        elif isinstance(step, IfStep):
            yield from step_names(step.then + step.else_)
        elif isinstance(step, EachStep):
            yield from step_names(step.do)
