"""A bound case put into words: opening, body, closing; and its skeleton, the same words with every fact masked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from toolscale.environment import Environment
from toolscale.language import expand_choices, render
from toolscale.records import ColumnType, FactKind
from toolscale.tasks.plan import Plan, RolePlan

MASK = "▢"
PLACE = re.compile(r"\{(\w+)(\^)?(?:~(\w+))?(?:\|(\w+))?\}")
_SENTENCE = re.compile(r"(^|[.!?]\s+)([a-z])")

KIND_OF_TYPE: dict[ColumnType, FactKind] = {"text": "text", "int": "number", "cents": "money", "bool": "bool", "date": "date", "datetime": "date"}
_FORMS: dict[str, str] = {"money": "money", "date": "date", "number": "number", "text": "text", "digits": "digits", "id": "text", "bool": "bool"}
_PRONOUNS = {"it": "them", "its": "their", "this": "these", "that": "those"}


def put_into_words(
    plan: Plan, environment: Environment, rows: Mapping[str, list[dict[str, Any]]], say: Mapping[str, Any], turn: int, rng: random.Random
) -> tuple[str, str]:
    """Return the request and its skeleton. The turn picks the phrasing, so that all of an intent's are used evenly; the rest is drawn."""
    language = environment.spec.language
    intent = plan.intent
    openings = [text for text in language.openings if set(_names(text)) <= set(intent.roles)]
    body = intent.requests[turn % len(intent.requests)]
    parts = [rng.choice(openings)] if openings else []
    parts.append(body)
    if language.closings:
        parts.append(rng.choice(language.closings))
    template = expand_choices(" ".join(part for part in parts if part), rng.randrange)
    request = fill(template, plan, environment, rows, say, mask=False)
    skeleton = fill(template, plan, environment, rows, say, mask=True)
    return request, skeleton


def fill(template: str, plan: Plan, environment: Environment, rows: Mapping[str, list[dict[str, Any]]], say: Mapping[str, Any], *, mask: bool) -> str:
    """Put values in the places of a template; with `mask`, a box for each value."""
    today = environment.spec.world.today

    def place(match: re.Match[str]) -> str:
        name, capital, pronoun, form = match.groups()
        if name in plan.roles:
            role = plan.roles[name]
            many = role.role.take == "all"
            if pronoun:
                text = _PRONOUNS.get(pronoun, pronoun) if many else pronoun
            else:
                text = noun_phrase(role, rows[name][0], environment, mask=mask)
        elif name in say:
            kind = plan.intent.slots[name].kind
            text = MASK if mask else render(say[name], form or _FORMS[kind], today, plan.intent.slots[name].tense)
        else:
            raise KeyError(f"{plan.intent.id}: the request names {{{name}}}, which is neither a role nor a slot")
        return text[:1].upper() + text[1:] if capital else text

    text = re.sub(r"\s+", " ", PLACE.sub(place, template)).strip()
    text = re.sub(r"\s+([,.!?;:])", r"\1", text)
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)


def noun_phrase(role: RolePlan, row: Mapping[str, Any], environment: Environment, *, mask: bool) -> str:
    """How the request names a role."""
    if role.role.text is not None:
        return role.role.text
    if role.description is None:
        return role.name
    columns, tense = environment.schema.tables[role.table].columns, role.description.tense

    def place(match: re.Match[str]) -> str:
        name, _, _, form = match.groups()
        if mask:
            return MASK
        return render(row[name], form or _FORMS[KIND_OF_TYPE[columns[name].type]], environment.spec.world.today, tense)

    return PLACE.sub(place, role.description.text)


def _names(template: str) -> list[str]:
    return [match.group(1) for match in PLACE.finditer(template)]
