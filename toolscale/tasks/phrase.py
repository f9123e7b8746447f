"""A bound case put into words: opening, body, closing; and its skeleton, the same words with every fact masked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.language.marks import MASK
from toolscale.language.phrasing import expand_choices
from toolscale.language.render import render, with_unit
from toolscale.patterns import regex
from toolscale.records import FactKind, LanguageSpec, Persona, Reply, Tense
from toolscale.tasks.dialogue import NOTHING_HELD, Held, is_anonymous, replies_of
from toolscale.tasks.message import MORE, PLACE, compose_message
from toolscale.tasks.names import conjuncts
from toolscale.tasks.plan import Plan, RolePlan
from toolscale.tasks.slips import handwritten, misspell

_MORE = regex(r"\s*\{" + MORE + r"(?:_\d+)?\}")
_MARK = regex("\ue000(\\d+)\ue001")
_SENTENCE = regex(r"(^|[.!?]\s+)([a-z])")

_TWO_ARTICLES = regex(r"\b(?:[Tt]he|[Mm]y) (?=The [A-Z])")
"""Before a name that brings its own: *the The Copper Pot charge*."""

FORM_OF_KIND: dict[FactKind, str] = {
    "money": "money",
    "date": "date",
    "time": "clock",
    "duration": "duration",
    "number": "number",
    "text": "text",
    "digits": "digits",
    "id": "text",
    "bool": "bool",
    "yes_no": "bool",
}
"""The form in which a value of a kind is said where the phrasing names none; it always reads back."""
_PRONOUNS = {"it": "them", "its": "their", "this": "these", "that": "those", "is": "are", "was": "were"}


@dataclass(frozen=True)
class Words:
    """A request, the same with every fact masked, and who speaks."""

    request: str
    skeleton: str
    persona: str | None
    replies: tuple[Reply, ...] = ()


def put_into_words(
    plan: Plan,
    environment: Environment,
    rows: Mapping[str, list[dict[str, Any]]],
    say: Mapping[str, Any],
    turn: int,
    rng: random.Random,
    held: Held = NOTHING_HELD,
) -> Words:
    """Return the request of a case. The turn picks the phrasing, so that all of an intent's are used evenly; the rest
    is drawn. `held`: what it leaves out, to be told when asked."""
    language = environment.spec.language
    body = plan.intent.requests[turn % len(plan.intent.requests)]
    name = body.persona or (rng.choice(sorted(language.personas)) if language.personas else None)
    persona = language.personas[name] if name else Persona(text="")
    writer = _Writer(plan, environment, rows, say, persona, rng, held)
    message = compose_message(body.say, set(plan.intent.roles), language, persona, rng, anonymous=is_anonymous(held))
    template = writer.inline(message)
    habits = {habit for habit, share in sorted(persona.habits.items()) if rng.randrange(100) < share}
    protected = protected_words(plan, language)
    if rng.randrange(100) < persona.typos and (habits or not persona.habits):
        template = misspell(template, rng, protected)
    template = handwritten(template, habits, language.short, rng, protected)
    lower = "lower" in habits
    words = Words(writer.fill(template, lower=lower), writer.fill(template, lower=lower, mask=True), name)
    if not held:
        return words
    full = _Writer(plan, environment, rows, say, persona, rng)
    replies = replies_of(plan, environment, held, lambda text: full.fill(full.inline(text), lower=lower), rng)
    return replace(words, replies=replies)


def phrasings(
    plan: Plan,
    environment: Environment,
    said: Mapping[str, Mapping[str, Any]],
    say: Mapping[str, Any],
    most: int,
) -> list[str]:
    """Return up to `most` ways in which the plan's own phrasings say one case, without slips: what all of them have
    belongs to its meaning. The same for the same case.

    `said`: role -> described columns. The kinds of people and their habits do not matter, their openings do.
    """
    language, requests = environment.spec.language, plan.intent.requests
    rows = {name: [dict(said.get(name, {}))] for name in plan.roles}
    found: dict[str, None] = {}
    for turn in range(max(most, len(requests))):
        body = requests[turn % len(requests)]
        rng = random.Random(turn)
        name = body.persona or (rng.choice(sorted(language.personas)) if language.personas else None)
        persona = language.personas[name] if name else Persona(text="")
        writer = _Writer(plan, environment, rows, say, persona, rng)
        text = writer.inline(compose_message(body.say, set(plan.intent.roles), language, persona, rng))
        found[writer.fill(text)] = None
    return list(found)


class _Writer:
    def __init__(
        self,
        plan: Plan,
        environment: Environment,
        rows: Mapping[str, list[dict[str, Any]]],
        say: Mapping[str, Any],
        persona: Persona,
        rng: random.Random,
        held: Held = NOTHING_HELD,
    ) -> None:
        self.held = held
        self.plan, self.environment, self.rows, self.say, self.rng = plan, environment, rows, say, rng
        self.forms: dict[str, str] = {kind: rng.choice(forms) for kind, forms in persona.forms.items()}
        self.values: list[str] = []

    def inline(self, template: str) -> str:
        """Replace every place by words and marks, one mark for each value."""
        text = PLACE.sub(self._place, _MORE.sub("", template))
        text = re.sub(r"[^\S\n]*\n[^\S\n]*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()
        return re.sub(r" +([,.!?;:])", r"\1", re.sub(r"\n{3,}", "\n\n", text))

    def fill(self, marked: str, *, lower: bool = False, mask: bool = False) -> str:
        """Put the values in the places of their marks; with `mask`, a box for each."""
        text = _MARK.sub(lambda match: MASK if mask else self.values[int(match[1])], marked)
        text = _TWO_ARTICLES.sub("", text)
        return text.lower() if lower else _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)

    def _place(self, match: re.Match[str]) -> str:
        name, column, capital, pronoun, form = match.groups()
        if name in self.held and not pronoun:
            text = self.held[name]
        elif name in self.plan.roles:
            text = self._role(self.plan.roles[name], column, pronoun, form)
        elif name in self.say:
            slot = self.plan.intent.slots[name]
            text = self._value(self.say[name], slot.kind, form, slot.tense)
        else:
            raise KeyError(f"{self.plan.intent.id}: the request names {{{name}}}, which is neither a role nor a slot")
        return text[:1].upper() + text[1:] if capital else text

    def _role(self, role: RolePlan, column: str | None, pronoun: str | None, form: str | None) -> str:
        if pronoun:
            return _PRONOUNS.get(pronoun, pronoun) if role.role.take == "all" else pronoun
        if column is not None:
            return self._column(role, column, form)
        if role.role.text is not None:
            return self._within(role.role.text)
        if role.description is None:
            return role.name
        text = self._within(
            role.description.text.replace("{adj}", stated_adjectives(role, self.environment.spec.language))
        )
        return PLACE.sub(lambda match: self._column(role, match[1], match[5]), re.sub(r" +", " ", text))

    def _within(self, text: str) -> str:
        """Draw the choices of a text that stands within a sentence: one that it begins with makes no capital."""
        return expand_choices(f" {text}", self.rng.randrange).strip(" ")

    def _column(self, role: RolePlan, column: str, form: str | None) -> str:
        kind = kind_of_column(column, self.environment.schema.tables[role.table].columns[column].type)
        unit = self.environment.schema.tables[role.table].columns[column].unit if kind == "number" else None
        tense = role.description.tense if role.description else None
        return self._value(self.rows[role.name][0][column], kind, form, tense, unit)

    def _value(self, value: Any, kind: FactKind, form: str | None, tense: Tense | None, unit: str | None = None) -> str:
        usual = FORM_OF_KIND[kind]
        chosen = self.forms.get(kind, usual) if form is None or form == usual else form
        text = render(value, chosen, self.environment.spec.world.today, tense)
        self.values.append(with_unit(value, unit) if unit and chosen == usual else text)
        return f"\ue000{len(self.values) - 1}\ue001"


def stated_adjectives(role: RolePlan, language: LanguageSpec) -> str:
    """The adjectives of the role's conditions, in the order of the conditions: `active`, `unpaid`."""
    known = language.adjectives.get(role.table, {})
    parts = [text.replace(f"{role.name}.", "") for text in conjuncts(role.role.where)] if role.role.where else []
    return " ".join(known[part] for part in parts if part in known)


def protected_words(plan: Plan, language: LanguageSpec) -> frozenset[str]:
    """Words that carry meaning which a gate looks for: cues and adjectives."""
    texts = [
        cue
        for role in plan.roles.values()
        for cue in (*role.role.cues, *(role.description.cues if role.description else ()))
    ]
    texts += [word for words in language.adjectives.values() for word in words.values()]
    texts += [cue for cues in language.enum_cues.values() for cue in cues]
    return frozenset(word for text in texts for word in text.lower().split())
