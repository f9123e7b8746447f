"""What is wrong with the intents of an environment: plans, case queries and phrasings, all issues at once."""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.environment import Environment
from toolscale.errors import SpecError, SpecIssue
from toolscale.language import contains_words, expand_choices, mentions, render
from toolscale.records import Intent
from toolscale.tasks.phrase import MORE, PLACE
from toolscale.tasks.compiler import PlanCompiler
from toolscale.tasks.plan import Plan
from toolscale.tasks.queries import compile_case

LONGEST_CHOICE = 64
"""Alternatives of one bracket that are looked at."""


def check_intents(environment: Environment) -> list[SpecIssue]:
    """Return every issue of rules and intents that only their compilation shows."""
    compiler = PlanCompiler(environment)
    rules = compiler.compile_rules()
    issues: list[SpecIssue] = []
    for intent in environment.spec.intents.intents:
        issues += check_phrasings(intent, environment)
        plan = compiler.compile_intent(intent, rules)
        if plan is not None:
            issues += _case_issues(environment, plan)
    return [*compiler.issues, *issues, *check_constants(environment)]


def check_constants(environment: Environment) -> Iterator[SpecIssue]:
    """Yield the amounts of `rules.yaml` that `policy.md` does not name: an agent can only obey what it reads."""
    named = mentions(environment.spec.policy_text, environment.spec.world.today)
    found = {reading for mention in named if mention.kind == "money" for reading in mention.readings}
    for name, value in environment.spec.policy.constants.items():
        if name.endswith("_cents") and value not in found:
            amount = render(value, "money", environment.spec.world.today)
            yield SpecIssue("rules.yaml", f"constants.{name}", f"policy.md does not say {amount}", "write the amount into the policy, or correct it")


def _case_issues(environment: Environment, plan: Plan) -> tuple[SpecIssue, ...]:
    try:
        compile_case(environment, plan)
    except SpecError as error:
        return error.issues
    return ()


def check_phrasings(intent: Intent, environment: Environment) -> Iterator[SpecIssue]:
    """Yield what is wrong with the requests of an intent: a place that is no role or slot, a slot that is not said, a lost cue."""
    describe = environment.spec.language.describe
    for number, request in enumerate(intent.requests):
        place = f"intents[{intent.id}].requests[{number}]"
        for turn in range(LONGEST_CHOICE):
            text = expand_choices(request.say, lambda count, turn=turn: turn % count)  # type: ignore[misc]
            named = {match.group(1) for match in PLACE.finditer(text)}
            issue = _place_issue(intent, place, named)
            if issue is None:
                said = [intent.roles[name] for name in intent.roles if name in named]
                spoken = " ".join([text, *(role.text or (describe[role.is_][role.by].text if role.by else "") for role in said)])
                issue = _cue_issue(intent, place, spoken)
            if issue is not None:
                yield issue
                break


def _place_issue(intent: Intent, place: str, named: set[str]) -> SpecIssue | None:
    for name in sorted(named - set(intent.roles) - set(intent.slots) - {MORE}):
        return SpecIssue("intents.yaml", place, f"{{{name}}} is neither a role nor a slot", f"use {', '.join([*intent.roles, *intent.slots])}")
    for name in intent.slots:
        if name not in named:
            return SpecIssue("intents.yaml", place, f"the slot {name} is not said", f"write {{{name}}} into it, in every alternative")
    return None


def _cue_issue(intent: Intent, place: str, spoken: str) -> SpecIssue | None:
    for name, role in intent.roles.items():
        for cue in role.cues:
            if not contains_words(spoken, cue):
                return SpecIssue("intents.yaml", place, f"the cue {cue!r} of {name} is not in it", f"say {{{name}}}, or the cue itself")
    return None
