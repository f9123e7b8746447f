"""Tells what JSON Schemas describe, in a line that a model reads: `{id: string, lines?: [{sku: string (printed)}]}`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolscale.draft.sources.naming import snake, usable
from toolscale.draft.sources.schema_levels import CHOICES, MOST_LEVELS, Level, Levels, listed, mapping
from toolscale.text_files import printable

_VALUES, _ALTERNATIVES, _ITEMS = 12, 4, 4
"""Values of an enum, alternatives, and items with schemas of their own that are told."""
_NESTED_LISTS, _NESTED_CHOICES = 3, 8
_LETTERS, _ABOUT = 40, 80
"""Of a value or a pattern, and of a description."""

_SAID = (
    "type format enum const properties required additionalProperties patternProperties items prefixItems "
    "additionalItems minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems "
    "minProperties maxProperties multipleOf uniqueItems nullable default description readOnly writeOnly then else"
)
_TOLD = frozenset({*_SAID.split(), CHOICES})
_WORDS = (
    "title example examples xml externalDocs discriminator deprecated if components contentMediaType contentEncoding "
    "unevaluatedProperties unevaluatedItems id definitions name"
)
_ASIDE = frozenset(_WORDS.split())
"""Words about a schema; what starts with $ or x- is one too."""


@dataclass(frozen=True)
class Style:
    """How much is told."""

    depth: int = 2
    """Objects within objects."""
    fields: int = 20
    """Of an object."""
    about: int = 2
    """Objects within objects of whose fields descriptions are told; -1: none, nor what else is said of values."""


@dataclass
class Shapes:
    """Tells the schemas of one document. What is not told is noted until somebody asks."""

    levels: Levels
    renamed: dict[str, str] | None = None
    """Names of fields that could not be taken as they are -> what they are called; None: names are told as they are."""
    is_cut: bool = False
    untold: set[str] = field(default_factory=set)
    """Keywords that have a meaning and are not told."""

    def begin(self) -> None:
        """Forget what was noted: the same is told in another style."""
        self.levels.read, self.is_cut = 0, False
        self.untold.clear()
        if self.renamed is not None:
            self.renamed.clear()

    def shape(self, value: Any, place: str, style: Style, depth: int = 0, lists: int = 0, choices: int = 0) -> str:
        """Return the shape of what a schema describes. UsageError as `Levels.of`."""
        if value is False:
            return "nothing"
        level = self.levels.of(value, place)
        if self.levels.read > MOST_LEVELS or choices > _NESTED_CHOICES:
            self.is_cut = True
            return "…"
        self.untold |= {word for word in level if word not in _TOLD | _ASIDE and not word.startswith(("$", "x-"))}
        told = self._with_choices(level, self._alone(level, place, style, depth, lists), place, style, depth, choices)
        kinds = _kinds(level)
        if "null" in kinds and "null" not in told.split(" | "):
            told = f"{told} | null" if told else "null"
        told = told or "any"
        if "default" in level:
            told += f" = {_literal(level['default'])}"
        facts = [*_facts(level)] if style.about >= 0 else []
        if depth and depth <= style.about + 1 and isinstance(about := level.get("description"), str):
            facts.append(printable(about, _ABOUT).rstrip("."))
        return f"{told} ({'; '.join(filter(None, facts))})" if any(facts) else told

    def named(self, name: str, value: Any, taken: set[str]) -> str:
        """Return what a field of this schema is called, and take the name."""
        if self.renamed is None:
            return printable(name, 60)
        called = usable(snake(name) or "value", taken, "rows" if mapping(value).get("type") == "array" else "input")
        taken.add(called)
        if called != name:
            self.renamed[name] = called
        return called

    def _alone(self, level: Level, place: str, style: Style, depth: int, lists: int) -> str:
        """Return what a level says without its alternatives; nothing if it says nothing."""
        if "const" in level:
            return _literal(level["const"])
        if values := listed(level.get("enum")):
            return " | ".join([*map(_literal, values[:_VALUES]), *self._more(len(values), _VALUES)])
        told = []
        for kind in _kinds(level):
            if kind == "object":
                told.append(self._object(level, place, style, depth))
            elif kind == "array":
                told.append(self._array(level, place, style, depth, lists))
            elif kind != "null":
                told.append(printable(kind, 30))
        return " | ".join(told)

    def _object(self, level: Level, place: str, style: Style, depth: int) -> str:
        needed = [name for name in listed(level.get("required")) if isinstance(name, str)]
        fields = {**mapping(level.get("properties"))}
        if fields or not level.get(CHOICES):
            fields |= {name: True for name in needed if name not in fields}
        others = [
            (f"any name like {printable(str(pattern), _LETTERS)}", each)
            for pattern, each in mapping(level.get("patternProperties")).items()
        ]
        if isinstance(more := level.get("additionalProperties"), Mapping):
            others.append(("any other" if fields or others else "any name", more))
        if not fields and not others:
            return "{}" if level.get("additionalProperties") is False else "object"
        if depth >= style.depth:
            self.is_cut = True
            return "{…}"
        kept = list(fields)
        if len(kept) > style.fields:
            kept = sorted(kept, key=lambda name: name not in needed)[: style.fields]
        taken: set[str] = set()
        told = [
            f"{self.named(str(name), fields[name], taken)}{'' if name in needed else '?'}: "
            f"{self.shape(fields[name], place, style, depth + 1)}"
            for name in kept
        ]
        told += [f"{name}: {self.shape(each, place, style, depth + 1)}" for name, each in others[:_ITEMS]]
        return "{" + ", ".join([*told, *self._more(len(fields), len(kept)), *self._more(len(others), _ITEMS)]) + "}"

    def _array(self, level: Level, place: str, style: Style, depth: int, lists: int) -> str:
        if lists >= _NESTED_LISTS:
            self.is_cut = True
            return "[…]"
        first, rest = listed(level.get("prefixItems")), level.get("items", True)
        if isinstance(rest, list):
            first, rest = rest, level.get("additionalItems", True)
        if not first:
            return f"[{self.shape(rest, place, style, depth, lists + 1)}]"
        told = [self.shape(each, place, style, depth, lists + 1) for each in first[:_ITEMS]]
        told += self._more(len(first), _ITEMS)
        if isinstance(rest, Mapping):
            told.append(f"then {self.shape(rest, place, style, depth, lists + 1)}")
        return f"[{', '.join(told)}]"

    def _with_choices(self, level: Level, alone: str, place: str, style: Style, depth: int, choices: int) -> str:
        """Return what a level says, with its alternatives: `a | b`, `{…} with id or email`, `{…} & ({…} | {…})`."""
        for group in level.get(CHOICES, ()):
            more = self._more(len(group), _ALTERNATIVES)
            if all(isinstance(each, Mapping) and _only_needs(each) for each in group):
                needs = [" and ".join(self._called(each)) for each in group[:_ALTERNATIVES]]
                alone = f"{alone or 'object'} with {' or '.join([*needs, *more])}"
                continue
            kinds = {"type": level["type"]} if "type" in level and "properties" not in level else {}
            told = [
                self.shape(
                    {**kinds, **each} if isinstance(each, Mapping) and not _says_kind(each) else each,
                    place, style, depth, 0, choices + 1,
                )
                for each in group[:_ALTERNATIVES]
            ]  # fmt: skip
            joined = " | ".join([*dict.fromkeys(told), *more])
            is_bare = not alone or (alone == level.get("type") and alone in ("object", "array", *_SCALARS))
            alone = joined if is_bare else f"{alone} & ({joined})"
        return alone

    def _called(self, needs: Mapping[str, Any]) -> Iterator[str]:
        for name in listed(needs.get("required")):
            yield (self.renamed or {}).get(str(name), printable(str(name), 60))

    def _more(self, number: int, told: int) -> list[str]:
        if number <= told:
            return []
        self.is_cut = True
        return [f"and {number - told:,} more"]


_SCALARS = ("string", "integer", "number", "boolean")


def _kinds(level: Level) -> list[str]:
    """Return the types of what a level describes: those that it says, or those that its keywords speak of."""
    said = level.get("type")
    kinds = [str(each).lower() for each in (said if isinstance(said, list) else [said]) if each is not None]
    if not kinds and any(isinstance(level.get(name), Mapping) for name in _OBJECT):
        kinds = ["object"]
    elif not kinds and any(isinstance(level.get(name), Mapping | list) for name in ("items", "prefixItems")):
        kinds = ["array"]
    return kinds + ["null"] * (level.get("nullable") is True and "null" not in kinds)


_OBJECT = ("properties", "additionalProperties", "patternProperties")


def _only_needs(value: Mapping[str, Any]) -> bool:
    return bool(listed(value.get("required"))) and not value.keys() - {"required", "title", "description", "type"}


def _says_kind(value: Mapping[str, Any]) -> bool:
    return bool(value.keys() & {"type", "$ref", "allOf", "anyOf", "oneOf", "enum", "const", *_OBJECT})


def _facts(level: Level) -> Iterator[str]:
    """Yield what else a level says of its values."""
    if isinstance(form := level.get("format"), str):
        yield printable(form, _LETTERS)
    for low, high, what in (
        ("minimum", "maximum", ""), ("minLength", "maxLength", " letters"), ("minItems", "maxItems", " items"),
        ("minProperties", "maxProperties", " fields"),
    ):  # fmt: skip
        yield _bounds(level.get(low), level.get(high), what)
    for name, words in (
        ("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than"), ("multipleOf", "a multiple of"),
        ("pattern", "like"),
    ):  # fmt: skip
        if level.get(name) is True:
            yield f"without {'the first' if name == 'exclusiveMinimum' else 'the last'}"
        elif isinstance(value := level.get(name), int | float | str) and value is not False:
            yield f"{words} {printable(str(value), _LETTERS)}"
    for name, words in (("uniqueItems", "no two alike"), ("readOnly", "read only"), ("writeOnly", "write only")):
        if level.get(name) is True:
            yield words


def _bounds(low: Any, high: Any, what: str) -> str:
    ends = [printable(str(each), 25) if isinstance(each, int | float) else "" for each in (low, high)]
    if ends == ["", ""] or (what and ends == ["0", ""]):
        return ""
    if ends[0] == ends[1]:
        return f"{ends[0]}{what}"
    return (
        f"{ends[0]} to {ends[1]}{what}"
        if all(ends)
        else f"{ends[0]} or more{what}"
        if ends[0]
        else f"up to {ends[1]}{what}"
    )


def _literal(value: Any) -> str:
    """Return a value as JSON, short: of lists and objects only small ones are written out."""
    if isinstance(value, Mapping) and value:
        return "{…}"
    if isinstance(value, list) and (len(value) > _ITEMS or any(isinstance(each, Mapping | list) for each in value)):
        return "[…]"
    parts: Sequence[Any] = value if isinstance(value, list) else [value]
    short = [each[: 4 * _LETTERS] if isinstance(each, str) else each for each in parts]
    return printable(json.dumps(short if isinstance(value, list) else short[0], ensure_ascii=False), _LETTERS)
