"""Other names for the roles, slots and steps of an intent, so that two can stand in one plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from toolscale.patterns import regex
from toolscale.records import CallStep, FindStep, IfStep, Intent, PlanStep, Refused, Role, Tell
from toolscale.tasks.names import step_names

_TOKEN = regex(r"'(?:[^']|'')*'|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_PLACE = regex(r"\{(\w+)")


def names_of(intent: Intent) -> Iterator[str]:
    """Every role, slot and step of an intent."""
    yield from intent.roles
    yield from intent.slots
    for steps in (intent.do, *(part.do for part in intent.refused)):
        yield from step_names(steps)


def rename_expression(text: str, names: Mapping[str, str], slots: Mapping[str, str] | None = None) -> str:
    """Return an expression with names exchanged, as `name.column` and as relations; what stands in quotes is left
    alone."""

    def other(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("'") or match.string[match.start() - 1 : match.start()] in (".", ":"):
            return token
        name, dot, column = token.partition(".")
        if name == "say" and dot and slots:
            return f"say.{slots.get(column, column)}"
        return names.get(name, name) + dot + column

    return _TOKEN.sub(other, text)


def rename_places(text: str, names: Mapping[str, str]) -> str:
    """Return a phrasing with the names of its places exchanged."""
    return _PLACE.sub(lambda match: "{" + names.get(match[1], match[1]), text)


def rename_steps(
    steps: tuple[PlanStep, ...], names: Mapping[str, str], slots: Mapping[str, str] | None = None
) -> tuple[PlanStep, ...]:
    """Return steps with names exchanged, those of the steps themselves included."""
    found: list[PlanStep] = []
    for step in steps:
        if isinstance(step, CallStep):
            arguments = {name: rename_expression(text, names, slots) for name, text in step.arguments.items()}
            found.append(step.model_copy(update={"name": names.get(step.name, step.name), "arguments": arguments}))
        elif isinstance(step, IfStep):
            branches = {"then": rename_steps(step.then, names, slots), "else_": rename_steps(step.else_, names, slots)}
            found.append(step.model_copy(update={"if_": rename_expression(step.if_, names, slots), **branches}))
        elif isinstance(step, FindStep):
            found.append(step.model_copy(update={"find": names.get(step.find, step.find)}))
        else:
            found.append(
                step.model_copy(
                    update={"each": names.get(step.each, step.each), "do": rename_steps(step.do, names, slots)}
                )
            )
    return tuple(found)


def rename_tell(tell: Tell, names: Mapping[str, str], slots: Mapping[str, str] | None = None) -> Tell:
    """Return a fact with names exchanged."""
    parts = {name: getattr(tell, name) for name in ("is_", "about", "when")}
    changed = {name: None if text is None else rename_expression(text, names, slots) for name, text in parts.items()}
    return tell.model_copy(update={**changed, "each": names.get(tell.each, tell.each) if tell.each else None})


def rename_role(role: Role, names: Mapping[str, str], slots: Mapping[str, str] | None = None) -> Role:
    """Return a role whose parent and predicates go by other names."""
    parts = {name: getattr(role, name) for name in ("where", "first")}
    changed = {name: None if text is None else rename_expression(text, names, slots) for name, text in parts.items()}
    return role.model_copy(update={**changed, "of": names.get(role.of, role.of) if role.of else None})


def rename_intent(intent: Intent, suffix: str, shared: frozenset[str]) -> Intent:
    """Return an intent all of whose names but the shared ones end in `suffix`."""
    names = {name: f"{name}{suffix}" for name in (*intent.roles, *step_names(intent.do)) if name not in shared}
    slots = {name: f"{name}{suffix}" for name in intent.slots}
    places = {**names, **slots, "more": f"more{suffix}"}
    sql = {name: slot.sql and rename_expression(slot.sql, names, slots) for name, slot in intent.slots.items()}
    return intent.model_copy(
        update={
            "object": names.get(intent.object, intent.object) if intent.object else None,
            "slots": {slots[name]: slot.model_copy(update={"sql": sql[name]}) for name, slot in intent.slots.items()},
            "roles": {names.get(name, name): rename_role(role, names, slots) for name, role in intent.roles.items()},
            "when": tuple(rename_expression(text, names, slots) for text in intent.when),
            "do": rename_steps(intent.do, names, slots),
            "tell": tuple(rename_tell(tell, names, slots) for tell in intent.tell),
            "refused": tuple(_rename_refused(part, names, slots) for part in intent.refused),
            "requests": tuple(
                request.model_copy(update={"say": rename_places(request.say, places)}) for request in intent.requests
            ),
        }
    )


def _rename_refused(part: Refused, names: Mapping[str, str], slots: Mapping[str, str]) -> Refused:
    about = part.about and rename_expression(part.about, names, slots)
    return part.model_copy(update={"do": rename_steps(part.do, names, slots), "about": about})
