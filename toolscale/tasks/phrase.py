"""A bound case put into words: opening, body, closing; and its skeleton, the same words with every fact masked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.language.marks import MASK
from toolscale.language.phrasing import expand_choices
from toolscale.language.render import render, with_unit
from toolscale.patterns import regex
from toolscale.records import FactKind, LanguageSpec, Persona, Reply, Request, Tense
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.dialogue import NOTHING_HELD, Held, is_anonymous, replies_of, speaker_of
from toolscale.tasks.message import MORE, PLACE, compose_message, signed
from toolscale.tasks.plan import Plan, RolePlan

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
_FRAME_FORMS: dict[FactKind, tuple[str, ...]] = {"date": ("short", "shortth")}
"""How the values of a frame are said where it names no form: people leave out the year."""
_FRAMED = Persona(text="", forms=_FRAME_FORMS)
_PRONOUNS = {"it": "them", "its": "their", "this": "these", "that": "those", "is": "are", "was": "were"}


@dataclass(frozen=True)
class Words:
    """A request, the same with every fact masked, and who speaks."""

    request: str
    skeleton: str
    persona: str | None
    replies: tuple[Reply, ...] = ()
    agenda: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manner:
    """How a case is said."""

    held: Held = field(default_factory=dict)
    """What the first message leaves out, to be told when asked."""
    frames: tuple[tuple[Request, ...], ...] = ()
    """For each matter whole messages that fit the plan; a matter without any is composed of an author's phrasings."""
    signed_in: bool = False
    """Nothing says who is speaking."""
    talked: bool = False
    """Each matter is a message of its own; else all stand in one."""


AT_ONCE = Manner()


def put_into_words(
    plan: Plan,
    environment: Environment,
    rows: Mapping[str, list[dict[str, Any]]],
    say: Mapping[str, Any],
    turn: int,
    rng: random.Random,
    manner: Manner = AT_ONCE,
) -> Words:
    """Return what the person of a case says. The turn picks the phrasing, so that all of an intent's are used evenly;
    the rest is drawn."""
    language = environment.spec.language
    body = plan.intent.requests[turn % len(plan.intent.requests)]
    name = body.persona or (rng.choice(sorted(language.personas)) if language.personas else None)
    framed = bool(manner.frames and manner.frames[0])
    persona = _FRAMED if framed or not name else language.personas[name]
    writer = _Writer(plan, environment, rows, say, persona, rng, manner.held)
    anonymous = manner.signed_in or is_anonymous(manner.held)
    parts = compose_message(body.say, set(plan.intent.roles), language, persona, rng, anonymous=anonymous)
    for number, frames in enumerate(manner.frames[: len(parts)]):
        if frames:
            parts[number] = frames[turn % len(frames)].say
    if framed and not anonymous and (speaker := speaker_of(plan, language)):
        parts[0] = signed(parts[0], speaker, rng)
    texts = [writer.inline(part) for part in (parts if manner.talked else ["\n\n".join(parts)])]
    said = [writer.fill(text) for text in texts]
    skeleton = "\n".join(writer.fill(text, mask=True) for text in texts)
    replies: tuple[Reply, ...] = ()
    if manner.talked:
        full = _Writer(plan, environment, rows, say, persona, rng)
        replies = replies_of(plan, environment, manner.held, lambda text: full.fill(full.inline(text)), rng)
    return Words(said[0], skeleton, None if framed else name, replies, tuple(said[1:]))


def phrasings(
    plan: Plan,
    environment: Environment,
    said: Mapping[str, Mapping[str, Any]],
    say: Mapping[str, Any],
    most: int,
) -> list[str]:
    """Return up to `most` ways in which the plan's own phrasings say one case: what all of them have
    belongs to its meaning. The same for the same case.

    `said`: role -> described columns. The kinds of people do not matter, their openings do.
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
        parts = compose_message(body.say, set(plan.intent.roles), language, persona, rng)
        found[writer.fill(writer.inline("\n\n".join(parts)))] = None
    return list(found)


def places_said(
    plan: Plan,
    environment: Environment,
    said: Mapping[str, Mapping[str, Any]],
    say: Mapping[str, Any],
    but: str | None,
    rng: random.Random,
) -> dict[str, str]:
    """Return what will stand in each place of a frame in one case: slots, rows, and the columns that describe a row.
    `but`: the role that is left out."""
    rows = {name: [dict(said.get(name, {}))] for name in plan.roles}
    writer = _Writer(plan, environment, rows, say, _FRAMED, rng)
    places = [*plan.intent.slots]
    for name, role in plan.roles.items():
        if name != but and (role.role.text is not None or role.description is not None):
            places += [name, *(f"{name}.{column}" for column in role.said)]
    return {place: writer.fill(writer.inline(f"x {{{place}}}"))[2:] for place in places}


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
        self.verbatim = persona is _FRAMED
        """Whether letters stay as they were written, also at the beginning of a sentence."""

    def inline(self, template: str) -> str:
        """Replace every place by words and marks, one mark for each value."""
        text = PLACE.sub(self._place, _MORE.sub("", template))
        text = re.sub(r"[^\S\n]*\n[^\S\n]*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()
        return re.sub(r" +([,.!?;:])", r"\1", re.sub(r"\n{3,}", "\n\n", text))

    def fill(self, marked: str, *, mask: bool = False) -> str:
        """Put the values in the places of their marks; with `mask`, a box for each."""
        text = _MARK.sub(lambda match: MASK if mask else self.values[int(match[1])], marked)
        text = _TWO_ARTICLES.sub("", text)
        if self.verbatim:
            return text
        return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)

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
