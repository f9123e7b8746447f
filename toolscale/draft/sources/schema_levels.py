"""JSON Schemas of one document, a level at a time: references followed, the parts of `allOf` merged into one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from toolscale.errors import UsageError
from toolscale.text_files import printable

CHOICES = "\0choices"
"""Of a level: its lists of alternatives (`anyOf`, `oneOf`, `then` and `else`)."""

MOST_LEVELS = 4_000
"""Of one operation: a document in which everything refers to everything must come to an end."""

_NESTED = 40
"""`allOf` within `allOf`."""

_COMPARED = 100_000
"""Pairs of values that are compared."""

Level = dict[str, Any]


class Levels:
    """Reads the schemas of one document."""

    def __init__(self, path: str, document: Any, names: Collection[str]):
        """`path`: what messages call the document. `names`: what references may call it."""
        self._path, self._document = path, document
        own = document.get("$id") if isinstance(document, Mapping) else None
        self._names = {*names, *([own.partition("#")[0]] if isinstance(own, str) else ())}
        self._resolver = Registry().with_resource("", DRAFT202012.create_resource(document)).resolver("")
        self.read = 0
        """Levels that were read since whoever reads them set it to 0."""

    def followed(self, value: Any, place: str) -> Any:
        """Return what a reference leads to, as far as it leads. UsageError for one that leads out of the document, to
        nothing, or in a circle."""
        seen: set[str] = set()
        while isinstance(value, Mapping) and isinstance(target := value.get("$ref"), str):
            self._new(target, seen, place)
            seen.add(target)
            value = self._target(target, place)
        return value

    def of(self, value: Any, place: str, seen: frozenset[str] = frozenset(), nested: int = 0) -> Level:
        """Return one level of a schema: its keywords, those of what it refers to, and those of all parts of `allOf`.
        UsageError as `followed`."""
        self.read += 1
        if not isinstance(value, Mapping) or nested > _NESTED or self.read > MOST_LEVELS:
            return {}
        layers: list[Level] = []
        if isinstance(target := value.get("$ref"), str):
            self._new(target, seen, place)
            seen = seen | {target}
            layers.append(self.of(self._target(target, place), place, seen, nested + 1))
        layers += [self.of(part, place, seen, nested + 1) for part in listed(value.get("allOf"))]
        own = {name: each for name, each in value.items() if name not in ("$ref", "allOf", "anyOf", "oneOf")}
        groups = [listed(value.get(name)) for name in ("oneOf", "anyOf")]
        groups.append([value[name] for name in ("then", "else") if name in value])
        own[CHOICES] = [group for group in groups if group and not _has_one_of(group, seen)]
        return merged([*layers, own])

    def _new(self, target: str, seen: Collection[str], place: str) -> None:
        if target in seen:
            raise UsageError(
                f"{self._path}: {place}: $ref {printable(target, 100)!r} leads in a circle; write out what is meant"
            )

    def _target(self, target: str, place: str) -> Any:
        document, _, fragment = target.partition("#")
        where = f"{self._path}: {place}: $ref {printable(target, 100)!r}"
        if document.removeprefix("./") not in {"", *self._names}:
            raise UsageError(f"{where} leads out of the document; bring what it names into it")
        found = None
        try:
            is_pointer = not fragment or fragment.startswith("/")
            found = self._resolver.lookup(f"#{fragment}").contents if is_pointer else self._anchored(fragment)
        except (Unresolvable, LookupError, ValueError, TypeError, AttributeError):
            pass
        if not isinstance(found, Mapping | bool):
            raise UsageError(f"{where} leads to nothing; correct it")
        return found

    def _anchored(self, name: str) -> Any:
        parts = self._document if isinstance(self._document, Mapping) else {}
        components = parts.get("components")
        groups = [parts.get("$defs"), parts.get("definitions")]
        groups += [components.get("schemas")] if isinstance(components, Mapping) else []
        for each in (each for group in groups if isinstance(group, Mapping) for each in group.values()):
            if isinstance(each, Mapping) and name in (each.get("$anchor"), str(each.get("$id")).removeprefix("#")):
                return each
        return None


def merged(layers: Sequence[Level]) -> Level:
    """Return one level of several that hold together: fields and needed names of all, of other keywords the last."""
    found: Level = {}
    fields: dict[str, Any] = {}
    needed: dict[str, None] = {}
    choices: list[Any] = []
    for layer in layers:
        for name, each in mapping(layer.get("properties")).items():
            fields[name] = {"allOf": [fields[name], each]} if fields.get(name, each) != each else each
        needed |= dict.fromkeys(each for each in listed(layer.get("required")) if isinstance(each, str))
        choices += layer.get(CHOICES, ())
        before, values = listed(found.get("enum")), listed(layer.get("enum"))
        found |= layer
        if before and values and len(before) * len(values) < _COMPARED:
            found["enum"] = [each for each in before if each in values] or values
    parts = {"properties": fields, "required": list(needed), CHOICES: choices}
    return {**found, **{name: each for name, each in parts.items() if each or name == CHOICES}}


def listed(value: Any) -> list[Any]:
    """Return a list, empty if the value is none."""
    return value if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, empty if the value is none."""
    return value if isinstance(value, Mapping) else {}


def _has_one_of(group: Sequence[Any], seen: Collection[str]) -> bool:
    """Whether alternatives are kinds of what is read: a base that lists what extends it says nothing of one of them."""
    return any(isinstance(each, Mapping) and each.get("$ref") in seen for each in group)
