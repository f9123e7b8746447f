"""A filled form: how facts are put into one, and whether one states the facts. Nothing in it is prose, so nothing has
to be interpreted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.language.mentions import mentions
from toolscale.records import Fact
from toolscale.strict_json import read_json
from toolscale.tasks.form import Field, Form

STYLES = 3
"""Written forms of one filled form: as it is, in reverse order without what is null, whole numbers as 25.0."""

LONGEST_REASON = 6
"""Words of a name or a status."""

_SHOWN = 80
_ANY_DAY = "2026-01-01"
"""Where values stand in a text depends on no day."""

Filled = dict[str, Any]


def fill(form: Form, facts: Sequence[Fact], done: str, style: int = 0) -> str:
    """Return the form filled with facts, as canonical JSON. What is withheld is not said."""
    told = [fact for fact in facts if not fact.withheld]
    filled: Filled = {"done": done}
    for field in form.fields:
        filled[field.name] = _value(field, [fact for fact in told if fact.field == field.name])
    filled["reasons"] = [fact.value for fact in told if fact.field is None and fact.kind != "bool"]
    if style == 1:
        return json.dumps({name: filled[name] for name in reversed(filled) if filled[name] not in (None, [])}, indent=1)
    if style == 2:
        return json.dumps({name: float(value) if type(value) is int else value for name, value in filled.items()})
    return canonical_json(filled)


def form_finding(
    form: Form,
    facts: Sequence[Fact],
    answer: str,
    *,
    today: str,
    done: str,
    said: frozenset[tuple[str, Any]] = frozenset(),
    standing: Sequence[Fact] = (),
) -> str | None:
    """Return None if a filled form states every fact, each in its field, else the first finding.

    A field that no fact answers is null or zero, or says what is `standing`: so whether a condition holds or not.
    `reasons` hold every figure that a refusal must name, and nothing else. What is withheld stands in no field, unless
    it is also `said` by request or policy.
    """
    filled = read_form(form.parameters, answer)
    if isinstance(filled, str):
        return filled
    told = [fact for fact in facts if not fact.withheld]
    if len({bool(fact.value) for fact in told if fact.kind == "bool" and fact.about is None}) > 1:
        return "a yes and a no to all of it are to be told: no form can be right"
    if filled["done"] != done:
        return f"done is {filled['done']!r} and should be {done!r}"
    if (hidden := _disclosed(form, filled, facts, said, today)) is not None:
        return f"discloses what is withheld: {hidden}"
    for field in form.fields:
        given = filled.get(field.name)
        if wanted := [fact for fact in told if fact.field == field.name]:
            if not _states(field, given, wanted):
                return f"{field.name} is not stated as {_shown(_value(field, wanted))}"
        elif given or given is False:
            if any(fact.withheld and fact.field == field.name for fact in facts):
                return f"discloses what is withheld: {field.name}"
            if not _states(field, given, [fact for fact in standing if fact.field == field.name]):
                return f"{field.name} is {_shown(given)} and should be null"
    due, reasons = [fact for fact in told if fact.field is None and fact.kind != "bool"], filled.get("reasons") or []
    return _reasons_finding(reasons, due, today)


def read_form(parameters: Mapping[str, Any], answer: str) -> Filled | str:
    """Return a filled form, or what is wrong with it. `parameters`: the JSON Schema of the form."""
    try:
        filled = read_json(answer)
    except json.JSONDecodeError:
        return "the answer is no filled form: it is not JSON"
    except ValueError as error:
        return f"the answer is no filled form: {error}"
    from jsonschema.exceptions import best_match  # takes a tenth of a second to load, and messages in prose need none

    fault = best_match(_validator(canonical_json(parameters)).iter_errors(filled))
    if fault is not None:
        place = ".".join(str(part) for part in fault.absolute_path)
        problem = fault.message if len(fault.message) <= _SHOWN else f"{fault.message[:_SHOWN]}…"
        return f"the answer is no filled form: {f'{place}: ' if place else ''}{problem}"
    for reason in filled.get("reasons") or []:
        if not _is_bare(reason):
            return (
                f"the answer is no filled form: reasons: {_shown(reason)} is more than one value; "
                "give each limit, date, status or name by itself"
            )
    read: Filled = filled
    return read


@lru_cache(maxsize=256)
def _validator(parameters: str) -> Any:
    from toolscale.validation import Validator

    return Validator(json.loads(parameters))


def _value(field: Field, facts: Sequence[Fact]) -> Any:
    if not facts:
        return None
    if not field.listed:
        return _typed(facts[0])
    return [{"of": fact.about, "value": _typed(fact)} if field.labelled else _typed(fact) for fact in facts]


def _typed(fact: Fact) -> str | int | bool:
    return bool(fact.value) if fact.kind == "yes_no" else fact.value


def _states(field: Field, given: Any, facts: Sequence[Fact]) -> bool:
    """Whether a field says the facts: of a list each once, in any order."""
    if not field.listed:
        return len(facts) == 1 and _same(given, _typed(facts[0]))
    left = list(given or [])
    for fact in facts:
        found = next((item for item in left if _is_item(item, fact, field.labelled)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _is_item(item: Any, fact: Fact, labelled: bool) -> bool:
    if not labelled:
        return _same(item, _typed(fact))
    return _same(item["value"], _typed(fact)) and _words(fact.about) <= _words(item["of"])


def _words(text: str | None) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in (text or "").casefold()).split())


def _same(given: Any, value: str | int | bool) -> bool:
    if isinstance(value, str) and isinstance(given, str):
        return " ".join(given.casefold().split()) == " ".join(value.casefold().split())
    return (type(given) is bool) is (type(value) is bool) and given == value


def _disclosed(
    form: Form, filled: Filled, facts: Sequence[Fact], said: frozenset[tuple[str, Any]], today: str
) -> str | None:
    """Return where a withheld value stands, if it stands anywhere and is not something else that may be told."""
    open_ = {(fact.kind, fact.value) for fact in facts if not fact.withheld} | said
    hidden = [fact for fact in facts if fact.withheld and fact.value and (fact.kind, fact.value) not in open_]
    if not hidden:
        return None
    given = [
        (field.name, value) for field in form.fields if filled.get(field.name) for value in _all(filled[field.name])
    ]
    given += [("reasons", reason) for reason in filled.get("reasons") or []]
    return next((name for name, value in given if any(_reads(value, fact, today) for fact in hidden)), None)


def _all(given: Any) -> list[Any]:
    """Every value in a field, labels included."""
    if isinstance(given, list):
        return [value for item in given for value in _all(item)]
    return list(given.values()) if isinstance(given, dict) else [given]


def _reasons_finding(reasons: Sequence[Any], facts: Sequence[Fact], today: str) -> str | None:
    for fact in facts:
        if not any(_reads(reason, fact, today) for reason in reasons):
            return f"reasons do not name the {fact.kind} {fact.value!r}"
    more = [reason for reason in reasons if not any(_reads(reason, fact, today) for fact in facts)]
    if more:
        return f"{_shown(more[0])} decided no refusal"
    return f"{len(reasons)} reasons, and {len(facts)} decided" if len(reasons) > len(facts) else None


def _is_bare(reason: Any) -> bool:
    """Whether a reason is one value: a number, a date or an amount with a word behind it at most, or a few words
    without any figure."""
    text = _bare(reason)
    if not isinstance(text, str) or " " not in text:
        return True
    found = mentions(text, _ANY_DAY)
    if not found:
        return len(text.split()) <= LONGEST_REASON
    around = f"{text[: found[0].start]} {text[found[0].end :]}"
    return len(found) == 1 and not any(c.isdigit() for c in around) and len(around.split()) <= 1


def _bare(reason: Any) -> Any:
    """A text without its article and the mark at its end."""
    if not isinstance(reason, str):
        return reason
    words = reason.strip().rstrip(".!;,").split()
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in ("the", "a", "an") else words)


def _reads(reason: Any, fact: Fact, today: str) -> bool:
    """Whether a reason is a figure as the tools show it, or reads as it (`$1,500.00`, `March 3, 2026`). A name may
    stand within some words."""
    reason = _bare(reason)
    if _same(reason, fact.value) or str(reason).casefold() == str(fact.value).casefold():
        return True
    if fact.kind == "duration" and str(reason).isdecimal() and int(reason) * 60 == fact.value:
        return True  # policies speak of hours
    if not isinstance(reason, str):
        return False
    if fact.kind == "text" and _words(str(fact.value)) and _words(str(fact.value)) <= _words(reason):
        return True
    return any(mention.kind == fact.kind and mention.readings == {fact.value} for mention in mentions(reason, today))


def _shown(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
