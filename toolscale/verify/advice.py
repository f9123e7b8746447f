"""What the intents of a domain leave out, and could have: a tool that none calls, a rule that nothing keeps, an outcome
that no task has. None of it is a fault; a writer is told once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.errors import SpecIssue
from toolscale.records.intent import CallStep, EachStep, IfStep, PlanStep
from toolscale.tasks.compiler import compile_plans
from toolscale.tasks.rule_check import unkept_rules
from toolscale.verify.yields import Yield, monotonous, weak

FILE = "intents.yaml"


def advice(environment: Environment, yields: Sequence[Yield]) -> list[SpecIssue]:
    """Return what could be better about a domain that is admitted and whose streams were measured, as issues."""
    found = [*weak(yields), *monotonous(yields), *uncalled(environment), *untried(environment, yields)]
    return [*found, *unkept(environment)]


def uncalled(environment: Environment) -> Iterator[SpecIssue]:
    """Yield the tools that change something and that no intent calls."""
    called = {tool for intent in environment.spec.intents.intents for tool in _called(intent.do)}
    for tool in environment.spec.toolset.tools:
        if environment.tools[tool.name].mutates_state and tool.name not in called:
            problem = f"no intent calls {tool.name}"
            yield SpecIssue("toolset.yaml", f"tools[{tool.name}]", problem, "write an intent for it, or leave it out")


def untried(environment: Environment, yields: Sequence[Yield]) -> Iterator[SpecIssue]:
    """Yield the outcomes that the domain has a use for and that none of its accepted candidates has."""
    outcomes = {intent.id: intent.outcome for intent in environment.spec.intents.intents}
    had = {"refuse" if item.kind == "turned" else outcomes[item.intent] for item in yields if item.accepted}
    wanted = {
        "fulfil": True,
        "refuse": environment.spec.policy.rules,
        "transfer": environment.spec.world.transfer_reasons,
    }
    for outcome, is_wanted in wanted.items():
        if is_wanted and yields and outcome not in had:
            named = [name for name, of in outcomes.items() if of == outcome]
            why = f"nothing of {', '.join(named)} is accepted" if named else "no intent has it"
            yield SpecIssue(FILE, "intents", f"no task has the outcome {outcome!r}: {why}", _REMEDIES[outcome])


_REMEDIES = {
    "fulfil": "write an intent that does or tells something",
    "refuse": "write an intent with `outcome: refuse` and the rule that it breaks",
    "transfer": "write an intent with `outcome: transfer` whose transfer_to_human is not all that it does",
}


def unkept(environment: Environment) -> list[SpecIssue]:
    """Return the rules whose lawful side does not occur in the rows."""
    rows = populate(environment)
    _, rules = compile_plans(environment)
    with World(environment, rows) as world:
        return [*unkept_rules(environment, rules, rows, world)]


def _called(steps: Sequence[PlanStep]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, CallStep):
            yield step.tool
        elif isinstance(step, IfStep):
            yield from _called((*step.then, *step.else_))
        elif isinstance(step, EachStep):
            yield from _called(step.do)
