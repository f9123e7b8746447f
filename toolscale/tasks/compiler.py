"""Compiles intents and rules against an environment: every expression of every branch is checked before anything
runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolscale.environment.column_kinds import said_type, unit_of
from toolscale.environment.environment import Environment
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import (
    CallStep,
    ColumnType,
    Description,
    EachStep,
    FindStep,
    IfStep,
    Intent,
    PlanStep,
    Refused,
    Role,
    Rule,
    SchemaSpec,
    Tell,
)
from toolscale.tasks.asking import asking
from toolscale.tasks.lint import lint_plan
from toolscale.tasks.lookups import Finder, finders, parameter_types, said_condition, step_columns
from toolscale.tasks.names import (
    NO_TABLES,
    Expression,
    ExpressionScope,
    bind_select,
    binds_of,
    columns_of,
    compile_expression,
    compile_statement,
)
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
)

SLOT_TYPES: dict[str, ColumnType] = {
    "money": "cents",
    "date": "date",
    "time": "time",
    "duration": "int",
    "number": "int",
    "text": "text",
    "bool": "bool",
    "yes_no": "bool",
    "digits": "text",
    "id": "text",
}


def starting_scope(
    environment: Environment, intent: Intent | None = None, schema: SchemaSpec = NO_TABLES
) -> ExpressionScope:
    """The names that have a value before any call: the policy's constants and, for an intent, its slots."""
    policy: dict[str, ColumnType] = {
        name: "int" if isinstance(value, int) else "text" for name, value in environment.spec.policy.constants.items()
    }
    scope = ExpressionScope({"policy": policy}, schema=schema)
    return (
        scope
        if intent is None
        else scope.with_row("say", {name: SLOT_TYPES[slot.kind] for name, slot in intent.slots.items()})
    )


class PlanCompiler:
    """Compiles the intents and rules of one environment, collecting every issue."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.issues: list[SpecIssue] = []
        self._scope = starting_scope(environment)
        self._finders: dict[tuple[Any, ...], list[Finder]] = {}

    def compile_rules(self) -> dict[str, RulePlan]:
        """Compile all rules of `rules.yaml`."""
        found = {}
        for name, rule in self.environment.spec.policy.rules.items():
            before = len(self.issues)
            try:
                planned = self._rule(name, rule)
            except SpecError as error:
                self.issues.extend(error.issues)
            if len(self.issues) == before:
                found[name] = planned
        return found

    def _expression(self, text: str, scope: ExpressionScope, *, file: str, place: str) -> Expression:
        """Compile an expression; an issue is kept, so that those of the expressions after it are found as well."""
        try:
            return compile_expression(text, scope, file=file, place=place)
        except SpecError as error:
            self.issues.extend(error.issues)
            return Expression(text, frozenset(), None)

    def _rule(self, name: str, rule: Rule) -> RulePlan:
        place, file = f"rules.{name}", "rules.yaml"
        arguments: dict[str, ColumnType] = {}
        for tool in rule.guards:
            arguments |= parameter_types(self.environment.tools[tool])
        scope = self._scope.with_row("call", arguments)
        applies = self._expression(rule.applies, scope, file=file, place=f"{place}.applies") if rule.applies else None
        reads = []
        for read, call in rule.reads.items():
            ((tool_name, params),) = call.items()
            step = CallStep(name=read, tool=tool_name, arguments={key: str(value) for key, value in params.items()})
            planned, scope = self._call(step, scope, file, f"{place}.reads.{read}")
            reads.append(planned)
        breaks = self._expression(rule.breaks, scope, file=file, place=f"{place}.breaks")
        tells = tuple(self._tell(tell, scope, file, f"{place}.tell[{i}]") for i, tell in enumerate(rule.tell))
        return RulePlan(name, rule, applies, tuple(reads), breaks, tells)

    def compile_intent(self, intent: Intent, rules: Mapping[str, RulePlan]) -> Plan | None:
        """Compile one intent; None if it has issues (they are kept)."""
        file, place = "intents.yaml", f"intents[{intent.id}]"
        before = len(self.issues)
        try:
            roles, scope = self._roles(intent, starting_scope(self.environment, intent), file, place)
            steps, scope = self._steps(intent.do, scope, roles, file, f"{place}.do")
            tells = tuple(
                self._tell(tell, scope, file, f"{place}.tell[{i}]", roles) for i, tell in enumerate(intent.tell)
            )
            refusals = tuple(
                self._refusal(part, scope, roles, rules, f"{place}.refused[{i}]")
                for i, part in enumerate(intent.refused)
            )
            if intent.outcome == "refuse":
                refusals += (RefusalPlan(self._known_rule(intent.rule, rules, place), steps, None),)
        except SpecError as error:
            self.issues.extend(error.issues)
            return None
        if len(self.issues) > before:
            return None
        plan = Plan(intent, roles, () if intent.outcome == "refuse" else steps, tells, refusals)
        self.issues += lint_plan(plan, self.environment)
        return plan if len(self.issues) == before else None

    def _refusal(
        self,
        part: Refused,
        scope: ExpressionScope,
        roles: Mapping[str, RolePlan],
        rules: Mapping[str, RulePlan],
        place: str,
    ) -> RefusalPlan:
        steps, scope = self._steps(part.do, scope, roles, "intents.yaml", f"{place}.do")
        about = self._expression(part.about, scope, file="intents.yaml", place=f"{place}.about") if part.about else None
        return RefusalPlan(self._known_rule(part.rule, rules, place), steps, about)

    def _known_rule(self, name: str | None, rules: Mapping[str, RulePlan], place: str) -> RulePlan:
        if name is None or name not in rules:
            raise SpecError(
                [
                    SpecIssue(
                        "intents.yaml",
                        place,
                        f"rule {name!r} is not in rules.yaml",
                        f"name one of {', '.join(sorted(rules))}",
                    )
                ]
            )
        return rules[name]

    def _roles(
        self, intent: Intent, scope: ExpressionScope, file: str, place: str
    ) -> tuple[dict[str, RolePlan], ExpressionScope]:
        roles: dict[str, RolePlan] = {}
        for name, role in intent.roles.items():
            planned = self._role(name, role, intent, roles, scope, file, f"{place}.roles.{name}")
            roles[name] = planned
            if role.take == "all":
                scope = scope.with_relation(name, planned.finder.columns)
            else:
                scope = scope.with_row(name, planned.finder.columns)
        return roles, scope

    def _role(
        self,
        name: str,
        role: Role,
        intent: Intent,
        roles: Mapping[str, RolePlan],
        scope: ExpressionScope,
        file: str,
        place: str,
    ) -> RolePlan:
        table = self.environment.schema.tables[role.is_]
        ancestors = [role.of, *roles[role.of].ancestors] if role.of is not None else []
        description = self.environment.spec.language.describe.get(role.is_, {}).get(role.by) if role.by else None
        said = description.cols if description else ()
        ways = self._ways(role.is_, said, tuple((ancestor, roles[ancestor].table) for ancestor in ancestors))
        needed = self._needed(name, role, description, intent) | set(table.key)
        link = self.environment.schema.foreign_key(role.is_, roles[role.of].table) if role.of is not None else None
        fitting = [way for way in ways if needed <= set(way.columns)]
        finder = next((way for way in fitting if _keeps_to(way, role.of, link)), fitting[0] if fitting else None)
        if finder is None:
            raise SpecError([SpecIssue(file, place, *_not_found(role.is_, needed, ways))])
        first = role.first or (description.first.replace("{r}", name) if description and description.first else None)
        inner = ExpressionScope(
            {**scope.rows, f"say_{name}": {c: said_type(finder.columns[c]) for c in said}},
            {**scope.relations, name: finder.columns},
        )
        conditions = [f"({role.where.replace('{all}', name)})"] if role.where else []
        conditions += [said_condition(name, column, finder.columns[column]) for column in said]
        conditions += _of_parent(name, finder, roles.get(role.of or ""), link)
        where = " AND ".join(conditions) or "1 = 1"
        sql = f"SELECT {name}.ord AS ord, ({first or '0'}) AS best FROM {name} WHERE {where}"
        bound, used = bind_select(sql, inner, file, place)
        statement = compile_statement(f"{bound} ORDER BY best, ord", inner, file=file, place=place, source=where)
        relations = {bind for bind in statement.binds if bind in scope.relations}
        needs = (used | relations) - {f"say_{name}"}
        return RolePlan(
            name,
            role,
            role.is_,
            table.key,
            tuple(ancestors),
            description,
            first,
            said,
            finder,
            statement,
            binds_of(statement, inner),
            frozenset(needs),
        )

    def _ways(self, table: str, said: tuple[str, ...], ancestors: tuple[tuple[str, str], ...]) -> list[Finder]:
        """The tools that find rows of a table, kept: evolved plans look for the same ones again and again."""
        key = (table, said, ancestors)
        if key not in self._finders:
            self._finders[key] = finders(self.environment, table, said, dict(ancestors))
        return self._finders[key]

    def _needed(self, name: str, role: Role, description: Description | None, intent: Intent) -> set[str]:
        """Columns of the role that any expression of the intent names."""
        texts = [
            role.where or "",
            role.first or "",
            *(t for other in intent.roles.values() for t in (other.where or "", other.first or "")),
        ]
        texts += [text for tell in intent.tell for text in (tell.is_, tell.about or "", tell.when or "")]
        texts += [text for steps in (intent.do, *(part.do for part in intent.refused)) for text in _texts(steps)]
        texts += [part.about for part in intent.refused if part.about]
        needed = set(description.cols) | set(role.same) if description else set(role.same)
        for text in texts:
            if text:
                needed |= columns_of(text.replace("{all}", name), name, "intents.yaml", f"intents[{intent.id}]")
        return needed

    def _steps(
        self, steps: tuple[PlanStep, ...], scope: ExpressionScope, roles: Mapping[str, RolePlan], file: str, place: str
    ) -> tuple[tuple[StepPlan, ...], ExpressionScope]:
        planned: list[StepPlan] = []
        for position, step in enumerate(steps):
            where = f"{place}[{position}]"
            if isinstance(step, CallStep):
                call, scope = self._call(step, scope, file, f"{where}.{step.name}")
                planned.append(call)
            elif isinstance(step, IfStep):
                test = self._expression(step.if_, scope, file=file, place=f"{where}.if")
                then, then_scope = self._steps(step.then, scope, roles, file, f"{where}.then")
                otherwise, else_scope = self._steps(step.else_, scope, roles, file, f"{where}.else")
                planned.append(IfPlan(test, then, otherwise))
                scope = ExpressionScope(
                    {**else_scope.rows, **then_scope.rows}, {**else_scope.relations, **then_scope.relations}
                )
            elif isinstance(step, FindStep):
                if step.find not in roles:
                    raise SpecError(
                        [
                            SpecIssue(
                                file, where, f"find: {step.find!r} is not a role", f"name one of {', '.join(roles)}"
                            )
                        ]
                    )
                planned.append(FindPlan(step.find))
            else:
                each, scope = self._each(step, scope, roles, file, where)
                planned.append(each)
        return tuple(planned), scope

    def _each(
        self, step: EachStep, scope: ExpressionScope, roles: Mapping[str, RolePlan], file: str, place: str
    ) -> tuple[EachPlan, ExpressionScope]:
        if step.each not in roles or roles[step.each].role.take != "all":
            raise SpecError(
                [SpecIssue(file, place, f"each: {step.each!r} is not a role with `take: all`", "name such a role")]
            )
        do, inner = self._steps(
            step.do, scope.with_row(step.each, roles[step.each].finder.columns), roles, file, f"{place}.do"
        )
        for name, columns in inner.rows.items():
            if name not in scope.rows and name != step.each:
                scope = scope.with_relation(name, columns).with_row(name, columns)
        return EachPlan(step.each, do), scope

    def _call(self, step: CallStep, scope: ExpressionScope, file: str, place: str) -> tuple[CallPlan, ExpressionScope]:
        tool = self.environment.tools.get(step.tool)
        if tool is None:
            raise SpecError(
                [
                    SpecIssue(
                        file,
                        place,
                        f"unknown tool {step.tool!r}",
                        f"use one of {', '.join(sorted(self.environment.tools))}",
                    )
                ]
            )
        issues = []
        for name in step.arguments:
            if name not in tool.spec.parameters:
                issues.append(
                    SpecIssue(
                        file,
                        f"{place}.{name}",
                        f"{step.tool} has no parameter {name!r}",
                        f"use {', '.join(tool.spec.parameters)}",
                    )
                )
        for name, schema in tool.spec.parameters.items():
            if "default" not in schema and name not in step.arguments:
                issues.append(SpecIssue(file, place, f"{step.tool} needs {name!r}", "give it"))
        if issues:
            raise SpecError(issues)
        arguments = {
            name: self._expression(text, scope, file=file, place=f"{place}.{name}")
            for name, text in step.arguments.items()
        }
        flat, listed = step_columns(tool)
        scope = scope.with_row(step.name, flat)
        if listed is not None:
            scope = scope.with_relation(step.name, listed)
        return CallPlan(step.name, tool, arguments), scope

    def _tell(
        self, tell: Tell, scope: ExpressionScope, file: str, place: str, roles: Mapping[str, RolePlan] | None = None
    ) -> TellPlan:
        if tell.each is not None:
            if roles is None or tell.each not in roles:
                raise SpecError(
                    [SpecIssue(file, place, f"each: {tell.each!r} is not a role", "name a role with `take: all`")]
                )
            scope = scope.with_row(tell.each, roles[tell.each].finder.columns)
        return TellPlan(
            tell,
            self._expression(tell.is_, scope, file=file, place=f"{place}.is"),
            self._expression(tell.about, scope, file=file, place=f"{place}.about") if tell.about else None,
            self._expression(tell.when, scope, file=file, place=f"{place}.when") if tell.when else None,
            unit_of(self.environment.schema, tell.kind, tell.is_),
        )


def _keeps_to(way: Finder, parent: str | None, link: tuple[str, str] | None) -> bool:
    """Return whether rows of the parent alone are found, or can be told apart."""
    return link is None or link[0] in way.columns or any(each.name == parent for each in way.arguments.values())


def _of_parent(name: str, way: Finder, parent: RolePlan | None, link: tuple[str, str] | None) -> list[str]:
    """Return the condition that a row belongs to its parent, where the look-up may show rows of others: policies of an
    owner, of which that of one pet is meant."""
    if parent is None or link is None or link[0] not in way.columns or link[1] not in parent.finder.columns:
        return []
    if any(each.name == parent.name for each in way.arguments.values()):
        return []
    if parent.role.take == "all":
        return [f"{name}.{link[0]} IN (SELECT {parent.name}.{link[1]} FROM {parent.name})"]
    return [f"{name}.{link[0]} = {parent.name}.{link[1]}"]


def _not_found(table: str, needed: set[str], ways: Sequence[Finder]) -> tuple[str, str]:
    """What is wrong with a role that no tool finds with the columns it needs, and what to do."""
    if ways:
        problem = f"no read tool shows {table}.{', '.join(sorted(needed - set(ways[0].columns)))}"
    else:
        problem = f"no read tool finds rows of {table} from what is known"
    return problem, "let a read tool return it, or do not use it"


def _texts(steps: tuple[PlanStep, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, CallStep):
            yield from step.arguments.values()
        elif isinstance(step, IfStep):
            yield step.if_
            yield from _texts(step.then)
            yield from _texts(step.else_)
        elif isinstance(step, EachStep):
            yield from _texts(step.do)


def compile_plans(environment: Environment) -> tuple[dict[str, Plan], dict[str, RulePlan]]:
    """Compile every intent and rule of an environment. Raises SpecError with all issues."""
    compiler = PlanCompiler(environment)
    rules = compiler.compile_rules()
    plans = {}
    for intent in environment.spec.intents.intents:
        plan = compiler.compile_intent(asking(intent), rules)
        if plan is not None:
            plans[intent.id] = plan
    if compiler.issues:
        raise SpecError(compiler.issues)
    return plans, rules
