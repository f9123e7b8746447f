"""Defects of the outcome: what is allowed is refused, what is forbidden is done, or a refusal gives no reason."""

from __future__ import annotations

import random

from toolscale.records import Candidate
from toolscale.verify.defects.planting import Defect, Ground, Planted, bend, pick, twist, words_of


def refused_though_allowed(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """What no rule forbids is to be refused."""
    plan = ground.plan_of(candidate)
    tools = {call.tool.spec.name for call in plan.calls() if call.tool.mutates_state}
    rule = pick(rng, [name for name, rule in ground.environment.spec.policy.rules.items() if tools & set(rule.guards)])
    if plan.intent.outcome == "refuse" or plan.refusals or rule is None:
        return None
    bent = plan.intent.model_copy(update={"outcome": "refuse", "rule": rule, "tell": ()})
    return twist(ground, candidate, bent, f"it is to be refused by {rule}")


def done_though_forbidden(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """What a rule forbids is done."""
    intent = ground.plan_of(candidate).intent
    if intent.outcome != "refuse":
        return None
    return twist(
        ground,
        candidate,
        intent.model_copy(update={"outcome": "fulfil", "rule": None}),
        f"it is done in spite of {intent.rule}",
    )


def empty_refusal(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A refusal tells nothing but the no."""
    plan, policy = ground.plan_of(candidate), ground.environment.spec.policy
    if plan.intent.outcome != "refuse" or plan.intent.tell:
        return None
    (refusal,) = plan.refusals
    rule = refusal.rule.rule.model_copy(
        update={"tell": tuple(tell for tell in refusal.rule.rule.tell if tell.kind == "bool")}
    )
    changed = policy.model_copy(update={"rules": {**policy.rules, refusal.rule.name: rule}})
    return bend(ground, candidate, plan.intent, f"{refusal.rule.name} tells nothing", policy=changed)


DEFECTS = tuple(
    Defect(plant.__name__, "plan", words_of(plant), plant)
    for plant in (refused_though_allowed, done_though_forbidden, empty_refusal)
)
