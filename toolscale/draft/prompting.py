"""What prompts are made of: the templates in `prompts/`, the schemas of files, and the look-ups of a domain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolscale.draft.blocks import parse_yaml
from toolscale.environment.registry import FILES
from toolscale.environment.spec_files import read_folder
from toolscale.records import ToolsetSpec

_OURS = "proposed_by"
"""A field of intents that the program writes: a model is not shown it."""


def schema_of(file: str) -> str:
    """Return the JSON Schema of a file, as a model that writes it is shown it."""
    schema = FILES[file].model_json_schema()
    for record in schema.get("$defs", {}).values():
        record.get("properties", {}).pop(_OURS, None)
    return json.dumps(schema, separators=(",", ":"))


def lookups_of(folder: Path) -> list[str]:
    """Return the look-ups that are derived, a line each: parameters, and the name of the rows that they give."""
    toolset, path = read_folder(folder).part(ToolsetSpec), folder / "toolset.yaml"
    own, _ = parse_yaml(path.name, path.read_text(encoding="utf-8")) if path.is_file() else ({}, [])
    names = {tool.get("name") for tool in own.get("tools") or () if isinstance(tool, Mapping)}
    return [
        f"{tool.name}({', '.join(tool.parameters)}) gives {'rows' if part.mode == 'rows' else 'one row'} `{name}`"
        for tool in (toolset.tools if toolset else ())
        if tool.name not in names
        for name, part in tool.returns.items()
    ]
