"""Evolutions after which something is refused: `refuse` by a rule of the policy, `pry` into somebody else's affairs."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.environment.environment import Environment
from toolscale.language.phrasing import alternatives
from toolscale.records import CallStep, Intent, Request, Role, Rule, Tell
from toolscale.tasks.asking import DENIED
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.lawful import broken_case, calls_of_steps
from toolscale.tasks.message import NEXT


def refuse_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every rule that a call of the plan can be made to break."""
    if intent.outcome != "fulfil" or len(intent.do) != 1 or not isinstance(intent.do[0], CallStep):
        return  # of several calls some would be allowed, and what a later one is given is not known without them
    if intent.refused:
        return  # what is left is done because its conditions hold; with them broken, nothing of the request is allowed
    for name, rule in environment.spec.policy.rules.items():
        for step in calls_of_steps(intent.do):
            if broken_case(rule, step, intent) is not None:
                yield f"refuse {name}"
                break


def refuse(environment: Environment, intent: Intent, name: str) -> Intent:
    """Ask for what a rule forbids: the case, and the values that the person says, break it."""
    rule = environment.spec.policy.rules.get(name)
    steps = calls_of_steps(intent.do)
    step = next((step for step in steps if rule and broken_case(rule, step, intent) is not None), None)
    if rule is None or step is None:
        raise Inapplicable(f"no call can be made to break {name}")
    slots = dict(intent.slots)
    for argument, values in rule.draws.items():
        owner, _, slot = step.arguments.get(argument, "").partition(".")
        if owner == "say" and slot in slots and slots[slot].sql is None:
            slots[slot] = slots[slot].model_copy(update={"from_": values})
    roles = {
        key: _lifted(key, role, rule) if any(text.startswith(f"{key}.") for text in step.arguments.values()) else role
        for key, role in intent.roles.items()
    }
    return intent.model_copy(
        update={"outcome": "refuse", "rule": name, "slots": slots, "roles": roles, "tell": (), "asks": ()}
    )


def _lifted(name: str, role: Role, rule: Rule) -> Role:
    if not rule.lifts or role.where is None:
        return role
    lifted = [text for text in conjuncts(role.where) if text.replace(f"{name}.", "") in rule.lifts]
    if lifted and (role.text or role.first or role.cues):
        raise Inapplicable(f"{name} is called by what the rule forbids")
    kept = [text for text in conjuncts(role.where) if text.replace(f"{name}.", "") not in rule.lifts]
    return role.model_copy(update={"where": " AND ".join(kept) or None})


def pry_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every private thing that somebody may ask for besides."""
    if intent.outcome == "fulfil" and intent.do:
        for name in environment.spec.language.private:
            yield f"pry {name}"


def pry(environment: Environment, intent: Intent, name: str) -> Intent:
    """Ask besides for something of somebody else's, which must neither be looked up nor told."""
    private = environment.spec.language.private.get(name)
    if private is None or set(private.roles) & (set(intent.roles) | set(intent.slots)):
        raise Inapplicable(f"{name}: nothing private of that name, or the names of its roles are taken")
    root = next(key for key, role in intent.roles.items() if role.of is None)
    first = next(iter(private.roles))
    key = environment.schema.tables[private.roles[first].is_].key
    apart = (
        [f"{first}.{column} <> {root}.{column}" for column in key]
        if private.roles[first].is_ == intent.roles[root].is_
        else []
    )
    no = Tell.model_construct(kind="bool", is_=DENIED, about=private.about)
    return intent.model_copy(
        update={
            "roles": {**intent.roles, **private.roles},
            "when": (*intent.when, *apart, *([private.when] if private.when else [])),
            "tell": (*intent.tell, no, *private.withhold),
            "requests": tuple(
                Request.model_construct(
                    say=f"{request.say} {NEXT} {alternatives(private.asks)}", persona=request.persona
                )
                for request in intent.requests
            ),
        }
    )
