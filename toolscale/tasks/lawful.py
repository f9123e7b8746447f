"""Which cases of an intent break no rule, for each way through the branches of its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolscale.environment.environment import Environment
from toolscale.patterns import regex
from toolscale.records import CallStep, IfStep, Intent, PlanStep, Rule
from toolscale.tasks.names import step_names

Conditions = tuple[str, ...]
"""Predicates over the database, all of which hold."""

_CALL = regex(r"\bcall\.(\w+)")
_OWNER = regex(r"\b([a-z_]\w*)\.[a-z_]")
_NAME = regex(r"(?<![.\w])[a-z_]\w*")


def lawful_ways(environment: Environment, intent: Intent) -> tuple[Intent, ...]:
    """Return the intent once for each way through its plan, with the conditions that a case goes this way and breaks no
    rule, but the one that it is refused by.

    A branch is a fork where the database tells which side is taken: its condition reads rows of roles and what is said,
    or it names the rule that its condition stands for. At every other branch both sides are lawful.
    """
    rules = environment.spec.policy.rules
    if intent.outcome == "refuse":
        ways = [tuple(_kept(intent.do, rules, intent, but=intent.rule))]
        broken = [_broken(intent.do, rules, intent, intent.rule)]
    else:
        ways = _ways(intent.do, rules, intent)
        broken = []
    for part in intent.refused:
        ways = [(*way, *_kept(part.do, rules, intent, but=part.rule)) for way in ways]
        broken.append(_broken(part.do, rules, intent, part.rule))
    known = (*intent.when, *filter(None, broken))
    return tuple(intent.model_copy(update={"when": tuple(dict.fromkeys((*known, *way)))}) for way in ways)


def broken_case(rule: Rule, step: CallStep, intent: Intent) -> str | None:
    """The database predicate that a call of the plan breaks a rule, or None where it cannot be known before calls are
    made."""
    if rule.case is None or step.tool not in rule.guards:
        return None
    for name in set(_CALL.findall(rule.case)):
        if name not in step.arguments or not _is_known(step.arguments[name], intent):
            return None
    return _CALL.sub(lambda match: f"({step.arguments[match[1]]})", rule.case)


def calls_of_steps(steps: tuple[PlanStep, ...]) -> Iterator[CallStep]:
    """The calls of a plan on both sides of its branches, but those that are made for each of several rows."""
    for step in steps:
        if isinstance(step, CallStep):
            yield step
        elif isinstance(step, IfStep):
            yield from calls_of_steps(step.then + step.else_)


def _ways(steps: tuple[PlanStep, ...], rules: Mapping[str, Rule], intent: Intent) -> list[Conditions]:
    ways: list[Conditions] = [()]
    for step in steps:
        ways = [(*way, *more) for way in ways for more in _ways_of(step, rules, intent)]
    return ways


def _ways_of(step: PlanStep, rules: Mapping[str, Rule], intent: Intent) -> list[Conditions]:
    if isinstance(step, CallStep):
        return [tuple(_kept((step,), rules, intent))]
    if not isinstance(step, IfStep):
        return [()]
    then, otherwise = _ways(step.then, rules, intent), _ways(step.else_, rules, intent)
    fails = _failing(step, rules, intent)
    if fails is None:
        return [(*first, *second) for first in then for second in otherwise]
    if not step.else_:  # nothing is done where it fails: no reason to look for such cases
        return [tuple(f"({fails} OR {condition})" for condition in way) for way in then]
    holds = [] if step.rule else [f"({step.if_})"]
    return [*((*holds, *way) for way in then), *((fails, *way) for way in otherwise)]


def _failing(step: IfStep, rules: Mapping[str, Rule], intent: Intent) -> str | None:
    """The database predicate that the condition of a branch does not hold; None where only look-ups tell."""
    if step.rule is not None:
        return _broken(step.then, rules, intent, step.rule)
    return f"NOT ({step.if_})" if _is_known(step.if_, intent) else None


def _kept(
    steps: tuple[PlanStep, ...], rules: Mapping[str, Rule], intent: Intent, but: str | None = None
) -> Iterator[str]:
    """The conditions that no call breaks a rule, `but` one."""
    for step in calls_of_steps(steps):
        for name, rule in rules.items():
            case = broken_case(rule, step, intent)
            if case is not None and name != but:
                yield f"NOT ({case})"


def _broken(steps: tuple[PlanStep, ...], rules: Mapping[str, Rule], intent: Intent, name: str | None) -> str | None:
    """The condition that some call breaks a rule; None where the database does not tell."""
    if name is None or name not in rules:
        return None
    cases = [case for step in calls_of_steps(steps) if (case := broken_case(rules[name], step, intent)) is not None]
    return f"({' OR '.join(f'({case})' for case in cases)})" if cases else None


def _is_known(text: str, intent: Intent) -> bool:
    """Whether an expression has a value before any call is made: it reads single rows of roles, what is said and the
    policy."""
    single = {name for name, role in intent.roles.items() if role.take != "all"}
    made = set(step_names(intent.do)) - intent.roles.keys()
    return set(_OWNER.findall(text)) <= single | {"say", "policy"} and not made & set(_NAME.findall(text))
