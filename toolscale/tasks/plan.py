"""An intent, compiled against an environment: every expression of every branch checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolscale.environment import Environment
from toolscale.errors import SpecError, SpecIssue
from toolscale.records import CallStep, ColumnType, Description, EachStep, IfStep, Intent, PlanStep, Role, Rule, SchemaSpec, Tell
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.tasks.names import NO_TABLES, Bind, Expression, Scope, bind_select, binds_of, columns_of, compile_expression, compile_statement
from toolscale.tasks.tools import Finder, finders, parameter_types, step_columns


@dataclass(frozen=True)
class RolePlan:
    """A role with the tool that finds it and the selection over what that tool shows."""

    name: str
    role: Role
    table: str
    key: tuple[str, ...]
    ancestors: tuple[str, ...]
    """Parent first."""
    description: Description | None
    first: str | None
    """The superlative: rows are ordered by this expression, lowest first."""
    said: tuple[str, ...]
    """Columns that the request says, as `say_<role>.column`."""
    finder: Finder
    select: Statement
    """Over the relation of the found rows: (ord, value of `first`) of those that fit, best first."""
    binds: tuple[Bind, ...]
    needs: frozenset[str]
    """Other names that the selection uses."""


@dataclass(frozen=True)
class CallPlan:
    """One call of the plan."""

    name: str
    tool: CompiledTool
    arguments: Mapping[str, Expression]


@dataclass(frozen=True)
class IfPlan:
    """A branch."""

    test: Expression
    then: tuple[StepPlan, ...]
    otherwise: tuple[StepPlan, ...]


@dataclass(frozen=True)
class EachPlan:
    """Steps for every row of a role."""

    role: str
    do: tuple[StepPlan, ...]


StepPlan = CallPlan | IfPlan | EachPlan


@dataclass(frozen=True)
class TellPlan:
    """A fact to tell."""

    tell: Tell
    value: Expression
    about: Expression | None
    when: Expression | None


@dataclass(frozen=True)
class RulePlan:
    """A rule of the policy, ready to be evaluated for a call."""

    name: str
    rule: Rule
    applies: Expression | None
    reads: tuple[CallPlan, ...]
    breaks: Expression
    tells: tuple[TellPlan, ...]


@dataclass(frozen=True)
class Plan:
    """A compiled intent."""

    intent: Intent
    roles: Mapping[str, RolePlan]
    steps: tuple[StepPlan, ...]
    tells: tuple[TellPlan, ...]
    rule: RulePlan | None

    def calls(self) -> Iterator[CallPlan]:
        """Every call of every branch."""
        yield from calls_of(self.steps)


def calls_of(steps: tuple[StepPlan, ...]) -> Iterator[CallPlan]:
    """Every call of every branch of some steps, in the order written."""
    for step in steps:
        if isinstance(step, CallPlan):
            yield step
        elif isinstance(step, IfPlan):
            yield from calls_of(step.then)
            yield from calls_of(step.otherwise)
        else:
            yield from calls_of(step.do)


SLOT_TYPES: dict[str, ColumnType] = {
    "money": "cents", "date": "date", "number": "int", "text": "text", "bool": "bool", "digits": "text", "id": "text",
}  # fmt: skip


def starting_scope(environment: Environment, intent: Intent | None = None, schema: SchemaSpec = NO_TABLES) -> Scope:
    """The names that have a value before any call: the policy's constants and, for an intent, its slots."""
    policy: dict[str, ColumnType] = {name: "int" if isinstance(value, int) else "text" for name, value in environment.spec.policy.constants.items()}
    scope = Scope({"policy": policy}, schema=schema)
    return scope if intent is None else scope.with_row("say", {name: SLOT_TYPES[slot.kind] for name, slot in intent.slots.items()})


class PlanCompiler:
    """Compiles the intents and rules of one environment, collecting every issue."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.issues: list[SpecIssue] = []
        self._scope = starting_scope(environment)

    def compile_rules(self) -> dict[str, RulePlan]:
        """Compile all rules of `rules.yaml`."""
        found = {}
        for name, rule in self.environment.spec.policy.rules.items():
            try:
                found[name] = self._rule(name, rule)
            except SpecError as error:
                self.issues.extend(error.issues)
        return found

    def _rule(self, name: str, rule: Rule) -> RulePlan:
        place, file = f"rules.{name}", "rules.yaml"
        arguments: dict[str, ColumnType] = {}
        for tool in rule.guards:
            arguments |= parameter_types(self.environment.tools[tool])
        scope = self._scope.with_row("call", arguments)
        applies = compile_expression(rule.applies, scope, file=file, place=f"{place}.applies") if rule.applies else None
        reads = []
        for read, call in rule.reads.items():
            ((tool_name, params),) = call.items()
            step = CallStep(name=read, tool=tool_name, arguments={key: str(value) for key, value in params.items()})
            planned, scope = self._call(step, scope, file, f"{place}.reads.{read}")
            reads.append(planned)
        breaks = compile_expression(rule.breaks, scope, file=file, place=f"{place}.breaks")
        tells = tuple(self._tell(tell, scope, file, f"{place}.tell[{i}]") for i, tell in enumerate(rule.tell))
        return RulePlan(name, rule, applies, tuple(reads), breaks, tells)

    def compile_intent(self, intent: Intent, rules: Mapping[str, RulePlan]) -> Plan | None:
        """Compile one intent; None if it has issues (they are kept)."""
        file, place = "intents.yaml", f"intents[{intent.id}]"
        before = len(self.issues)
        try:
            roles, scope = self._roles(intent, starting_scope(self.environment, intent), file, place)
            steps, scope = self._steps(intent.do, scope, roles, file, f"{place}.do")
            tells = tuple(self._tell(tell, scope, file, f"{place}.tell[{i}]", roles) for i, tell in enumerate(intent.tell))
        except SpecError as error:
            self.issues.extend(error.issues)
            return None
        rule = rules.get(intent.rule or "")
        if intent.outcome == "refuse" and rule is None:
            self._issue(place, f"rule {intent.rule!r} is not in rules.yaml", f"name one of {', '.join(sorted(rules))}")
        plan = Plan(intent, roles, steps, tells, rule)
        self._lint(plan, place)
        return plan if len(self.issues) == before else None

    def _issue(self, place: str, problem: str, remedy: str) -> None:
        self.issues.append(SpecIssue("intents.yaml", place, problem, remedy))

    def _roles(self, intent: Intent, scope: Scope, file: str, place: str) -> tuple[dict[str, RolePlan], Scope]:
        roles: dict[str, RolePlan] = {}
        for name, role in intent.roles.items():
            planned = self._role(name, role, intent, roles, scope, file, f"{place}.roles.{name}")
            roles[name] = planned
            if role.take == "all":
                scope = scope.with_relation(name, planned.finder.columns)
            else:
                scope = scope.with_row(name, planned.finder.columns)
        return roles, scope

    def _role(self, name: str, role: Role, intent: Intent, roles: Mapping[str, RolePlan], scope: Scope, file: str, place: str) -> RolePlan:
        table = self.environment.schema.tables[role.is_]
        ancestors: list[str] = []
        if role.of is not None:
            ancestors = [role.of, *roles[role.of].ancestors]
        description = self.environment.spec.language.describe.get(role.is_, {}).get(role.by) if role.by else None
        said = description.cols if description else ()
        ways = finders(self.environment, role.is_, said, {ancestor: roles[ancestor].table for ancestor in ancestors})
        needed = self._needed(name, role, description, intent) | set(table.key)
        fitting = [way for way in ways if needed <= set(way.columns)]
        if not fitting:
            missing = sorted(needed - set(ways[0].columns)) if ways else []
            problem = f"no read tool shows {role.is_}.{', '.join(missing)}" if ways else f"no read tool finds rows of {role.is_} from what is known"
            raise SpecError([SpecIssue(file, place, problem, "let a read tool return it, or do not use it")])
        finder = fitting[0]
        first = role.first or (description.first.replace("{r}", name) if description and description.first else None)
        inner = Scope({**scope.rows, f"say_{name}": {c: finder.columns[c] for c in said}}, {**scope.relations, name: finder.columns})
        conditions = [f"({role.where.replace('{all}', name)})"] if role.where else []
        conditions += [f"{name}.{column} = say_{name}.{column}" for column in said]
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

    def _needed(self, name: str, role: Role, description: Description | None, intent: Intent) -> set[str]:
        """Columns of the role that any expression of the intent names."""
        texts = [role.where or "", role.first or "", *(t for other in intent.roles.values() for t in (other.where or "", other.first or ""))]
        texts += [text for tell in intent.tell for text in (tell.is_, tell.about or "", tell.when or "")]
        texts += list(_texts(intent.do))
        needed = set(description.cols) | set(role.same) if description else set(role.same)
        for text in texts:
            if text:
                needed |= columns_of(text.replace("{all}", name), name, "intents.yaml", f"intents[{intent.id}]")
        return needed

    def _steps(
        self, steps: tuple[PlanStep, ...], scope: Scope, roles: Mapping[str, RolePlan], file: str, place: str
    ) -> tuple[tuple[StepPlan, ...], Scope]:
        planned: list[StepPlan] = []
        for position, step in enumerate(steps):
            where = f"{place}[{position}]"
            if isinstance(step, CallStep):
                call, scope = self._call(step, scope, file, f"{where}.{step.name}")
                planned.append(call)
            elif isinstance(step, IfStep):
                test = compile_expression(step.if_, scope, file=file, place=f"{where}.if")
                then, then_scope = self._steps(step.then, scope, roles, file, f"{where}.then")
                otherwise, else_scope = self._steps(step.else_, scope, roles, file, f"{where}.else")
                planned.append(IfPlan(test, then, otherwise))
                scope = Scope({**else_scope.rows, **then_scope.rows}, {**else_scope.relations, **then_scope.relations})
            else:
                each, scope = self._each(step, scope, roles, file, where)
                planned.append(each)
        return tuple(planned), scope

    def _each(self, step: EachStep, scope: Scope, roles: Mapping[str, RolePlan], file: str, place: str) -> tuple[EachPlan, Scope]:
        if step.each not in roles or roles[step.each].role.take != "all":
            raise SpecError([SpecIssue(file, place, f"each: {step.each!r} is not a role with `take: all`", "name such a role")])
        do, inner = self._steps(step.do, scope.with_row(step.each, roles[step.each].finder.columns), roles, file, f"{place}.do")
        for name, columns in inner.rows.items():
            if name not in scope.rows and name != step.each:
                scope = scope.with_relation(name, columns).with_row(name, columns)
        return EachPlan(step.each, do), scope

    def _call(self, step: CallStep, scope: Scope, file: str, place: str) -> tuple[CallPlan, Scope]:
        tool = self.environment.tools.get(step.tool)
        if tool is None:
            raise SpecError([SpecIssue(file, place, f"unknown tool {step.tool!r}", f"use one of {', '.join(sorted(self.environment.tools))}")])
        issues = []
        for name in step.arguments:
            if name not in tool.spec.parameters:
                issues.append(SpecIssue(file, f"{place}.{name}", f"{step.tool} has no parameter {name!r}", f"use {', '.join(tool.spec.parameters)}"))
        for name, schema in tool.spec.parameters.items():
            if "default" not in schema and name not in step.arguments:
                issues.append(SpecIssue(file, place, f"{step.tool} needs {name!r}", "give it"))
        if issues:
            raise SpecError(issues)
        arguments = {name: compile_expression(text, scope, file=file, place=f"{place}.{name}") for name, text in step.arguments.items()}
        flat, listed = step_columns(tool)
        scope = scope.with_row(step.name, flat)
        if listed is not None:
            scope = scope.with_relation(step.name, listed)
        return CallPlan(step.name, tool, arguments), scope

    def _tell(self, tell: Tell, scope: Scope, file: str, place: str, roles: Mapping[str, RolePlan] | None = None) -> TellPlan:
        if tell.each is not None:
            if roles is None or tell.each not in roles:
                raise SpecError([SpecIssue(file, place, f"each: {tell.each!r} is not a role", "name a role with `take: all`")])
            scope = scope.with_row(tell.each, roles[tell.each].finder.columns)
        return TellPlan(
            tell,
            compile_expression(tell.is_, scope, file=file, place=f"{place}.is"),
            compile_expression(tell.about, scope, file=file, place=f"{place}.about") if tell.about else None,
            compile_expression(tell.when, scope, file=file, place=f"{place}.when") if tell.when else None,
        )

    def _lint(self, plan: Plan, place: str) -> None:
        """Static rules of `grounded` and `necessary`, over every branch."""
        cues = self.environment.spec.language.enum_cues
        for call in plan.calls():
            for name, expression in call.arguments.items():
                if not expression.is_literal or expression.literal is None:
                    continue
                allowed = call.tool.spec.parameters[name].get("enum", ())
                if expression.literal not in allowed:
                    self._issue(
                        f"{place}.do.{call.name}.{name}", f"{expression.source} is a literal that nobody said", "use a slot, a role or policy.NAME"
                    )
                elif str(expression.literal) not in cues:
                    self._issue(f"{place}.do.{call.name}.{name}", f"{expression.source} has no cue", "list words for it in language.yaml enum_cues")
        used = _used_names(plan)
        for call in plan.calls():
            if not call.tool.mutates_state and call.name not in used:
                self._issue(f"{place}.do.{call.name}", "this look-up is never used", "use its result or leave it out")
        for name in plan.roles:
            if name not in used:
                self._issue(f"{place}.roles.{name}", "this role is never used", "use it or leave it out")
        kinds = [tell.tell.kind for tell in plan.tells if tell.about is None and tell.tell.kind != "bool" and not tell.tell.when]
        for kind in sorted({kind for kind in kinds if kinds.count(kind) > 1}):
            self._issue(f"{place}.tell", f"two facts of kind {kind} without `about`", "say which is which with `about`")


def _texts(steps: tuple[PlanStep, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, CallStep):
            yield from step.arguments.values()
        elif isinstance(step, IfStep):
            yield step.if_
            yield from _texts(step.then)
            yield from _texts(step.else_)
        else:
            yield from _texts(step.do)


def _used_names(plan: Plan) -> set[str]:
    used: set[str] = set()
    expressions = [expression for call in plan.calls() for expression in call.arguments.values()]
    expressions += [e for tell in plan.tells for e in (tell.value, tell.about, tell.when) if e is not None]

    def tests(steps: tuple[StepPlan, ...]) -> Iterator[Expression]:
        for step in steps:
            if isinstance(step, IfPlan):
                yield step.test
                yield from tests(step.then + step.otherwise)
            elif isinstance(step, EachPlan):
                used.add(step.role)
                yield from tests(step.do)

    expressions += list(tests(plan.steps))
    for expression in expressions:
        used |= expression.names
    used |= {tell.tell.each for tell in plan.tells if tell.tell.each}
    for role in reversed(list(plan.roles.values())):
        if role.name in used:
            used |= role.needs | set(role.ancestors)
    return used


def compile_plans(environment: Environment) -> tuple[dict[str, Plan], dict[str, RulePlan]]:
    """Compile every intent and rule of an environment. Raises SpecError with all issues."""
    compiler = PlanCompiler(environment)
    rules = compiler.compile_rules()
    plans = {}
    for intent in environment.spec.intents.intents:
        plan = compiler.compile_intent(intent, rules)
        if plan is not None:
            plans[intent.id] = plan
    if compiler.issues:
        raise SpecError(compiler.issues)
    return plans, rules


__all__ = ["CallPlan", "EachPlan", "IfPlan", "Plan", "RolePlan", "RulePlan", "StepPlan", "TellPlan", "calls_of", "compile_plans"]
