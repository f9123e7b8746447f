"""The JSON Schemas of the files that people write and programs read, generated from the records."""

from __future__ import annotations

import json

from toolscale.records import (
    Admission, CasesSpec, Catalogue, Changes, IntentsSpec, Judged, LanguageSpec, Manifest, PolicySpec, PopulationSpec, PriceList, Record,
    SchemaSpec, Task, ToolsetSpec, WordedPreference, WorldSpec,
)  # fmt: skip

SCHEMAS: dict[str, type[Record]] = {
    "environment": WorldSpec, "schema": SchemaSpec, "population": PopulationSpec, "toolset": ToolsetSpec, "rules": PolicySpec,
    "language": LanguageSpec, "intents": IntentsSpec, "cases": CasesSpec, "admission": Admission, "task": Task, "judged": Judged,
    "manifest": Manifest, "changes": Changes, "catalogue": Catalogue, "prices": PriceList, "preference": WordedPreference,
}  # fmt: skip
"""Name of the file that is described -> record."""


def render_schemas() -> dict[str, str]:
    """Return file name -> JSON Schema."""
    return {f"{name}.schema.json": _render(record) for name, record in SCHEMAS.items()}


def _render(record: type[Record]) -> str:
    return json.dumps(record.model_json_schema(by_alias=True), indent=2, ensure_ascii=False) + "\n"
