"""Turn every complaint of pydantic into one line: the place as an author would point at it, the value, and what to
do."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, Tag, ValidationError

from toolscale.errors import Edit, SpecIssue

_PLAIN = frozenset({"str", "int", "bool", "float", "none"})
"""How pydantic names the plain members of a union in a place."""

_MISSING = "a required key is missing"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a remedy for a misspelt word: the nearest known one, or all of them."""
    names = sorted(known)
    if near := nearest(word, names):
        return f"did you mean {near!r}?"
    return f"use one of {', '.join(names)}" if names else "there is none to use"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a misspelt one is nearest to, or None if none is near."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1)), None)


def correction(
    word: str, known: Iterable[str], shape: str = "{}", *, is_key: bool = False, below: str = ""
) -> Edit | None:
    """Return the edit that puts the nearest known word in the place of a misspelt one; None if none is near.

    `shape` is how the word stands in the text: `policy.{}`.
    """
    near = nearest(word, known)
    return None if near is None else Edit(shape.format(word), shape.format(near), is_key, below)


def unknown(
    kind: str,
    name: str,
    known: Collection[str],
    file: str,
    place: str,
    *,
    shape: str = "{}",
    is_key: bool = False,
    below: str = "",
) -> SpecIssue:
    """Return the issue that a name of this kind is not known, with the edit of `correction`."""
    edit = correction(name, known, shape, is_key=is_key, below=below)
    return SpecIssue(file, place, f"unknown {kind} {name!r}", suggest(name, known), edit)


def not_above(name: str, above: Collection[str], file: str, place: str) -> SpecIssue:
    """Return the issue that a role is of one that does not stand above it."""
    return SpecIssue(file, place, f"{name!r} is not a role above", suggest(name, above), correction(name, above))


def issues_of(error: ValidationError, model: type[BaseModel], data: Any, file: str) -> list[SpecIssue]:
    """Return one issue for each place at which `data` is not a `model`."""
    found: dict[str, SpecIssue] = {}
    misspelt: set[str] = set()
    for item in error.errors(include_url=False):
        place = place_of(model, data, item["loc"])
        found.setdefault(place, _issue(dict(item), model, data, file, place))
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(item["loc"][-1]), _known_keys(model, item["loc"][:-1]), n=1)
            misspelt.update(_join(place.rpartition(".")[0], key) for key in near)
    # A misspelt key is not missing as well, and a value that fits no member of a union
    # is told once, at the deepest place.
    return [
        issue
        for place, issue in found.items()
        if not (issue.problem == _MISSING and place in misspelt)
        and not any(other.startswith((f"{place}.", f"{place}[")) for other in found if place)
    ]


def place_of(model: type[BaseModel], data: Any, loc: tuple[int | str, ...]) -> str:
    """Return the place that `loc` points at, `tools[transfer_funds].steps[3].sql`: without the tags of unions, list
    items by name."""
    place, current, here = "", data, [model]
    for position, part in enumerate(loc):
        is_tag = any(tag == part for annotation in here for _, tag in _alternatives(annotation, None))
        here = [inner for annotation in here for inner in _step(annotation, part)] or here
        if is_tag or (isinstance(part, str) and (part in _PLAIN or "[" in part or part[:1].isupper())):
            continue
        if isinstance(part, int) and isinstance(current, list | tuple):
            current = current[part] if part < len(current) else None
            name = (current.get("name") or current.get("id")) if isinstance(current, dict) else None
            place += f"[{name if isinstance(name, str) else part}]"
        elif isinstance(current, dict) and part in current:
            current, place = current[part], _join(place, str(part))
        elif isinstance(part, str) and position == len(loc) - 1 and isinstance(current, dict):
            place = _join(place, part)
    return place


def _join(place: str, part: str) -> str:
    part = {"from_": "from", "is_": "is", "if_": "if", "else_": "else", "copy_": "copy"}.get(part, part)
    return f"{place}.{part}" if place else part


def _issue(item: dict[str, Any], model: type[BaseModel], data: Any, file: str, place: str) -> SpecIssue:
    kind, loc, value = item["type"], item["loc"], item.get("input")
    if kind == "extra_forbidden":
        keys = sorted(_known_keys(model, loc[:-1]))
        near = nearest(str(loc[-1]), keys)
        hint = f"did you mean {near!r}? " if near else ""
        edit = correction(str(loc[-1]), keys, is_key=True) if near not in _siblings(data, loc) else None
        return SpecIssue(file, place, f"unknown key {loc[-1]!r}", f"{hint}known keys: {', '.join(keys)}", edit)
    if kind == "missing":
        return SpecIssue(file, place, _MISSING, f"add {loc[-1]!r}")
    if kind in ("step_kind", "value_kind"):
        problem, _, remedy = item["msg"].partition("; ")
        return SpecIssue(file, place, f"{_shown(value)} is {problem}", remedy)
    if kind == "string_type":
        return SpecIssue(file, place, f"{_shown(value)} is not text", "put it in quotes")
    message = item["msg"][:1].lower() + item["msg"][1:]
    return SpecIssue(
        file,
        place,
        f"{_shown(value)} does not fit here",
        message.replace("input should", "it should").replace("value error, ", ""),
    )


def _siblings(data: Any, loc: tuple[int | str, ...]) -> Collection[Any]:
    """Return the keys that stand beside the one at `loc`, whose tags of unions are passed over."""
    for part in loc[:-1]:
        known: Collection[Any] = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        data = data[part] if part in known else data
    return data.keys() if isinstance(data, dict) else ()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> set[str]:
    """Return the keys that the model at `loc` knows (of all alternatives that fit the way there)."""
    here: list[Any] = [model]
    for part in loc:
        here = [inner for annotation in here for inner in _step(annotation, part)] or here
    keys: set[str] = set()
    for annotation in here:
        for alternative, _ in _alternatives(annotation, None):
            if isinstance(alternative, type) and issubclass(alternative, BaseModel):
                keys |= {(field.alias or name) for name, field in alternative.model_fields.items()}
    return keys


def _step(annotation: Any, part: int | str) -> Iterator[Any]:
    """Yield what stands at `part` of a value of this annotation; a tag of a union narrows it."""
    alternatives = list(_alternatives(annotation, None))
    tagged = [alternative for alternative, tag in alternatives if tag == part]
    if tagged:
        yield from tagged
        return
    for alternative, _ in alternatives:
        if isinstance(alternative, type) and issubclass(alternative, BaseModel):
            for name, field in alternative.model_fields.items():
                if part in (name, field.alias):
                    yield field.rebuild_annotation()
        elif typing.get_origin(alternative) is tuple and isinstance(part, int):
            arguments = typing.get_args(alternative)
            yield (
                arguments[0]
                if len(arguments) == 2 and arguments[1] is Ellipsis
                else arguments[min(part, len(arguments) - 1)]
            )
        elif typing.get_origin(alternative) is dict:
            yield typing.get_args(alternative)[1]


def _alternatives(annotation: Any, tag: str | None) -> Iterator[tuple[Any, str | None]]:
    """Yield the members of a union, each with its tag; a plain annotation is its own only member."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, typing.ForwardRef | str):
        return
    if origin is Annotated:
        inner, *extra = typing.get_args(annotation)
        own = next((item.tag for item in extra if isinstance(item, Tag)), tag)
        yield from _alternatives(inner, own)
    elif origin in (Union, types.UnionType):
        for member in typing.get_args(annotation):
            yield from _alternatives(member, tag)
    elif origin is not Literal:
        yield annotation, tag
