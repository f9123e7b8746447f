"""The form of a task: the typed fields of `final_answer`, made from all that its plan may tell, whichever branch is
taken.

The form says what is asked for and nothing of the outcome: a field of every branch is there, `done` and `reasons` are
in every form.

Where a host binds tools to an environment, all tasks of a domain share one `final_answer`. Its `values` takes the same
fields by name, and what they are is listed under the request. What is filled in so is made flat (`flat_form`) before
anything else reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from toolscale.canonical import in_order
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.records import FactKind, Tell
from toolscale.strict_json import read_json

if TYPE_CHECKING:
    from toolscale.tasks.plan import Plan

Done = Literal["all", "part", "none"]
DONE: tuple[Done, ...] = ("all", "part", "none")
MOST_REASONS = 8
DONE_FIELD, REASONS_FIELD, VALUES_FIELD = "done", "reasons", "values"
_LONGEST_NAME = 48
_SHOWN = 80

_TEXT = (
    "Give your answer, once, when everything is done. Fill in what the person asked for; "
    "leave a field null where it does not apply, such as the balance after a payment that was not made. "
    "What you write anywhere else is no part of your answer."
)
_DOMAIN_TEXT = (
    "Give your answer, once, when everything is done. `values` takes what the person asked for, by the names that are "
    "listed under the request. What you write anywhere else is no part of your answer."
)
_VALUES = "Each name that is listed under the request, with its value, or null where it does not apply."
_DONE = (
    "What you did of the deeds that the request wants. all: all of them, or another deed that it wants where a "
    "condition fails, or no deed was wanted. part: something, and another deed was refused or left since its condition "
    "failed. none: nothing, since all was refused or left. "
    "Only deeds count: a question, answered or refused, is no deed, nor is a hand-over."
)
_REASONS = (
    "Empty, unless you refused a deed. Then what decided the refusal, as the policy wants it told, and no more: each "
    "limit, date, time, number, status or name as an entry of its own. Amounts in whole cents, dates as YYYY-MM-DD, "
    "the rest as the tools or the policy show it."
)
_TYPES: dict[str, tuple[dict[str, Any], str]] = {
    "money": ({"type": "integer"}, "in whole cents"),
    "number": ({"type": "integer"}, "a whole number"),
    "date": ({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}, "as YYYY-MM-DD"),
    "time": ({"type": "string", "pattern": r"^([01]\d|2[0-3]):[0-5]\d$"}, "as HH:MM, of 24 hours"),
    "duration": ({"type": "integer"}, "in whole minutes"),
    "yes_no": ({"type": "boolean"}, "true or false"),
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
        return _parameters({field.name: field.schema for field in self.fields}, (DONE_FIELD,))


def _parameters(asked: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of a form whose fields are those that are `asked`, `done` and `reasons`."""
    properties: dict[str, Any] = {DONE_FIELD: {"type": "string", "enum": list(DONE), "description": _DONE}, **asked}
    reason = {"type": ["string", "integer"], "maxLength": 80}
    properties[REASONS_FIELD] = {"type": "array", "items": reason, "maxItems": MOST_REASONS, "description": _REASONS}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


DOMAIN_PARAMETERS = _parameters({VALUES_FIELD: {"type": "object", "description": _VALUES}}, (DONE_FIELD, VALUES_FIELD))
"""The JSON Schema of the `final_answer` that all tasks of a domain share."""


def answer_function(parameters: dict[str, Any], text: str = _TEXT) -> dict[str, Any]:
    """Return `final_answer` with the parameters of a task, in the format of OpenAI's function calling, keys sorted as
    those of other tools."""
    function = {"name": FINAL_ANSWER, "description": text, "parameters": parameters}
    return in_order({"type": "function", "function": function})


def with_form(tools: Sequence[dict[str, Any]], parameters: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the tools of a task: those of its domain, and `final_answer` if there is a form."""
    return [*tools] if parameters is None else [*tools, answer_function(parameters)]


def with_domain_form(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools of a task, with the `final_answer` of its domain in the place of its own."""
    shared = answer_function(DOMAIN_PARAMETERS, _DOMAIN_TEXT)
    return [shared if tool["function"]["name"] == FINAL_ANSWER else tool for tool in tools]


def with_listing(request: str, parameters: Mapping[str, Any] | None) -> str:
    """Return a request, and under it what `values` takes. `parameters`: the JSON Schema of the task's own form; None if
    it has no form."""
    if parameters is None:
        return request
    asked = _asked(parameters)
    listed = "".join(f"\n- {name} ({_sort_of(schema)}): {schema['description']}" for name, schema in asked.items())
    takes = f"takes these, null where one does not apply:{listed}" if asked else "takes nothing here: {}"
    return f"{request}\n\n---\nNot said by the person: `{VALUES_FIELD}` of {FINAL_ANSWER} {takes}"


def _asked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a form takes beside `done` and `reasons`: name -> JSON Schema."""
    fields = parameters["properties"].items()
    return {name: schema for name, schema in fields if name not in (DONE_FIELD, REASONS_FIELD)}


def _sort_of(schema: Mapping[str, Any]) -> str:
    """The type of a field in a few words."""
    item = schema.get("items")
    if item is None:
        return str(next(type_ for type_ in schema["type"] if type_ != "null"))
    if item["type"] != "object":
        return f"list of {item['type']}"
    return f'list of {{"of": which one, "value": {item["properties"]["value"]["type"]}}}'


def flat_form(parameters: Mapping[str, Any], answer: str, *, whole: bool = True) -> str:
    """Return a filled form of the domain as one of a task, whose own form has `parameters`; both are JSON.

    UsageError if `values` is no object, holds a name that is not listed, or (`whole`) lacks one. A call that is flat
    already is taken as it is meant; what is no JSON object comes back as it is.
    """
    try:
        given = read_json(answer)
        return json.dumps(_flat(_asked(parameters), given, whole)) if isinstance(given, dict) else answer
    except ValueError:
        return answer


def _flat(asked: Mapping[str, Any], given: dict[str, Any], whole: bool) -> dict[str, Any]:
    rest = {name: value for name, value in given.items() if name in (DONE_FIELD, REASONS_FIELD)}
    beside = {name: value for name, value in given.items() if name not in (*rest, VALUES_FIELD)}
    values = given.get(VALUES_FIELD, beside)
    if not isinstance(values, dict):
        raise UsageError(f"{VALUES_FIELD} is {_cut(values)}, and takes an object: {_names(asked)}")
    if VALUES_FIELD in given and beside:
        raise UsageError(f"{_names(beside)} cannot stand beside {VALUES_FIELD}; what is asked for is {_names(asked)}")
    if unknown := values.keys() - asked.keys():
        raise UsageError(f"{VALUES_FIELD} takes no {_names(sorted(unknown))}; what is asked for is {_names(asked)}")
    if whole and (missing := [name for name in asked if name not in values]):
        raise UsageError(f"{VALUES_FIELD} lacks {_names(missing)}; give null where one does not apply")
    return {**rest, **values}


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(_cut, names)) or "nothing"


def _cut(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


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
    """Return the field of each tell: None for whether the deed is done, which `done` says.

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
