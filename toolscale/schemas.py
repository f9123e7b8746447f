"""The JSON Schemas of the files that people write and programs read, generated from the records."""

from __future__ import annotations

import json
from typing import Any

from toolscale.records import (
    Admission,
    CasesSpec,
    Catalogue,
    Changes,
    Fixture,
    IntentsSpec,
    Judged,
    LanguageSpec,
    Manifest,
    PolicySpec,
    PopulationSpec,
    PriceList,
    Record,
    SchemaSpec,
    Task,
    ToolsetSpec,
    Weakness,
    WordedPreference,
    WorldSpec,
)

SCHEMAS: dict[str, type[Record]] = {
    "environment": WorldSpec,
    "schema": SchemaSpec,
    "population": PopulationSpec,
    "toolset": ToolsetSpec,
    "rules": PolicySpec,
    "language": LanguageSpec,
    "intents": IntentsSpec,
    "cases": CasesSpec,
    "admission": Admission,
    "task": Task,
    "judged": Judged,
    "manifest": Manifest,
    "changes": Changes,
    "fixture": Fixture,
    "catalogue": Catalogue,
    "prices": PriceList,
    "preference": WordedPreference,
    "weakness": Weakness,
}
"""Name of the file that is described -> record."""


def render_schemas() -> dict[str, str]:
    """Return file name -> JSON Schema."""
    return {f"{name}.schema.json": _render(record) for name, record in SCHEMAS.items()}


def json_schema(record: type[Record]) -> dict[str, Any]:
    """Return the JSON Schema of a record, each paragraph of a description in one line."""
    found: dict[str, Any] = _unwrapped(record.model_json_schema(by_alias=True))
    return found


def _render(record: type[Record]) -> str:
    return json.dumps(json_schema(record), indent=2, ensure_ascii=False) + "\n"


def _unwrapped(schema: Any) -> Any:
    """The schema with each paragraph of a description in one line: where a docstring is wrapped means nothing."""
    if isinstance(schema, list):
        return [_unwrapped(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _unwrapped(value) for key, value in schema.items()}
    if isinstance(description := found.get("description"), str):
        found["description"] = "\n\n".join(" ".join(text.split()) for text in description.split("\n\n"))
    return found
