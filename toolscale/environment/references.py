"""Cross-file checks: every name that one file of a domain uses must exist in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from toolscale.config import ALL, DATASET_FOLDERS, RUN_FOLDERS
from toolscale.environment.builtins import BUILT_IN, HANDOVERS, TRANSFER
from toolscale.environment.complaints import correction, not_above, suggest, unknown
from toolscale.environment.known_names import IN_BRACES, SLOT, Names
from toolscale.environment.language_references import check_language
from toolscale.environment.licenses import HUB_LICENSES, similar_licenses
from toolscale.environment.moments import is_date, is_datetime, is_time
from toolscale.environment.policy_text import check_policy
from toolscale.environment.spec_files import Folder
from toolscale.environment.value_forms import check_forms
from toolscale.errors import SpecIssue
from toolscale.forbidden_names import refusals
from toolscale.patterns import regex
from toolscale.records import CallStep, EachStep, FindStep, IfStep, Intent, PlanStep, Role, Rule, SchemaSpec, ToolSpec
from toolscale.sql.schemas import lint_schema

_CALL = regex(r"\bcall\.([a-z_][a-z0-9_]*)")
_DOMAIN = regex(r"[a-z][a-z0-9_-]*")
_VERSION = regex(r"[0-9]{1,6}(\.[0-9]{1,6}){0,2}")
_POLICY = regex(r"\bpolicy\.([a-z_][a-z0-9_]*)")

RESERVED = DATASET_FOLDERS | RUN_FOLDERS | {ALL}
"""What no domain may be called."""

LONGEST_NAME = 60
"""Letters of a domain's name: it is part of names of files, and of tasks of Airflow."""


def check_references(folder: Folder) -> list[SpecIssue]:
    """Return everything that refers to something that is not there, over all files that could be read."""
    names = Names(folder)
    names.is_sound = not any(_schema(names))
    checks: tuple[Callable[[Names], Iterator[SpecIssue]], ...] = (
        _world,
        _schema,
        _toolset,
        _rules,
        check_policy,
        check_language,
        _intents,
        check_forms,
        _cases,
    )
    return [*_domain(folder), *(issue for check in checks for issue in check(names))]


def domain_problem(name: str) -> tuple[str, str] | None:
    """Return what is wrong with the name of a domain, and what to do. It is a config of the Hub, and a folder of a
    dataset beside others."""
    if len(name) > LONGEST_NAME:
        return f"the domain is called {name!r}", f"rename its folder: {LONGEST_NAME} letters at most"
    if not _DOMAIN.fullmatch(name):
        return f"the domain is called {name!r}", (
            f"rename its folder: small letters first, then also digits, _ and -, {LONGEST_NAME} at most"
        )
    if name in RESERVED:
        return f"the domain is called {name!r}, which means something else in every dataset or run", "rename its folder"
    return None


def _domain(folder: Folder) -> Iterator[SpecIssue]:
    if problem := domain_problem(folder.path.resolve().name):
        yield SpecIssue("environment.yaml", "", *problem)


def _world(names: Names) -> Iterator[SpecIssue]:
    file, world = "environment.yaml", names.world
    if world is None:
        return
    if not is_datetime(world.now):
        yield SpecIssue(file, "now", f"{world.now!r} is not a moment", "write it as YYYY-MM-DDTHH:MM:SS")
    if world.license not in HUB_LICENSES:
        yield SpecIssue(file, "license", f"the Hub knows no licence {world.license!r}", similar_licenses(world.license))
    if not _VERSION.fullmatch(world.version):
        yield SpecIssue(
            file,
            "version",
            f"{world.version!r} is not a version",
            "write one to three numbers with dots between them, such as 1 or 1.2",
        )


def _schema(names: Names) -> Iterator[SpecIssue]:
    if names.schema is None:
        return
    if HANDOVERS in names.own_tables:
        place = f"tables.{HANDOVERS}"
        yield SpecIssue("schema.yaml", place, f"the table {HANDOVERS!r} is built in", "remove it, or rename it")
    yield from check_schema(names.schema)


def check_schema(schema: SchemaSpec) -> list[SpecIssue]:
    """Return what is wrong with a schema by itself: names, keys, and what they refer to."""
    issues, file, before = lint_schema(schema), "schema.yaml", set[str]()
    for name, table in schema.tables.items():
        place = f"tables.{name}"
        before.add(name)
        if not table.key:
            issues.append(SpecIssue(file, place, "the table has no primary key", "set pk: true on a column"))
        issues += [
            unknown(f"column of {name}", column, table.columns, file, f"{place}.unique")
            for columns in table.unique
            for column in columns
            if column not in table.columns
        ]
        for column, spec in table.columns.items():
            here = f"{place}.columns.{column}"
            if spec.values is not None and spec.type != "text":
                remedy = "use check, or type text"
                issues.append(SpecIssue(file, here, f"values on a column of type {spec.type}", remedy))
            if spec.pk and spec.nullable:
                issues.append(SpecIssue(file, here, "a key column is nullable", "remove nullable"))
            if spec.fk is not None:
                issues += _foreign_key(schema, spec.fk, spec.type, before, f"{here}.fk")
    return issues


def _foreign_key(schema: SchemaSpec, fk: str, kind: str, before: set[str], place: str) -> Iterator[SpecIssue]:
    file = "schema.yaml"
    table, _, column = fk.partition(".")
    if table not in schema.tables:
        yield unknown("table", table, schema.tables, file, place)
    elif column not in schema.tables[table].columns:
        yield unknown(f"column of {table}", column, schema.tables[table].columns, file, place)
    elif table not in before:
        yield SpecIssue(file, place, f"{table} stands below", "write parents before children")
    elif schema.tables[table].columns[column].type != kind:
        yield SpecIssue(
            file,
            place,
            f"{fk} has type {schema.tables[table].columns[column].type}, this column {kind}",
            "use one type",
        )
    elif schema.tables[table].key != (column,) and not schema.tables[table].columns[column].unique:
        yield SpecIssue(file, place, f"{fk} is not unique", "refer to a key of one column, or to a unique column")


def _toolset(names: Names) -> Iterator[SpecIssue]:
    file, seen = "toolset.yaml", set[str]()
    for tool in names.toolset.tools if names.toolset else ():
        place = f"tools[{tool.name}]"
        if tool.name in seen:
            yield SpecIssue(file, place, "two tools have this name", "rename one of them")
        if tool.name in BUILT_IN:  # refused here: the compiler sees those that are built in too
            yield SpecIssue(file, place, "this tool is built in", "remove it, or rename it")
        seen.add(tool.name)


def _rules(names: Names) -> Iterator[SpecIssue]:
    file = "rules.yaml"
    if names.policy is None:
        return
    for name, rule in names.policy.rules.items():
        yield from _rule(names, rule, file, f"rules.{name}")
    for name, invariant in names.policy.invariants.items():
        yield from names.table(invariant.table, file, f"invariants.{name}.table")


def _rule(names: Names, rule: Rule, file: str, place: str) -> Iterator[SpecIssue]:
    tools = names.tools or {}
    for guarded in rule.guards:
        if names.tools is not None and guarded not in tools:
            yield unknown("tool", guarded, tools, file, f"{place}.guards")
    texts = {f"{place}.breaks": rule.breaks, f"{place}.applies": rule.applies or "", f"{place}.case": rule.case or ""}
    for read, call in rule.reads.items():
        for tool, arguments in call.items():
            yield from names.call(tool, arguments, file, f"{place}.reads.{read}")
            texts.update(
                {f"{place}.reads.{read}.{tool}.{parameter}": str(text) for parameter, text in arguments.items()}
            )
    for number, tell in enumerate(rule.tell):
        texts[f"{place}.tell[{number}].is"] = tell.is_
    for here, text in texts.items():
        for used in _CALL.findall(text):
            lacking = [guarded for guarded in rule.guards if guarded in tools and used not in tools[guarded].parameters]
            if lacking:
                yield SpecIssue(
                    file,
                    here,
                    f"call.{used} is not a parameter of {', '.join(lacking)}",
                    suggest(used, tools[lacking[0]].parameters),
                    correction(used, tools[lacking[0]].parameters, "call.{}"),
                )
        yield from _constants(names, text, file, here)
    yield from _draws(rule, [tools[guarded] for guarded in rule.guards if guarded in tools], file, f"{place}.draws")


def _draws(rule: Rule, guarded: list[ToolSpec], file: str, place: str) -> Iterator[SpecIssue]:
    """Yield what is wrong with the values that a slot is drawn from where the rule is to be broken."""
    parameters = {name: schema for tool in guarded for name, schema in tool.parameters.items()}
    for argument, values in rule.draws.items() if guarded else ():
        here = f"{place}.{argument}"
        if argument not in parameters:
            kind = f"parameter of {', '.join(tool.name for tool in guarded)}"
            yield unknown(kind, argument, parameters, file, here, is_key=True)
            continue
        schema = parameters[argument]
        if not values:
            yield SpecIssue(
                file, here, "there is nothing to draw from", "give values that break the rule, or leave it out"
            )
        for value in values:
            if schema.get("type") == "integer" and not isinstance(value, int):
                yield SpecIssue(
                    file, here, f"{value!r} is not a whole number", f"{argument} is an integer: give cents or numbers"
                )
            elif schema.get("format") == "date" and not isinstance(value, int) and not is_date(value):
                yield SpecIssue(
                    file, here, f"{value!r} is not a day", "write it as YYYY-MM-DD, or as whole days from today"
                )
            elif schema.get("format") == "time" and not (isinstance(value, str) and is_time(value)):
                yield SpecIssue(file, here, f"{value!r} is not a time of day", "write it as HH:MM, from 00:00 to 23:59")


def _constants(names: Names, text: str, file: str, place: str) -> Iterator[SpecIssue]:
    if names.policy is not None:
        known = names.policy.constants
        yield from (
            unknown("constant of the policy", used, known, file, place, shape="policy.{}")
            for used in _POLICY.findall(text)
            if used not in known
        )


def _intents(names: Names) -> Iterator[SpecIssue]:
    seen: set[str] = set()
    for intent in names.intents.intents if names.intents is not None else ():
        place = f"intents[{intent.id}]"
        if intent.id in seen:
            yield SpecIssue("intents.yaml", place, "two intents have this id", "rename one of them")
        seen.add(intent.id)
        for name, role in intent.roles.items():
            yield from _role(names, intent, name, role, f"{place}.roles.{name}")
        yield from _plan(names, intent, intent.do, f"{place}.do")
        for number, part in enumerate(intent.refused):
            yield from _plan(names, intent, part.do, f"{place}.refused[{number}].do")
            if names.policy is not None and part.rule not in names.policy.rules:
                yield unknown("rule", part.rule, names.policy.rules, "intents.yaml", f"{place}.refused[{number}].rule")
        yield from _told(names, intent, place)
        if intent.outcome == "refuse" and intent.rule is None:
            yield SpecIssue("intents.yaml", place, "a refusal without a rule", "add rule:")
        if intent.rule is not None and names.policy is not None and intent.rule not in names.policy.rules:
            yield unknown("rule", intent.rule, names.policy.rules, "intents.yaml", f"{place}.rule")
        if intent.object is not None and intent.object not in intent.roles:
            yield unknown("role", intent.object, intent.roles, "intents.yaml", f"{place}.object")
        if intent.outcome == "transfer" and names.world is not None and not names.world.transfer_reasons:
            yield SpecIssue(
                "intents.yaml",
                f"{place}.outcome",
                f"the domain has no {TRANSFER}",
                "add transfer_reasons to environment.yaml",
            )


def _role(names: Names, intent: Intent, name: str, role: Role, place: str) -> Iterator[SpecIssue]:
    file = "intents.yaml"
    for found in refusals(name, "role"):
        yield SpecIssue(file, place, f"{name!r} {found.why}", f"call the role {name}_meant, say")
    yield from names.table(role.is_, file, f"{place}.is")
    yield from names.columns(role.is_, role.same, file, f"{place}.same")
    if role.is_ == HANDOVERS:
        yield SpecIssue(file, f"{place}.is", "hand-overs are no role", "use a table of schema.yaml")
    is_table = names.schema is None or role.is_ in names.schema.tables
    if (
        is_table
        and role.by is not None
        and names.language is not None
        and role.by not in names.language.describe.get(role.is_, {})
    ):
        yield unknown(
            f"description of {role.is_}", role.by, names.language.describe.get(role.is_, {}), file, f"{place}.by"
        )
    if role.by is None and role.text is None and role.first is not None:
        yield SpecIssue(file, place, "a superlative without words", "add text and cues")
    if role.of is None:
        return
    circle = _circle(intent, name)
    if circle:
        if name == next(key for key in intent.roles if key in circle):
            parents = " of ".join([*circle, name])
            problem = f"the parents go in a circle: {parents}" if len(circle) > 1 else f"{name} is its own parent"
            yield SpecIssue(file, f"{place}.of", problem, "let one of them be of none")
        return
    earlier = list(intent.roles)[: list(intent.roles).index(name)]
    if role.of not in earlier:
        yield not_above(role.of, earlier, file, f"{place}.of")
        return
    parent = intent.roles[role.of].is_
    schema = names.schema if names.is_sound else None
    if schema is not None and {parent, role.is_} <= set(schema.tables) and schema.foreign_key(role.is_, parent) is None:
        yield SpecIssue(
            file,
            f"{place}.of",
            f"{role.is_} has no foreign key to {parent}",
            "add fk to schema.yaml, or another parent",
        )


def _circle(intent: Intent, name: str) -> list[str]:
    """Return the roles on the way from a role to itself, parent by parent; none if the way does not lead back."""
    way, here = [name], intent.roles[name].of
    while here is not None and here in intent.roles and here not in way:
        way.append(here)
        here = intent.roles[here].of
    return way if here == name else []


def _plan(names: Names, intent: Intent, steps: tuple[PlanStep, ...], place: str) -> Iterator[SpecIssue]:
    file = "intents.yaml"
    for number, step in enumerate(steps):
        here = f"{place}[{number}]"
        if isinstance(step, CallStep):
            yield from names.call(step.tool, step.arguments, file, f"{here}.{step.name}")
        elif isinstance(step, IfStep):
            yield from _forbidding(names, step, f"{here}.rule")
            yield from _plan(names, intent, step.then, f"{here}.then")
            yield from _plan(names, intent, step.else_, f"{here}.else")
        elif isinstance(step, EachStep):
            if step.each not in intent.roles:
                yield unknown("role", step.each, intent.roles, file, f"{here}.each")
            yield from _plan(names, intent, step.do, f"{here}.do")
        elif isinstance(step, FindStep) and step.find not in intent.roles:
            yield unknown("role", step.find, intent.roles, file, f"{here}.find")


def _forbidding(names: Names, step: IfStep, place: str) -> Iterator[SpecIssue]:
    """Yield what is wrong with the rule that the condition of a branch stands for."""
    file = "intents.yaml"
    if step.rule is None or names.policy is None:
        return
    if step.rule not in names.policy.rules:
        yield unknown("rule", step.rule, names.policy.rules, file, place)
        return
    rule = names.policy.rules[step.rule]
    if not any(isinstance(part, CallStep) and part.tool in rule.guards for part in step.then):
        remedy = f"name a rule that does, or call {' or '.join(rule.guards)}"
        yield SpecIssue(file, place, f"{step.rule} guards no call of then", remedy)
    elif rule.case is None:
        remedy = "add case to the rule, or leave the rule out here"
        yield SpecIssue(file, place, f"{step.rule} has no case, so the database does not tell the side", remedy)
    elif not step.else_:
        remedy = "add else, or leave the rule out"
        yield SpecIssue(file, place, f"nothing else is done where {step.rule} forbids it", remedy)


def _told(names: Names, intent: Intent, place: str) -> Iterator[SpecIssue]:
    """Yield what is wrong with the requests and facts of an intent."""
    file, known = "intents.yaml", {*intent.roles, *intent.slots, "more"}
    spoken = [(f"requests[{number}]", request) for number, request in enumerate(intent.requests)]
    for part, request in (*spoken, *((f"asks[{number}]", ask) for number, ask in enumerate(intent.asks))):
        here = f"{place}.{part}"
        yield from (
            unknown("role or slot", used, known, file, here, shape=IN_BRACES)
            for used in dict.fromkeys(SLOT.findall(request.say))
            if used not in known
        )
        if (
            request.persona is not None
            and names.language is not None
            and request.persona not in names.language.personas
        ):
            yield unknown("persona", request.persona, names.language.personas, file, here)
    for number, tell in enumerate(intent.tell):
        if tell.each is not None and tell.each not in intent.roles:
            yield unknown("role", tell.each, intent.roles, file, f"{place}.tell[{number}].each")
        yield from _constants(names, tell.is_, file, f"{place}.tell[{number}].is")


def _unplaced(issues: Iterable[SpecIssue]) -> Iterator[SpecIssue]:
    """Yield issues of which the place is only near to what is wrong: none has an edit."""
    return (replace(issue, edit=None) for issue in issues)


def _cases(names: Names) -> Iterator[SpecIssue]:
    file = "cases.yaml"
    if names.cases is None:
        return
    for number, case in enumerate(names.cases.calls):
        for call in (*case.before, case.call):
            for tool, arguments in call.items():
                yield from _unplaced(names.call(tool, arguments, file, f"calls[{number}]"))
    intents = {intent.id for intent in names.intents.intents} if names.intents is not None else None
    for number, verifier in enumerate(names.cases.verifier):
        place = f"verifier[{number}]"
        if intents is not None and verifier.intent not in intents:
            yield unknown("intent", verifier.intent, intents, file, f"{place}.intent")
        for call in verifier.calls if isinstance(verifier.calls, tuple) else ():
            for tool, arguments in call.items():
                yield from (
                    _unplaced(names.call(tool, arguments, file, f"{place}.calls"))
                    if verifier.kind != "malformed"
                    else ()
                )
