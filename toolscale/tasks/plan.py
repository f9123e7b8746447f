"""The parts of a compiled intent: roles with their finders, calls, branches, facts, rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolscale.records import Description, Intent, Role, Rule, Tell
from toolscale.sql.compiled import CompiledTool, Statement
from toolscale.tasks.lookups import Finder
from toolscale.tasks.names import Bind, Expression


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


@dataclass(frozen=True)
class FindPlan:
    """Look a role up now."""

    role: str


StepPlan = CallPlan | IfPlan | EachPlan | FindPlan


@dataclass(frozen=True)
class TellPlan:
    """A fact to tell."""

    tell: Tell
    value: Expression
    about: Expression | None
    when: Expression | None
    unit: str | None = None
    """What is written behind a number."""


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
class RefusalPlan:
    """What is asked for and refused: steps that are never executed, and the rule that forbids them."""

    rule: RulePlan
    steps: tuple[StepPlan, ...]
    about: Expression | None
    """What names this part, where others are granted."""


@dataclass(frozen=True)
class Plan:
    """A compiled intent."""

    intent: Intent
    roles: Mapping[str, RolePlan]
    steps: tuple[StepPlan, ...]
    tells: tuple[TellPlan, ...]
    refusals: tuple[RefusalPlan, ...] = ()

    @property
    def all_steps(self) -> tuple[StepPlan, ...]:
        """The steps, those that are refused included."""
        return (*self.steps, *(step for refusal in self.refusals for step in refusal.steps))

    def calls(self) -> Iterator[CallPlan]:
        """Every call of every branch, refused ones included."""
        yield from calls_of(self.all_steps)


def calls_of(steps: tuple[StepPlan, ...]) -> Iterator[CallPlan]:
    """Every call of every branch of some steps, in the order written."""
    for step in steps:
        if isinstance(step, CallPlan):
            yield step
        elif isinstance(step, IfPlan):
            yield from calls_of(step.then)
            yield from calls_of(step.otherwise)
        elif isinstance(step, EachPlan):
            yield from calls_of(step.do)
