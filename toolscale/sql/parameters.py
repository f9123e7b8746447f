"""Parameters of a tool: which JSON Schemas have a meaning in SQL, and which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema.exceptions import SchemaError

from toolscale.forbidden_names import OWN, refusals
from toolscale.records import ColumnType
from toolscale.sql.allowlist import IDENTIFIER
from toolscale.sql.report import Report, choices
from toolscale.sql.scopes import Info
from toolscale.validation import Validator, pattern_fault

_ANYWHERE = ("type", "description", "title", "default", "enum", "const", "examples")
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "string": ("format", "pattern", "minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "boolean": (),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "object": ("properties", "required", "additionalProperties"),
}
_FORMATS: dict[str, ColumnType] = {"date": "date", "date-time": "datetime", "time": "time"}


def check_name(name: str, what: str, report: Report, place: str, *, is_relation: bool = False) -> None:
    """Report a name that cannot be written in SQL here, or that somebody refuses. A return is never written in SQL: for
    it nothing is forbidden. `is_relation`: statements read it like a table."""
    if not IDENTIFIER.match(name) or "__" in name:
        report.add(f"{name!r} cannot name a {what}", "use small letters, digits and single underscores", place=place)
        return
    kind = "let" if what in ("let_rows", "new_id") else what
    for found in (
        *refusals(name, kind, but=(OWN,) if kind == "tool" else ()),
        *refusals(name, "relation" * is_relation),
    ):
        report.add(f"{name!r} cannot name a {what}: it {found.why}", "choose another name", place=place)


def read_parameters(
    parameters: Mapping[str, Mapping[str, Any]], report: Report
) -> tuple[dict[str, Info], dict[str, dict[str, Info]]]:
    """Return the scalar parameters and those that are relations, with their types; report what has no meaning."""
    values: dict[str, Info] = {}
    relations: dict[str, dict[str, Info]] = {}
    for name, schema in parameters.items():
        place = f"{report.place}.parameters.{name}"
        kind = _kind(schema, report, place)
        check_name(name, "parameter", report, place, is_relation=kind == "array")
        if kind == "array":
            relations[name] = _fields(name, schema, report, place)
        else:
            if kind == "object":
                report.add(
                    "an object is no parameter",
                    "make its properties parameters, or use an array of objects",
                    place=place,
                )
            values[name] = Info(_column_type(name, kind, schema), None, name)
        _check_schema(schema, kind, report, place)
    return values, relations


def _kind(schema: Mapping[str, Any], report: Report, place: str) -> str:
    """Return the JSON type, "" if there is none that can be used."""
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) == 2 and "null" in kind:
        kind = next((item for item in kind if item != "null"), None)
    if kind == "number":
        report.add(
            "type number has fractions", "use integer: money is whole cents, percentages are basis points", place=place
        )
    elif not isinstance(kind, str) or kind not in _KEYWORDS:
        report.add(f"type {kind!r} is not supported", choices(str(kind), tuple(_KEYWORDS)), place=place)
    else:
        return kind
    return ""


def _column_type(name: str, kind: str, schema: Mapping[str, Any]) -> ColumnType | None:
    if kind == "string":
        return _FORMATS.get(str(schema.get("format")), "text")
    if kind == "integer":
        return "cents" if name.endswith("_cents") else "int"
    return "bool" if kind == "boolean" else None


def _fields(name: str, schema: Mapping[str, Any], report: Report, place: str) -> dict[str, Info]:
    """Return the columns of an array parameter."""
    items = schema.get("items")
    if not isinstance(items, Mapping):
        report.add("the array says nothing about its items", "give it items: {type: string}, say", place=place)
        return {}
    kind = _kind(items, report, f"{place}.items")
    if kind != "object":
        if kind == "array":
            report.add("an array of arrays is not supported", "use an array of objects", place=place)
        _check_schema(items, kind, report, f"{place}.items")
        return {"value": Info(_column_type(name, kind, items), None, name)}
    fields = {}
    for field, inner in items.get("properties", {}).items():
        inner_place = f"{place}.items.properties.{field}"
        check_name(field, "field", report, inner_place)
        inner_kind = _kind(inner, report, inner_place)
        if inner_kind in ("array", "object"):
            report.add(f"a field of type {inner_kind} is not supported", "use scalars", place=inner_place)
        _check_schema(inner, inner_kind, report, inner_place)
        fields[field] = Info(_column_type(field, inner_kind, inner), None, f"{name}.{field}")
    _check_schema(items, kind, report, f"{place}.items")
    if items.get("additionalProperties") is not False:
        report.add("the items may have any other property", "add additionalProperties: false", place=f"{place}.items")
    return fields


def _check_schema(schema: Mapping[str, Any], kind: str, report: Report, place: str) -> None:
    if not kind:
        return
    known = (*_ANYWHERE, *_KEYWORDS[kind])
    for keyword in schema:
        if keyword not in known:
            report.add(f"keyword {keyword!r} has no meaning for type {kind}", choices(keyword, known), place=place)
    if kind == "string" and "format" in schema and schema["format"] not in _FORMATS:
        report.add(
            f"format {schema['format']!r} is not supported",
            choices(str(schema["format"]), tuple(_FORMATS)),
            place=place,
        )
    try:
        Validator.check_schema(dict(schema))
    except SchemaError as error:
        report.add(f"not a JSON Schema: {error.message}", "correct it", place=place)
        return
    if "pattern" in schema and (problem := pattern_fault(schema["pattern"])):
        remedy = "write one that RE2 runs: without look-around, references back and large repetitions"
        report.add(f"the pattern {schema['pattern']!r} cannot be run: {problem}", remedy, place=place)
        return
    default = schema.get("default")
    if default is not None and not Validator(dict(schema)).is_valid(default):
        report.add(f"default {default!r} does not fit the parameter's own schema", "correct one of them", place=place)
    for value in schema.get("enum", ()):
        if not Validator({"type": schema["type"]}).is_valid(value):
            report.add(f"enum value {value!r} is no {kind}", "correct the enum or the type", place=place)
