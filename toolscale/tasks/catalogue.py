"""Plans by intent and evolutions: compiled when they are first asked for, and kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from toolscale.environment.environment import Environment
from toolscale.errors import SpecError
from toolscale.kept import Kept
from toolscale.records import Candidate, Intent
from toolscale.tasks.evolution import Inapplicable, evolve
from toolscale.tasks.lawful import lawful_ways
from toolscale.tasks.plan import Plan, RulePlan
from toolscale.tasks.queries import RoleQuery, compile_case

if TYPE_CHECKING:
    from toolscale.tasks.compiler import PlanCompiler

KEPT = 2_048
"""Plans of evolved intents that are kept: most are used once or twice."""


class Catalogue:
    """The plans of one environment. Raises SpecError if an intent of the environment does not compile."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.intents: dict[str, Intent] = {intent.id: intent for intent in environment.spec.intents.intents}
        self.plans, self.rules = _plans(environment)
        self._evolved = lru_cache(KEPT)(self._compile)
        self._lawful = lru_cache(KEPT)(self._find_ways)
        self._queries = lru_cache(KEPT)(self._compile_case)

    @cached_property
    def _compiler(self) -> PlanCompiler:
        from toolscale.tasks.compiler import PlanCompiler

        return PlanCompiler(self.environment)

    def plan(self, intent_id: str, evolutions: Sequence[str] = ()) -> Plan:
        """Return a plan. Raises Inapplicable if the evolutions do not apply, KeyError if there is no such intent."""
        return self._evolved(intent_id, tuple(evolutions)) if evolutions else self.plans[intent_id]

    def plan_of(self, candidate: Candidate) -> Plan:
        """Return the plan of a candidate."""
        return self.plan(candidate.intent_id, candidate.evolutions)

    def ways(self, intent_id: str, evolutions: Sequence[str] = ()) -> int:
        """Return how many ways there are through the branches of a plan."""
        return len(self._lawful(intent_id, tuple(evolutions)))

    def queries(self, intent_id: str, evolutions: Sequence[str] = (), way: int = 0) -> tuple[RoleQuery, ...]:
        """Return the case queries of one way through a plan. They pick cases that go this way and break no rule, but
        the one that a refusal is about."""
        return self._queries(intent_id, tuple(evolutions), way)

    def _compile(self, intent_id: str, evolutions: tuple[str, ...]) -> Plan:
        intent = evolve(self.environment, self.intents, intent_id, evolutions)
        self._compiler.issues.clear()
        plan = self._compiler.compile_intent(intent, self.rules)
        if plan is None:
            raise Inapplicable("; ".join(str(issue) for issue in self._compiler.issues))
        return plan

    def _find_ways(self, intent_id: str, evolutions: tuple[str, ...]) -> tuple[Intent, ...]:
        return lawful_ways(self.environment, self.plan(intent_id, evolutions).intent)

    def _compile_case(self, intent_id: str, evolutions: tuple[str, ...], way: int) -> tuple[RoleQuery, ...]:
        plan, intent = self.plan(intent_id, evolutions), self._lawful(intent_id, evolutions)[way]
        try:
            return compile_case(self.environment, dataclasses.replace(plan, intent=intent))
        except SpecError as error:
            if not evolutions:
                raise
            raise Inapplicable(str(error)) from error


def _plans(environment: Environment) -> tuple[dict[str, Plan], dict[str, RulePlan]]:
    """The plans of intents as they are written, and of rules: those that an earlier process compiled, if nothing was
    replaced in the environment since it was loaded."""
    kept = Kept("plans", environment.source, tuple) if environment.source is not None else None
    plans = kept.read() if kept is not None else None
    if plans is None:
        from toolscale.tasks.compiler import compile_plans

        plans = compile_plans(environment)
        if kept is not None:
            kept.write(plans)
    return plans
