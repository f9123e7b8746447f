"""`compose`: two matters in one request, the second done after the first; one of them may be refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from toolscale.environment.derived_tools import IDENTITY
from toolscale.environment.environment import Environment
from toolscale.records import FindStep, Intent, Refused, Request
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.labels import label_of, labelled
from toolscale.tasks.evolution.renaming import rename_intent
from toolscale.tasks.message import NEXT
from toolscale.tasks.names import matter_of

MOST_BODIES = 12
"""Pairs of phrasings that are kept of all that go together."""


def compose(environment: Environment, intent: Intent, other: Intent) -> Intent:
    """Ask for two things. What the second needs is looked up after the first was done; a second that is refused is
    refused in part."""
    shared = _shared(intent, other)
    persons = {name for name, role in other.roles.items() if role.by == IDENTITY and not role.only_said}
    if not shared or not persons <= shared or intent.outcome != "fulfil":
        raise Inapplicable(f"{intent.id} and {other.id} are not one person's")
    suffix = suffix_after(intent)
    second = rename_intent(other, suffix, shared)
    tells = (*intent.tell, *second.tell) if second.outcome != "refuse" else intent.tell
    refused = (*intent.refused, *second.refused)
    if second.outcome == "refuse":
        about = label_of(environment, second, suffix)
        if about is None or second.rule is None:
            raise Inapplicable(f"{other.id} has nothing to name its part by")
        refused = (*refused, Refused.model_construct(rule=second.rule, do=second.do, about=about))
    composed = intent.model_copy(
        update={
            "outcome": "transfer" if second.outcome == "transfer" else intent.outcome,
            "object": None,
            "slots": {**intent.slots, **second.slots},
            "roles": {**intent.roles, **second.roles},
            "when": (*intent.when, *second.when, *_apart(environment, intent, second)),
            "do": intent.do if second.outcome == "refuse" else (*intent.do, *_asked_first(intent), *second.do),
            "refused": refused,
            "tell": tells,
            "requests": _bodies(intent, second),
        }
    )
    return labelled(environment, composed)


def _shared(intent: Intent, other: Intent) -> frozenset[str]:
    """The person that both are about."""
    return frozenset(name for name, role in intent.roles.items() if role.of is None and other.roles.get(name) == role)


def _asked_first(intent: Intent) -> Iterator[FindStep]:
    """Look up what the first matter asks about before the second changes it."""
    found = {step.find for step in intent.do if isinstance(step, FindStep)}
    for name, role in intent.roles.items():
        told = any(
            re.search(rf"\b{name}\b", text)
            for tell in intent.tell
            if not tell.when
            for text in (tell.is_, tell.about or "", tell.each or "")
        )
        if told and not role.only_said and role.of is not None and name not in found:
            yield FindStep.model_construct(find=name)


def suffix_after(intent: Intent) -> str:
    """Return what the names of the next matter end in that is put behind an intent: `_2`."""
    return f"_{max([1, *(int(matter[1:]) for matter in map(matter_of, intent.roles) if matter)]) + 1}"


def _apart(environment: Environment, intent: Intent, second: Intent) -> Iterator[str]:
    """Yield conditions that the two matters are about different rows, except in tables whose rows people use again and
    again."""
    for (name, role), (other, second_role) in product(intent.roles.items(), second.roles.items()):
        alike = name != other and role.is_ == second_role.is_ and role.take == second_role.take == "one"
        if alike and role.is_ not in environment.spec.language.shared:
            yield " OR ".join(
                f"{name}.{column} <> {other}.{column}" for column in environment.schema.tables[role.is_].key
            )


def _bodies(intent: Intent, second: Intent) -> tuple[Request, ...]:
    """Phrasings of one kind of person, one after the other."""
    pairs = [
        (number * 7919 % 101, one, two)
        for number, (one, two) in enumerate(product(intent.requests, second.requests))
        if one.persona is None or two.persona is None or one.persona == two.persona
    ]
    if not pairs:
        raise Inapplicable("no two phrasings of one kind of person")
    pairs.sort(key=lambda pair: pair[0])
    return tuple(
        Request.model_construct(say=f"{one.say} {NEXT} {two.say}", persona=one.persona or two.persona)
        for _, one, two in pairs[:MOST_BODIES]
    )
