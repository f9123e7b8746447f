"""The fields of a file as a model is told them: a line for each record. It says what a JSON Schema says, in a fifth of
its letters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from toolscale.environment.registry import FILES

_OURS = frozenset({"proposed_by", "refused"})
"""Fields of intents that the program writes: a model is not shown them."""

_PLAIN = {"string": "text", "integer": "int", "boolean": "bool", "number": "number", "null": "null"}
_FEW = 3
"""Records of which a value may be one; of more, the choice gets a name of its own."""

Schema = Mapping[str, Any]


def fields_of(file: str, sections: Collection[str] = ()) -> list[str]:
    """Return a line for the file and for each record that is used in it. `sections`: only these of its fields."""
    schema = FILES[file].model_json_schema()
    properties = {name: of for name, of in schema["properties"].items() if not sections or name in sections}
    notation = _Notation(schema.get("$defs", {}))
    head = notation.record(f"`{file}`", {**schema, "description": "", "properties": properties})
    return [head, *notation.records()]


class _Notation:
    def __init__(self, records: Mapping[str, Schema]) -> None:
        self._records = records
        self._used: dict[str, None] = {}
        self._choices: dict[tuple[str, ...], str] = {}

    def records(self) -> Iterator[str]:
        """Yield the records and choices that were named, each once, and those that they name."""
        told = set[str]()
        while left := [name for name in self._used if name not in told]:
            for name in left:
                told.add(name)
                yield self.record(name, self._records[name])
        for names, choice in self._choices.items():
            yield f"{choice} = {'|'.join(names)}"

    def record(self, name: str, schema: Schema) -> str:
        """Return a record: `name: field: type (what it is), other?: type`; a question mark where it may be left out."""
        required = schema.get("required", ())
        fields = [
            f"{field}{'' if field in required else '?'}:{self._type(of)}{_told(of)}"
            for field, of in schema.get("properties", {}).items()
            if field not in _OURS
        ]
        return f"{name}{_told(schema)}: {', '.join(fields)}"

    def _type(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self._named(schema)
        if "enum" in schema or "const" in schema:
            return "|".join(map(str, schema.get("enum") or [schema["const"]]))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                left_out = schema.get("default", ...) is None  # null says no more than leaving it out
                return self._one_of([each for each in schema[key] if not left_out or each.get("type") != "null"])
        if "prefixItems" in schema:
            return f"[{','.join(map(self._type, schema['prefixItems']))}]"
        if schema.get("type") == "array":
            return f"[{self._type(schema.get('items', {}))}]"
        if schema.get("type") == "object":
            named = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
            inner = next((each for each in named if isinstance(each, Mapping)), None)
            return f"{{name:{self._type(inner)}}}" if inner is not None else "{…}"
        return _PLAIN.get(str(schema.get("type")), "any")

    def _one_of(self, schemas: list[Schema]) -> str:
        names = tuple(self._type(each) for each in schemas)
        if len(names) <= _FEW or not all("$ref" in each for each in schemas):
            return "|".join(names)
        return self._choices.setdefault(names, _common_end(names) or "Value")

    def _named(self, schema: Schema) -> str:
        name = str(schema["$ref"]).rpartition("/")[2]
        self._used[name] = None
        return name


def _common_end(names: Collection[str]) -> str:
    """Return the word in which all names end: `Step` of `CallStep` and `IfStep`."""
    ends = {match[0] for name in names if (match := re.search(r"[A-Z][a-z]*\Z", name))}
    return ends.pop() if len(ends) == 1 else ""


def _told(schema: Schema) -> str:
    text = " ".join(str(schema.get("description", "")).split()).rstrip(".")
    return f" ({text})" if text else ""
