"""Whether the places of phrasings can be filled: each form is one there is and fits the value, each column is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolscale.environment.column_kinds import kind_of_column
from toolscale.environment.complaints import unknown
from toolscale.environment.known_names import Names
from toolscale.errors import Edit, SpecIssue
from toolscale.language.render import FORMS
from toolscale.patterns import regex
from toolscale.records import FactKind, Intent

_PLACE = regex(r"\{(\w+)(?:\.(\w+))?\^?(?:~\w+)?(?:\|(\w+))?\}")
_ANY = ("text", "digits", "lower", "plain", "bool")
_MONEY = ("money", "words", "dollars")
_DATE = ("date", "ordinal", "dmy", "slash", "short", "shortth", "numeric", "near", "day", "nth")
_TIME = ("clock", "clock24", "oclock")
_DURATION = ("duration", "minutes", "hm")


def fitting(kind: FactKind) -> tuple[str, ...]:
    """Return the forms in which a value of a kind can be said."""
    own = {"money": _MONEY, "date": _DATE, "time": _TIME, "duration": _DURATION, "number": ("number",)}
    return own.get(kind, ()) + _ANY


def check_forms(names: Names) -> Iterator[SpecIssue]:
    """Yield every place of a phrasing, and every form of a persona, that no value could be said in."""
    for intent in names.intents.intents if names.intents is not None else ():
        spoken = [(f"requests[{number}]", request.say) for number, request in enumerate(intent.requests)]
        spoken += [(f"asks[{number}]", ask.say) for number, ask in enumerate(intent.asks)]
        for part, text in spoken:
            yield from _phrasing(names, intent, text, f"intents[{intent.id}].{part}")
    if names.language is None:
        return
    for table, descriptions in names.language.describe.items():
        for name, description in descriptions.items():
            place = f"describe.{table}.{name}.text"
            for match in _places(description.text):
                if match[1] in description.cols and match[3]:
                    yield from _form(_kind(names, table, match[1]), match[3], "language.yaml", place, match)
    for name, persona in names.language.personas.items():
        for kind, forms in persona.forms.items():
            for form in forms:
                yield from _form(kind, form, "language.yaml", f"personas.{name}.forms.{kind}")


def _places(text: str) -> Iterable[re.Match[str]]:
    """Return the places of a text, equal ones once."""
    return {match[0]: match for match in _PLACE.finditer(text)}.values()


def _phrasing(names: Names, intent: Intent, text: str, place: str) -> Iterator[SpecIssue]:
    file = "intents.yaml"
    for match in _places(text):
        name, column, form = match.groups()
        if name in intent.slots and form:
            yield from _form(intent.slots[name].kind, form, file, place, match)
        elif name in intent.roles and column:
            table = intent.roles[name].is_
            known = names.schema.tables[table].columns if names.schema and table in names.schema.tables else None
            if known is not None and column not in known:
                yield unknown(f"column of {table}", column, known, file, place, shape=_shape(match, 2))
            elif form:
                yield from _form(_kind(names, table, column), form, file, place, match)


def _form(
    kind: FactKind | None, form: str, file: str, place: str, match: re.Match[str] | None = None
) -> Iterator[SpecIssue]:
    """Yield what is wrong with a form. The match is the place that names it; a persona lists it as it is."""
    shape = "{}" if match is None else _shape(match, 3)
    if form not in FORMS:
        yield unknown("form", form, fitting(kind) if kind else FORMS, file, place, shape=shape)
    elif kind is not None and form not in fitting(kind):
        usual = fitting(kind)[0]
        problem, remedy = (
            f"the form {form!r} does not fit a value of the kind {kind}",
            f"use one of {', '.join(fitting(kind))}",
        )
        yield SpecIssue(file, place, problem, remedy, Edit(shape.format(form), shape.format(usual)))


def _shape(match: re.Match[str], group: int) -> str:
    """Return the place with one of its parts open."""
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    before, after = (part.replace("{", "{{").replace("}", "}}") for part in (match[0][:start], match[0][end:]))
    return f"{before}{{}}{after}"


def _kind(names: Names, table: str, column: str) -> FactKind | None:
    """Return the kind of a column's values; None where the column is not known."""
    known = names.schema.tables[table].columns if names.schema and table in names.schema.tables else {}
    return kind_of_column(column, known[column].type) if column in known else None
