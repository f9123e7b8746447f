"""Whether the rules of `rules.yaml` can be broken: a rule that nothing breaks forbids nothing, and a case that no row
fits draws nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from typing import Any

from toolscale.canonical import stable_int
from toolscale.environment.environment import Environment
from toolscale.environment.guards import Arguments, CallMaker
from toolscale.environment.row_graph import RowGraph
from toolscale.environment.search import SUCCESS, reached
from toolscale.environment.world import World
from toolscale.errors import SandboxError, SpecError, SpecIssue
from toolscale.records import ColumnType, Rule
from toolscale.sandbox.base import Rows
from toolscale.sql.compiled import Column, CompiledTool
from toolscale.tasks.compiler import starting_scope
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.lookups import parameter_types, root_column
from toolscale.tasks.names import Expression, bound_values, compile_expression
from toolscale.tasks.plan import CallPlan, RulePlan
from toolscale.tasks.record import Recorder
from toolscale.tasks.word_check import issues_of, usual_form

FILE = "rules.yaml"

TRIES = 1_500
"""Calls of one rule that are made before it counts as one that nothing breaks."""

ROWS = 3_000
"""Calls of one rule on which its case is tried: each row of the first key that it is about, as far as that goes."""

COMPARED = 400
"""Calls of one rule of which `breaks` and `case` are compared."""

_BEST = 40


def check_rule_cases(environment: Environment, known: Sequence[SpecIssue] = ()) -> Iterator[SpecIssue]:
    """Yield every case of a rule that does not compile, and every lift that no role could lose. Issues that are `known`
    are not repeated."""
    wrong = {issue.place for issue in known if issue.file == FILE}
    for name, rule in environment.spec.policy.rules.items():
        place = f"rules.{name}"
        if rule.case is not None and not {f"{place}.case", f"{place}.guards"} & wrong:
            yield from issues_of(lambda rule=rule, place=place: _case(environment, rule, f"{place}.case"))  # type: ignore[misc]
        for number, text in enumerate(rule.lifts):
            yield from issues_of(lambda text=text, here=f"{place}.lifts[{number}]": _lift(environment, text, here))  # type: ignore[misc]


def _case(environment: Environment, rule: Rule, place: str) -> Expression:
    arguments: dict[str, ColumnType] = {}
    for tool in rule.guards:
        arguments |= parameter_types(environment.tools[tool])
    scope = starting_scope(environment, schema=environment.schema).with_row("call", arguments)
    return compile_expression(rule.case or "", scope, file=FILE, place=place)


def _lift(environment: Environment, text: str, place: str) -> None:
    """Raise SpecError if no role of any intent has the conjunct."""
    usual_form(text, FILE, place)
    known: dict[str, None] = {}
    for intent in environment.spec.intents.intents:
        for name, role in intent.roles.items():
            if role.where and not issues_of(lambda role=role: conjuncts(role.where)):  # type: ignore[misc]
                known |= dict.fromkeys(part.replace(f"{name}.", "") for part in conjuncts(role.where))
    if text not in known:
        raise SpecError(
            [
                SpecIssue(
                    FILE,
                    place,
                    f"no role of any intent has the condition {text!r}",
                    "write it as a role does, or leave it out",
                )
            ]
        )


def check_breakable(
    environment: Environment, rules: Mapping[str, RulePlan], rows: Rows, world: World
) -> list[SpecIssue]:
    """Return the rules that no call is found to break, and the cases that no row of the database fulfils."""
    search = _Search(environment, rows, world)
    return [issue for rule in rules.values() for issue in search.issues(rule)]


def unkept_rules(
    environment: Environment, rules: Mapping[str, RulePlan], rows: Rows, world: World
) -> Iterator[SpecIssue]:
    """Yield the rules that every call breaks that is found and that the tools let through: nothing that they guard can
    be asked for lawfully."""
    search = _Search(environment, rows, world)
    for rule in rules.values():
        if not search.is_kept(rule):
            problem = f"every call of {', '.join(rule.rule.guards)} that is found breaks {rule.rule.breaks!r}"
            yield SpecIssue(FILE, f"rules.{rule.name}.breaks", problem, "correct it, or plant rows that keep it")


class _Search:
    def __init__(self, environment: Environment, rows: Rows, world: World) -> None:
        self.environment, self.rows, self.world = environment, rows, world
        self.graph = RowGraph(environment.schema, rows)
        self.recorder = Recorder(world, environment.spec.policy.constants)
        self.today = date.fromisoformat(environment.spec.world.today)
        self._clock = {"now": environment.spec.world.now, "today": environment.spec.world.today}
        self._policy = dict(environment.spec.policy.constants)

    def issues(self, rule: RulePlan) -> Iterator[SpecIssue]:
        """Yield what is wrong with one rule."""
        guarded = ", ".join(rule.rule.guards)
        if not self._is_broken(rule):
            through = "" if rule.reads else " that the tools let through"
            problem = f"no call of {guarded}{through} breaks {rule.rule.breaks!r}"
            remedy = "correct it, plant rows that break it, or add a call that does to cases.yaml"
            yield SpecIssue(FILE, f"rules.{rule.name}.breaks", problem, remedy)
        if rule.rule.case is not None and not self._has_case(rule):
            problem = f"no row of the database fulfils {rule.rule.case!r}{self._origins(rule)}"
            yield SpecIssue(
                FILE, f"rules.{rule.name}.case", problem, "correct it or draws, or plant rows that fulfil it"
            )
        elif rule.rule.case is not None and (call := self._disagreement(rule)) is not None:
            tool, arguments, broken = call
            said = "breaks holds and case does not" if broken else "case holds and breaks does not"
            shown = ", ".join(f"{name}={value!r}" for name, value in sorted(arguments.items()))
            yield SpecIssue(
                FILE,
                f"rules.{rule.name}.case",
                f"{said} for {tool}({shown})",
                "make them say the same, or write case: auto",
            )

    def _origins(self, rule: RulePlan) -> str:
        """Say where the arguments of the calls come from that were tried."""
        case = _case(self.environment, rule.rule, f"rules.{rule.name}.case")
        said = {name: f"drawn from {_shortened(self._drawn(rule, name))} (draws)" for name in rule.rule.draws}
        for tool in rule.rule.guards:
            compiled = self.environment.tools[tool]
            for name in sorted(_arguments_of(case) - said.keys()):
                if name in compiled.consumes:
                    said[name] = f"taken from the rows of {'.'.join(self._looked_up(compiled, name))}"
                elif name in compiled.spec.parameters:
                    said[name] = "made up (or give draws)"
        shown = ", ".join(f"call.{name} {said[name]}" for name in sorted(said))
        return f" with {shown}" if shown else ""

    def _looked_up(self, tool: CompiledTool, name: str) -> Column:
        """Return the (table, column) whose rows give an argument: that of a key, if the tool reads it there."""
        consumed = sorted(tool.consumes[name])
        return next((each for each in consumed if root_column(self.environment, each) == each), consumed[0])

    def _disagreement(self, rule: RulePlan) -> tuple[str, Mapping[str, Any], bool] | None:
        """Return a call of which `breaks` and `case` say different things, and whether `breaks` holds. Only calls count
        that the tool itself lets through: the arguments of others may not belong together."""
        case = _case(self.environment, rule.rule, f"rules.{rule.name}.case")
        for tool, arguments in islice(self._case_calls(rule, case), COMPARED):
            score = self._score(rule, tool, arguments)
            if score is None or score[1] <= len(self.environment.tools[tool].steps):
                continue
            complete = self.world.prepare(tool, arguments)[1]
            assert not isinstance(complete, str)
            if score[0] != self._fulfils(case, complete):
                return tool, complete, score[0]
        return None

    def _is_broken(self, rule: RulePlan) -> bool:
        if any(self._case_breaks(rule, number) for number in range(len(self.environment.spec.cases.calls))):
            return True
        return any(self._shows(rule, tool, score) for tool, score in self._scores(rule, broken=True))

    def is_kept(self, rule: RulePlan) -> bool:
        """Whether some call of a tool that the rule guards succeeds and keeps it."""
        return any(
            not score[0] and score[1] > len(self.environment.tools[tool].steps)
            for tool, score in self._scores(rule, broken=False)
        )

    def _scores(self, rule: RulePlan, *, broken: bool) -> Iterator[tuple[str, tuple[bool, int]]]:
        """Yield the scores of calls that come ever nearer to one that breaks the rule, or keeps it, and is let
        through."""
        self.world.reset()
        for tool in rule.rule.guards:
            maker = self._maker(tool, rule)
            best: list[tuple[tuple[bool, int], Arguments]] = []
            for number in range(TRIES // len(rule.rule.guards)):
                base = best[maker.rng.randrange(len(best))][1] if best and number % 2 else None
                arguments = self._telling(rule, maker, maker.draw() if base is None else maker.vary(base))
                score = self._score(rule, tool, arguments)
                if score is None:
                    continue
                yield tool, score
                rank = (score[0] == broken, score[1])
                if not best or rank > best[0][0]:
                    best = [(rank, arguments)]
                elif rank == best[0][0] and len(best) < _BEST:
                    best.append((rank, arguments))

    def _case_breaks(self, rule: RulePlan, number: int) -> bool:
        """Whether a call of `cases.yaml` that must succeed breaks the rule."""
        case = self.environment.spec.cases.calls[number]
        ((tool, arguments),) = case.call.items()
        if case.error is not None or tool not in rule.rule.guards:
            return False
        self.world.reset()
        for made in case.before:
            for name, given in made.items():
                self.world.call(name, given)
        return self._shows(rule, tool, self._score(rule, tool, dict(arguments)))

    def _shows(self, rule: RulePlan, tool: str, score: tuple[bool, int] | None) -> bool:
        """Whether a call of this score shows that the rule can be broken.

        A rule that looks at rows may be one that the tool enforces as well. One that looks at the arguments alone must
        be broken by a call that the tool lets through: any nonsense breaks it otherwise.
        """
        return (
            score is not None and score[0] and (bool(rule.reads) or score[1] > len(self.environment.tools[tool].steps))
        )

    def _score(self, rule: RulePlan, tool: str, arguments: Arguments) -> tuple[bool, int] | None:
        """Return (whether the call breaks the rule, how many steps of the tool let it through), None for a call that is
        not valid."""
        compiled, complete = self.world.prepare(tool, arguments)
        if compiled is None or isinstance(complete, str):
            return None
        try:
            target = reached(self.world, compiled, complete)
        except SandboxError:
            return None  # the admission of the tool tells it
        return self._breaks(rule, complete), len(compiled.steps) + 1 if target == SUCCESS else target

    def _breaks(self, rule: RulePlan, arguments: Mapping[str, Any]) -> bool:
        failed = False

        def read(step: CallPlan, params: dict[str, Any]) -> Mapping[str, Any]:
            nonlocal failed
            result = self.world.call(step.tool.spec.name, params)
            failed = failed or not result.ok
            return (
                result.value
                if result.ok
                else {part.name: [] if part.mode == "rows" else None for part in step.tool.returns}
            )

        return self.recorder.breaks(rule, arguments, read)[0] and not failed

    def _maker(self, tool: str, rule: RulePlan) -> CallMaker:
        rng = random.Random(stable_int("breaks", rule.name, tool))
        return CallMaker(self.environment.tools[tool], self.graph, self.today.isoformat(), rng)

    def _telling(self, rule: RulePlan, maker: CallMaker, arguments: Arguments) -> Arguments:
        """Replace some arguments by values that the rule draws, or that are at most 1 away from the policy's
        constants."""
        constants = [
            value
            for name, value in self._policy.items()
            if f"policy.{name}" in rule.rule.breaks and isinstance(value, int)
        ]
        for name, schema in maker.tool.spec.parameters.items():
            values: Sequence[Any] = self._drawn(rule, name)
            if not values and schema.get("type") == "integer":
                values = [value + off for value in constants for off in (-1, 0, 1)]
            if values and maker.rng.random() < 0.5:
                arguments = {**arguments, name: values[maker.rng.randrange(len(values))]}
        return arguments

    def _drawn(self, rule: RulePlan, name: str) -> list[Any]:
        """The values that are drawn for an argument: whole days from today are days."""
        parameters = [self.environment.tools[tool].spec.parameters for tool in rule.rule.guards]
        days = next((schemas[name] for schemas in parameters if name in schemas), {}).get("format") == "date"
        return [
            (self.today + timedelta(days=item)).isoformat() if days and isinstance(item, int) else item
            for item in rule.rule.draws.get(name, ())
        ]

    def _has_case(self, rule: RulePlan) -> bool:
        case = _case(self.environment, rule.rule, f"rules.{rule.name}.case")
        self.world.reset()
        return any(self._fulfils(case, arguments) for _, arguments in self._case_calls(rule, case))

    def _fulfils(self, case: Expression, arguments: Mapping[str, Any]) -> bool:
        env = {"call": arguments, "policy": self._policy}
        if case.statement is None:
            return bool(env[case.direct[0]][case.direct[1]] if case.direct else case.literal)
        return bool(self.world.sandbox.query(case.statement, bound_values(case.binds, env, self._clock))[0][0])

    def _case_calls(self, rule: RulePlan, case: Expression) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield calls: tools, and arguments with each value that is drawn and with each row that one of them names, as
        far as they go; the rest as calls have them."""
        used = _arguments_of(case)
        looked_up = sorted(used - rule.rule.draws.keys())
        for tool in rule.rule.guards:
            maker = self._maker(tool, rule)
            keys = [(name, *self._looked_up(maker.tool, name)) for name in looked_up if name in maker.tool.consumes]
            for number in range(ROWS // len(rule.rule.guards)):
                arguments: dict[str, Any] = {**dict.fromkeys(used), **maker.draw()}
                for turn, (name, table, column) in enumerate(keys):
                    rows = self.rows.get(table, [])
                    if rows and number % len(keys) == turn:
                        arguments[name] = self.graph.value(table, column, rows[number // len(keys) % len(rows)])
                for name in rule.rule.draws:
                    values = self._drawn(rule, name)
                    arguments[name] = values[maker.rng.randrange(len(values))]
                yield tool, arguments
                for name in rule.rule.draws:
                    yield from ((tool, {**arguments, name: value}) for value in self._drawn(rule, name))


def _arguments_of(case: Expression) -> set[str]:
    """Return the arguments of a call that a case reads."""
    used = {bind.column for bind in case.binds if bind.name == "call" and bind.column}
    return used | ({case.direct[1]} if case.direct else set())


def _shortened(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:5])) + (", ..." if len(values) > 5 else "")
