"""What a model is told of a candidate whose request it is to write: what the plan says, in forms that read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolscale.canonical import stable_int
from toolscale.language.render import render, states
from toolscale.records import FactKind, Tense
from toolscale.tasks.asking import is_owed
from toolscale.tasks.phrase import FORM_OF_KIND
from toolscale.tasks.words import known_values
from toolscale.verify.grounded import meaning_of
from toolscale.verify.subject import Subject
from toolscale.verify.wording import Meaning

STYLES = 3
"""Manners in which one candidate is written."""

FORMS: dict[FactKind, tuple[str, ...]] = {
    "money": ("money", "dollars"),
    "date": ("date", "ordinal", "short", "slash"),
    "time": ("clock", "clock24", "oclock"),
    "duration": ("duration", "minutes", "hm"),
}
"""Forms besides the usual one, where they read back."""


@dataclass(frozen=True)
class Manner:
    """A manner of writing."""

    name: str
    told: str


MANNERS = (
    Manner("terse", "a chat message of one to three short sentences, without a greeting"),
    Manner("mail", "a short e-mail with a greeting, whole sentences, and a name at its end"),
    Manner("spoken", "as somebody says it aloud: one thing after the other, in everyday words"),
    Manner("worried", "somebody who is uneasy about the matter, and says why in a few words"),
)


@dataclass(frozen=True)
class Value:
    """A value that must stand in the request."""

    name: str
    forms: tuple[str, ...]
    """Ways to write it, one of which must be taken as it is."""


@dataclass(frozen=True)
class Assignment:
    """All that a model is told. Neither calls nor answers are in it."""

    template: str
    other: str
    """The same in other words of the plan."""
    values: tuple[Value, ...]
    cues: tuple[str, ...]
    """Words that must stand in it as they are."""
    choices: tuple[tuple[str, ...], ...]
    """Of each of these, one must stand in it as it is."""
    verbs: tuple[str, ...]
    """Verbs for what is to be done."""
    asks: tuple[str, ...]
    """What the speaker wants to be told; nothing, if the request asks nothing."""
    persona: str
    manners: tuple[Manner, ...]


def assignment_of(subject: Subject) -> Assignment:
    """Return what a model is told of a recorded candidate."""
    candidate, language = subject.candidate, subject.environment.spec.language
    template = candidate.words.template if candidate.words else candidate.request
    meaning = meaning_of(subject)
    persona = language.personas.get(candidate.persona or "")
    start = stable_int("manners", candidate.seed, candidate.number) % len(MANNERS)
    others = [one.text for one in meaning.phrasings if one.text != template]
    return Assignment(
        template=template,
        other=others[candidate.number % len(others)] if others else template,
        values=tuple(_values(subject)),
        cues=tuple(dict.fromkeys(_cues(subject))),
        choices=tuple(dict.fromkeys(choices_of(subject))),
        verbs=tuple(_verbs(meaning)),
        asks=tuple(_asked(subject, meaning)),
        persona=persona.text if persona else "anybody",
        manners=tuple((MANNERS * 2)[start : start + STYLES]),
    )


def _values(subject: Subject) -> Iterator[Value]:
    today, plan = subject.today, subject.plan
    for known in known_values(plan, subject.environment, subject.inputs):
        role, _, column = known.name.partition(".")
        described = plan.roles[role].description if role in plan.roles else None
        tense: Tense | None = described.tense if described else None
        tense = plan.intent.slots[role].tense if role in plan.intent.slots else tense
        kind: FactKind = known.kind
        forms = dict.fromkeys(
            render(known.value, form, today, tense) for form in (FORM_OF_KIND[kind], *FORMS.get(kind, ()))
        )
        fitting = tuple(form for form in forms if states(form, kind, known.value, today, tense))
        yield Value(f"{role} {column}".replace("_", " ").strip(), fitting or tuple(forms)[:1])


def _cues(subject: Subject) -> Iterator[str]:
    for name, role in subject.plan.roles.items():
        if name in subject.recording.chosen:
            yield from role.role.cues
            yield from role.description.cues if role.description else ()


def choices_of(subject: Subject) -> Iterator[tuple[str, ...]]:
    """Yield the words of each choice that a call takes, one of which the request must have."""
    cues = subject.environment.spec.language.enum_cues
    steps = [each.plan for each in subject.recording.calls if each.plan is not None]
    for step in (*steps, *(step for step, _ in subject.recording.forbidden)):
        for expression in step.arguments.values():
            if expression.is_literal and isinstance(expression.literal, str) and expression.literal in cues:
                yield tuple(cues[expression.literal])


def _verbs(meaning: Meaning) -> Iterator[str]:
    for tool in sorted(meaning.tools):
        yield from (verb for verb in meaning.lexicon.verbs.get(tool, ()) if verb in meaning.words or " " in verb)


def _asked(subject: Subject, meaning: Meaning) -> Iterator[str]:
    if any("?" in one.text for one in meaning.phrasings) or meaning.told:
        for told in subject.plan.tells:
            tell = told.tell
            if not tell.withheld and tell.kind != "bool" and not is_owed(subject.plan.intent, tell):
                yield tell.what or tell.kind
