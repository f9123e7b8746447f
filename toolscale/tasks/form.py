"""The form of a task: the typed fields of `final_answer`, made from all that its plan may tell, whichever branch is
taken.

The form says what is asked for and nothing of the outcome: a field of every branch is there, `done` and `reasons` are
in every form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolscale.canonical import in_order
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.patterns import regex
from toolscale.records import FactKind, Tell

if TYPE_CHECKING:
    from toolscale.tasks.plan import Plan

DONE = ("all", "part", "none")
MOST_REASONS = 8
_LONGEST_NAME = 48

_TEXT = (
    "Give your answer, once, when everything is done. Fill in what the person asked for; "
    "leave a field null where it does not apply. "
    "What you write anywhere else is no part of your answer."
)
_DONE = (
    "What you did of the deeds that the request wants: all of them, a part (you did something and refused another "
    "thing, or a condition for it did not hold), or none. Questions and hand-overs are no deeds: whoever refuses the "
    "only deed and answers a question did none. all, if nothing was to be done."
)
_REASONS = (
    "Empty, unless you refused something. Then what decided the refusal, as the policy wants it told: each limit, "
    "date, time, number, status or name as an entry of its own. Amounts in whole cents, dates as YYYY-MM-DD, "
    "the rest as the tools or the policy show it."
)
_TYPES: dict[str, tuple[dict[str, Any], str]] = {
    "money": ({"type": "integer"}, "in whole cents"),
    "number": ({"type": "integer"}, "a whole number"),
    "date": ({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}, "as YYYY-MM-DD"),
    "time": ({"type": "string", "pattern": r"^([01]\d|2[0-3]):[0-5]\d$"}, "as HH:MM, of 24 hours"),
    "duration": ({"type": "integer"}, "in whole minutes"),
    "digits": ({"type": "string", "maxLength": 40}, "digits alone"),
}
_ANY_TEXT: tuple[dict[str, Any], str] = ({"type": "string", "maxLength": 200}, "as the tools show it")

_PLAIN = regex(r"(\w+)\.(\w+)\Z")
_FOLD = regex(r"\(SELECT\s+(COUNT|SUM|MAX|MIN)\((?:\*|(?:\w+\.)?(\w+))\)\s+FROM\s+(\w+)", re.IGNORECASE)
_FOLDED = {"sum": "total", "max": "last", "min": "first"}
_UNITS = regex(r"_(cents|id|minutes)\Z")
_NUMBERED = regex(r"_\d+\b")
"""What a composition puts behind the names of its second matter."""


@dataclass(frozen=True)
class Field:
    """One thing that the form takes."""

    name: str
    kind: FactKind
    what: str
    """In a few words."""
    listed: bool
    """One value for each row of a set."""
    labelled: bool
    """Each value of a list has the name of its row."""

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        value, how = _TYPES.get(self.kind, _ANY_TEXT)
        text = f"{self.what[:1].upper()}{self.what[1:]}, {how}."
        if not self.listed:
            return {**value, "type": [value["type"], "null"], "description": text}
        item = value
        if self.labelled:
            name = {"type": "string", "maxLength": 200}
            item = {
                "type": "object",
                "properties": {"of": name, "value": value},
                "required": ["of", "value"],
                "additionalProperties": False,
            }
        return {"type": ["array", "null"], "items": item, "maxItems": 100, "description": f"{text[:-1]}; one for each."}


@dataclass(frozen=True)
class Form:
    """The fields of a task, in the order in which its plan tells them."""

    fields: tuple[Field, ...]

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of a filled form."""
        properties: dict[str, Any] = {"done": {"type": "string", "enum": list(DONE), "description": _DONE}}
        properties |= {field.name: field.schema for field in self.fields}
        reason = {"type": ["string", "integer"], "maxLength": 80}
        properties["reasons"] = {"type": "array", "items": reason, "maxItems": MOST_REASONS, "description": _REASONS}
        return {"type": "object", "properties": properties, "required": ["done"], "additionalProperties": False}


def answer_function(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return `final_answer` with the parameters of a task, in the format of OpenAI's function calling, keys sorted as
    those of other tools."""
    function = {"name": FINAL_ANSWER, "description": _TEXT, "parameters": parameters}
    return in_order({"type": "function", "function": function})


def with_form(tools: Sequence[dict[str, Any]], parameters: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the tools of a task: those of its domain, and `final_answer` if there is a form."""
    return [*tools] if parameters is None else [*tools, answer_function(parameters)]


def form_of(plan: Plan) -> Form:
    """Return the form of a plan."""
    fields: dict[str, Field] = {}
    tells = [told.tell for told in plan.tells]
    for tell, name in zip(tells, field_names(tells), strict=True):
        if name is not None and name not in fields:
            labelled = tell.each is not None and tell.about is not None
            fields[name] = Field(name, tell.kind, _told_apart(tell, name), tell.each is not None, labelled)
    return Form(tuple(fields.values()))


def field_names(tells: Sequence[Tell]) -> list[str | None]:
    """Return the field of each tell: None for a yes or no, which `done` says.

    Tells of one name that are both conditional are one field: they are the same thing in two branches. Otherwise later
    ones are numbered.
    """
    taken: dict[str, Tell] = {}
    names: list[str | None] = []
    for tell in tells:
        if tell.kind == "bool":
            names.append(None)
            continue
        name = wanted = _slug(tell)
        number = 1
        while name in taken and not (
            tell.when and taken[name].when and tell.kind == taken[name].kind and tell.each == taken[name].each
        ):
            number += 1
            name = f"{wanted}_{number}"
        taken.setdefault(name, tell)
        names.append(name)
    return names


def _slug(tell: Tell) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", _said(tell).lower()).strip("_")[:_LONGEST_NAME].strip("_")
    unit = {"money": "_cents", "duration": "_minutes"}.get(tell.kind, "")
    return f"{name.removesuffix(unit)}{unit}"


def _told_apart(tell: Tell, name: str) -> str:
    """What a tell is called; where several are called the same, which of them in the order of the request."""
    place = name.removeprefix(f"{_slug(tell)}_")
    return f"{_said(tell)} (number {place} of those that the request asks for)" if place.isdigit() else _said(tell)


def _said(tell: Tell) -> str:
    """What a tell is called: by its author, or after the column that its expression takes."""
    words = tell.what or _derived(tell)
    return f"{words} before" if tell.before and tell.what is None and _PLAIN.match(tell.is_) else words


def _derived(tell: Tell) -> str:
    expression = _NUMBERED.sub("", tell.is_)
    if plain := _PLAIN.match(expression):
        column = _UNITS.sub("", plain[2]).replace("_", " ")
        return f"{plain[1].replace('_', ' ')} {column}" if column in ("amount", "status", "kind", "name") else column
    if fold := _FOLD.match(expression):
        kind, column, rows = fold[1].lower(), fold[2], fold[3].replace("_", " ")
        return (
            f"number of {rows}"
            if kind == "count"
            else f"{_FOLDED[kind]} {_UNITS.sub('', column or '').replace('_', ' ')} of {rows}"
        )
    return {"money": "amount", "date": "date", "number": "number", "time": "time"}.get(tell.kind, tell.kind)
