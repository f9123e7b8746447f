"""`constrain`: the same, but only under a condition whose deciding figure is told either way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from toolscale.environment.environment import Environment
from toolscale.language.phrasing import alternatives
from toolscale.patterns import regex
from toolscale.records import CallStep, IfStep, Intent, Quantity, Slot, Tell
from toolscale.tasks.conjuncts import conjuncts
from toolscale.tasks.evolution.descriptions import lookalike
from toolscale.tasks.evolution.inapplicable import Inapplicable
from toolscale.tasks.evolution.labels import label_of, labelled
from toolscale.tasks.evolution.renaming import rename_expression, rename_places, rename_steps, rename_tell
from toolscale.tasks.evolution.words import appended, free_name

_PLACE = regex(r"\{(\w+)\}")


def constrain_options(environment: Environment, intent: Intent) -> Iterator[str]:
    """Every quantity whose roles the intent has; with `else` where another row may be used instead."""
    if intent.outcome != "fulfil" or not intent.do or not all(isinstance(step, CallStep) for step in intent.do):
        return
    for name, quantity in environment.spec.language.quantities.items():
        roles = {role: table for role, table in quantity.roles.items() if role != quantity.backup}
        if all(
            role in intent.roles and intent.roles[role].is_ == table and intent.roles[role].take == "one"
            for role, table in roles.items()
        ):
            yield f"constrain {name}"
            if quantity.backup:
                yield f"constrain {name} else"


def constrain(environment: Environment, intent: Intent, name: str, otherwise: str = "") -> Intent:
    """Put the plan under a condition on a quantity; where it does not hold, nothing is done, or another row is used."""
    language = environment.spec.language
    quantity = language.quantities.get(name)
    if quantity is None or not (language.fallbacks if otherwise else language.conditions):
        raise Inapplicable(f"{name}: no such quantity, or no words for it")
    limit = free_name(intent, "limit")
    places = {**{role: role for role in quantity.roles}, **_arguments(intent)}
    test = rename_expression(_filled(quantity.test, places), {}, {"limit": limit})
    called = {step.tool for step in intent.do if isinstance(step, CallStep)}
    if set(quantity.without) & set(intent.roles) or (quantity.tools and not called & set(quantity.tools)):
        raise Inapplicable(f"{name}: a condition that makes no sense here")
    words = alternatives(
        [
            text
            for text in (language.fallbacks if otherwise else language.conditions)
            if quantity.why or "{why}" not in text
        ]
    )
    for place, text in {"why": alternatives(quantity.why), "condition": quantity.text, "noun": quantity.noun}.items():
        words = words.replace("{" + place + "}", text)
    about = quantity.about and _filled(quantity.about, places)
    what = "what the condition depends on"
    told = Tell.model_construct(
        kind=quantity.kind, is_=_filled(quantity.value, places), about=about, what=what, before=True
    )
    if any((tell.kind, tell.about) == (told.kind, told.about) or tell.is_ in (about, told.is_) for tell in intent.tell):
        raise Inapplicable(f"{name}: another fact of this kind is told about the same")
    evolved = intent.model_copy(
        update={
            "slots": {**intent.slots, limit: Slot.model_construct(kind=quantity.kind, from_=quantity.steps)},
            "requests": appended(intent.requests, rename_places(words, {"limit": limit})),
        }
    )
    reads = tuple(
        CallStep(name=step, tool=tool, arguments={key: _filled(text, places) for key, text in arguments.items()})
        for step, call in quantity.reads.items()
        for tool, arguments in call.items()
    )
    if told.about is None:
        told = told.model_copy(update={"about": label_of(environment, intent)})
    several = labelled(environment, evolved.model_copy(update={"tell": (*evolved.tell, told)}))
    evolved = evolved.model_copy(update={"tell": several.tell[:-1]})
    return (
        _or_nothing(evolved, reads, test, told)
        if not otherwise
        else _or_backup(environment, evolved, reads, test, told, quantity)
    )


def _or_nothing(intent: Intent, reads: tuple[CallStep, ...], test: str, told: Tell) -> Intent:
    if any(tell.kind == "bool" for tell in intent.tell):
        raise Inapplicable("it is told already whether something was done")
    tells = tuple(tell.model_copy(update={"when": _conjoined(tell.when, test)}) for tell in intent.tell)
    done = Tell.model_construct(kind="bool", is_=f"CASE WHEN {test} THEN 1 ELSE 0 END", before=True)
    return intent.model_copy(
        update={
            "do": (*reads, IfStep.model_construct(if_=test, then=intent.do, else_=())),
            "tell": (done, *tells, told),
        }
    )


def _or_backup(
    environment: Environment, intent: Intent, reads: tuple[CallStep, ...], test: str, told: Tell, quantity: Quantity
) -> Intent:
    """Use another row of the same kind where the condition does not hold."""
    backup = quantity.backup or ""
    name = next(role for role, table in quantity.roles.items() if role != backup and table == quantity.roles[backup])
    if backup in intent.roles or any(role.of == name for role in intent.roles.values()):
        raise Inapplicable(f"{name} cannot be replaced by another row")
    role, apart = lookalike(environment, intent, name, backup)
    other = {name: backup}
    fitting = [rename_expression(text, other) for when in intent.when for text in conjuncts(when)]
    tells: list[Tell] = []
    for tell in intent.tell:
        moved = rename_tell(tell, other)
        if moved == tell:
            tells.append(tell)
        else:
            tells += [
                tell.model_copy(update={"when": _conjoined(tell.when, test)}),
                moved.model_copy(update={"when": f"NOT ({test})"}),
            ]
    return intent.model_copy(
        update={
            "roles": {**intent.roles, backup: role.model_copy(update={"only_said": False})},
            "when": (*intent.when, *apart, *(text for text in fitting if re.search(rf"\b{backup}\.", text))),
            "do": (*reads, IfStep.model_construct(if_=test, then=intent.do, else_=rename_steps(intent.do, other))),
            "tell": (*tells, told),
        }
    )


def _arguments(intent: Intent) -> dict[str, str]:
    """Parameter -> what the plan's calls give as it, the first one."""
    found: dict[str, str] = {}
    for step in intent.do:
        if isinstance(step, CallStep):
            for parameter, text in step.arguments.items():
                found.setdefault(parameter, text)
    return found


def _filled(text: str, places: Mapping[str, str]) -> str:
    """Put expressions in the places of a quantity's expression."""

    def place(match: re.Match[str]) -> str:
        if match[1] not in places:
            raise Inapplicable(f"the plan gives no {match[1]}")
        return places[match[1]]

    return _PLACE.sub(place, text)


def _conjoined(*conditions: str | None) -> str | None:
    """Join conditions with AND."""
    given = [f"({text})" for text in conditions if text]
    return " AND ".join(given) or None
