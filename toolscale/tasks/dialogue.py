"""Dialogues: what a request leaves out, what the person tells when asked for it, and how one asks.

Nothing new is meant by a dialogue: request and replies together say what the request of a single message says.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.environment import Environment
from toolscale.patterns import regex
from toolscale.records import FactKind, LanguageSpec, Persona, Reply, Slot
from toolscale.tasks.message import names_in
from toolscale.tasks.plan import Plan, RolePlan

Sort = Literal["identity", "row", "value"]

Held = Mapping[str, str]
"""Role or slot that the request does not say -> the words that stand in its place; empty for who is speaking."""

NOTHING_HELD: Held = {}

IDENTITY_SHARE, OBJECT_SHARE, VALUE_SHARE = 0.85, 0.6, 0.5
"""In how many dialogues each of them is held back, where it can be."""

_COLUMN_PLACE = regex(r"\{(\w+)(\|\w+)?\}")

_FIGURE_SAID = ("Make it {x}.", "{x^}, please.")
_WHEN_SAID = ("Let's say {x}.", "{x^}, please.", "I'd like {x}.")
_VALUE_SAID: Mapping[FactKind, tuple[str, ...]] = {
    "money": _FIGURE_SAID,
    "number": _FIGURE_SAID,
    "date": _WHEN_SAID,
    "time": _WHEN_SAID,
    "duration": _WHEN_SAID,
    "text": ("{x^}.", "{x^}, please."),
}
_ROW_SAID = ("I mean {x}.", "{x^}.", "It's {x}.", "{x^}, please.", "I'm talking about {x}.")
_NAME_SAID = ("My name is {x}.", "I'm {x}.", "It's {x}.", "This is {x}.", "The name is {x}.")
_KNOWN_BY_SAID = ("My {words} is {x}.", "The {words} is {x}.", "{words^}: {x}.")

_VALUE_ASKED: Mapping[FactKind, str] = {
    "money": "What amount should it be?",
    "number": "How many should it be?",
    "date": "Which date do you want?",
    "time": "What time do you want?",
    "duration": "How long should it be?",
}


def held_back(plan: Plan, environment: Environment, rng: random.Random) -> Held:
    """Draw what the request of a dialogue leaves out; nothing where all of it has to be said at once."""
    language = environment.spec.language
    speaker = speaker_of(plan, language)
    options = [*([(speaker, "", IDENTITY_SHARE)] if speaker else []), *_things(plan, language, speaker), *_values(plan)]
    held = {name: vague for name, vague, share in options if rng.random() < share}
    return held or {name: vague for name, vague, _ in options[:1]}


@dataclass(frozen=True)
class Askable:
    """Something that the person of a plan can be asked for, and templates of the answer."""

    about: str
    name: str
    """The role or slot."""
    sort: Sort
    kind: FactKind
    words: tuple[str, ...]
    answers: tuple[str, ...]


def askable(plan: Plan, environment: Environment) -> Iterator[Askable]:
    """Yield what the person of a plan can be asked for: who they are, the rows that they name, the values that they
    give."""
    language = environment.spec.language
    speaker = speaker_of(plan, language)
    said = {name for request in plan.intent.requests for name in names_in(request.say)}
    for name, role in plan.roles.items():
        if name == speaker:
            yield from _identity(role, environment)
        elif name in said and not role.role.only_said and _is_described(role):
            words = (noun_of(role.table, language), *map(spoken, role.said))
            answers: tuple[str, ...] = ("{x^}.",) if role.role.take == "all" else _ROW_SAID
            yield Askable(name, name, "row", "text", words, _with_place(answers, name))
    for name, slot in plan.intent.slots.items():
        if name in said:
            answers = _VALUE_SAID.get(slot.kind, ("It's {x}.",))
            yield Askable(name, name, "value", slot.kind, (spoken(name),), _with_place(answers, name))


def replies_of(
    plan: Plan, environment: Environment, held: Held, write: Callable[[str], str], rng: random.Random
) -> tuple[Reply, ...]:
    """Return what the person answers. `write` puts a template with places of roles and slots into words."""
    return tuple(
        Reply(
            about=each.about,
            sort=each.sort,
            kind=each.kind,
            words=each.words,
            says=write(rng.choice(each.answers)),
            held=each.name in held,
        )
        for each in askable(plan, environment)
    )


def question_for(replies: Sequence[Reply]) -> str:
    """Return a message that asks for all of these: what the golden agent says first."""
    identity = [f"your {reply.words[0]}" for reply in replies if reply.sort == "identity"]
    asked = [f"Could you please tell me {' and '.join(identity)}?"] if identity else []
    for reply in replies:
        if reply.sort == "row":
            asked.append(f"Which {reply.words[0]} do you mean?")
        elif reply.sort == "value":
            asked.append(_VALUE_ASKED.get(reply.kind, f"Which {reply.words[0]} do you want?"))
    return " ".join(asked)


def is_anonymous(held: Held) -> bool:
    """Whether the request does not say who is speaking."""
    return "" in held.values()


def noun_of(table: str, language: LanguageSpec) -> str:
    """Return the noun for one row of a table."""
    return language.nouns.get(table, table.replace("_", " ").removesuffix("s"))


def speaker_of(plan: Plan, language: LanguageSpec) -> str | None:
    """Return the role that openings and signatures name, if no request names it besides."""
    frames = [*_frames(language), *(frame for persona in language.personas.values() for frame in _frames(persona))]
    named = {name for frame in frames for name in names_in(frame)}
    bodies = {name for request in plan.intent.requests for name in names_in(request.say)}
    found = [name for name, role in plan.roles.items() if name in named - bodies and role.said]
    return found[0] if found else None


def _frames(whose: LanguageSpec | Persona) -> Iterator[str]:
    yield from (*whose.openings, *whose.signatures)


def _things(plan: Plan, language: LanguageSpec, speaker: str | None) -> Iterator[tuple[str, str, float]]:
    """Yield the thing that the deed is done to, where the speaker has several of its kind and it is named by columns:
    *my bill* can be any of them."""
    tables = [role.table for role in plan.roles.values()]
    for name, role in plan.roles.items():
        own = speaker is not None and (
            role.role.of == speaker or (name == plan.intent.object and speaker in role.ancestors)
        )
        named = role.said and role.first is None and role.role.take == "one" and role.table not in language.shared
        by_column = any("{" + f"{name}." in request.say for request in plan.intent.requests)
        if own and named and tables.count(role.table) == 1 and not by_column:
            yield name, f"my {noun_of(role.table, language)}", OBJECT_SHARE
            return


def _values(plan: Plan) -> Iterator[tuple[str, str, float]]:
    slots: Mapping[str, Slot] = plan.intent.slots
    for name, slot in slots.items():
        if slot.vague is not None:
            yield name, slot.vague, VALUE_SHARE


def _identity(role: RolePlan, environment: Environment) -> Iterator[Askable]:
    """Yield each column that says who is speaking, in the form in which it is said elsewhere."""
    assert role.description is not None
    forms = {match[1]: match[2] or "" for match in _COLUMN_PLACE.finditer(role.description.text)}
    columns = environment.schema.tables[role.table].columns
    for column in role.said:
        kind, words = kind_of_column(column, columns[column].type), spoken(column)
        said: tuple[str, ...] = _NAME_SAID if words.endswith("name") else _KNOWN_BY_SAID
        said = tuple(one.replace("{words}", words).replace("{words^}", words[:1].upper() + words[1:]) for one in said)
        answers = _with_place(said, f"{role.name}.{column}{forms.get(column, '')}")
        yield Askable(f"{role.name}.{column}", role.name, "identity", kind, (words,), answers)


def _with_place(answers: Sequence[str], name: str) -> tuple[str, ...]:
    """Put a name into the places of answers: `{x}`, and `{x^}` at the beginning of a sentence."""
    return tuple(answer.replace("{x", "{" + name) for answer in answers)


def _is_described(role: RolePlan) -> bool:
    return role.role.text is not None or role.description is not None


def spoken(name: str) -> str:
    """Return a column or slot as it is said: `date of birth`, `due date`."""
    words = re.sub(r"_\d+\b", "", name)
    words = re.sub(r"_(?:cents|id|minutes|at)\Z", "", words)
    return re.sub(r"_on\Z", " date", words).replace("_", " ")
