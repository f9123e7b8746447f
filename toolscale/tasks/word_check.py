"""Whether the expressions of `language.yaml` compile: quantities, what is private, and adjectives. Evolution only uses
what does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from toolscale.environment.environment import Environment
from toolscale.errors import SpecError, SpecIssue
from toolscale.patterns import regex
from toolscale.records import ColumnType, Private, Quantity, Role
from toolscale.sql.statements import compile_condition
from toolscale.tasks.compiler import SLOT_TYPES, starting_scope
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.lookups import parameter_types, step_columns
from toolscale.tasks.names import ExpressionScope, compile_expression, free_names

FILE = "language.yaml"
_PLACE = regex(r"\{(\w+)\}")


def check_words(environment: Environment) -> Iterator[SpecIssue]:
    """Yield every expression of `language.yaml` that does not compile; what refers to something unknown has been told
    before."""
    language = environment.spec.language
    for table, words in language.adjectives.items():
        for text in words if table in environment.schema.tables else ():
            yield from issues_of(lambda table=table, text=text: _adjective(environment, table, text))  # type: ignore[misc]
    for name, quantity in language.quantities.items():
        if set(quantity.roles.values()) <= environment.schema.tables.keys():
            yield from _quantity(environment, quantity, f"quantities.{name}")
    for name, private in language.private.items():
        if {role.is_ for role in private.roles.values()} <= environment.schema.tables.keys():
            yield from _private(environment, private, f"private.{name}")


def issues_of(compiled: Callable[[], object]) -> tuple[SpecIssue, ...]:
    """Return what compiling something complains of."""
    try:
        compiled()
    except SpecError as error:
        return error.issues
    return ()


def usual_form(text: str, file: str, place: str) -> None:
    """Raise SpecError if the text is not one conjunct, written as those of `where` are compared."""
    parts = conjuncts(text, file, place)
    if len(parts) > 1:
        raise SpecError([SpecIssue(file, place, f"{text!r} is {len(parts)} conditions", "give each its own entry")])
    if parts[0] != text:
        raise SpecError([SpecIssue(file, place, f"{text!r} is never found in a where", f"write it as {parts[0]}")])


def _adjective(environment: Environment, table: str, text: str) -> None:
    place = f"adjectives.{table}"
    usual_form(text, FILE, place)
    if other := sorted(free_names(text, FILE, place) - {table, "policy"}):
        problem = f"{text!r} names {', '.join(other)}, and an adjective is of one row of {table}"
        raise SpecError([SpecIssue(FILE, place, problem, "leave it out, and give the role `cues` that say it")])
    compile_condition(text, environment.schema, table=table, place=place, file=FILE)


def _quantity(environment: Environment, quantity: Quantity, place: str) -> Iterator[SpecIssue]:
    given: dict[str, ColumnType] = {}
    for tool in environment.tools.values():
        given |= parameter_types(tool)
    scope = starting_scope(environment).with_row("call", given).with_row("say", {"limit": SLOT_TYPES[quantity.kind]})
    for role, table in quantity.roles.items():
        scope = scope.with_row(role, columns(environment, table))

    def filled(text: str) -> str:
        return _PLACE.sub(lambda match: match[1] if match[1] in quantity.roles else f"call.{match[1]}", text)

    for read, made in quantity.reads.items():
        for name, arguments in made.items():
            for parameter, text in arguments.items() if name in environment.tools else ():
                yield from _expression(filled(text), scope, f"{place}.reads.{read}.{name}.{parameter}")
            if name in environment.tools:
                flat, listed = step_columns(environment.tools[name])
                scope = scope.with_row(read, flat)
                scope = scope if listed is None else scope.with_relation(read, listed)
    for part, expression in {"value": quantity.value, "test": quantity.test, "about": quantity.about}.items():
        if expression is not None and all(name in {*quantity.roles, *given} for name in _PLACE.findall(expression)):
            yield from _expression(filled(expression), scope, f"{place}.{part}")


def _private(environment: Environment, private: Private, place: str) -> Iterator[SpecIssue]:
    scope = starting_scope(environment)
    known = {name: role for intent in environment.spec.intents.intents for name, role in intent.roles.items()} | dict(
        private.roles
    )
    for name, role in private.roles.items():
        scope = _with_role(environment, scope, name, role)
        own = scope.with_row(name, columns(environment, role.is_)).with_relation(name, columns(environment, role.is_))
        for part, text in {"where": role.where, "first": role.first}.items():
            if text:
                yield from _expression(text.replace("{all}", name), own, f"{place}.roles.{name}.{part}")
    for number, tell in enumerate(private.withhold):
        here = (
            scope.with_row(tell.each, columns(environment, private.roles[tell.each].is_))
            if tell.each in private.roles
            else scope
        )
        for part, text in {"is": tell.is_, "about": tell.about, "when": tell.when}.items():
            if text:
                yield from _expression(text, here, f"{place}.withhold[{number}].{part}")
    yield from _expression(private.about, scope, f"{place}.about")
    if private.when:
        over = starting_scope(environment, schema=environment.schema)
        for name, role in known.items():
            over = _with_role(environment, over, name, role)
        yield from _expression(private.when, over, f"{place}.when")


def _with_role(environment: Environment, scope: ExpressionScope, name: str, role: Role) -> ExpressionScope:
    found = columns(environment, role.is_)
    return scope.with_relation(name, found) if role.take == "all" else scope.with_row(name, found)


def _expression(text: str, scope: ExpressionScope, place: str) -> tuple[SpecIssue, ...]:
    return issues_of(lambda: compile_expression(text, scope, file=FILE, place=place))


def columns(environment: Environment, table: str) -> Mapping[str, ColumnType]:
    """The types of the columns of a table."""
    return {name: column.type for name, column in environment.schema.tables[table].columns.items()}
