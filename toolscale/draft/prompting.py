"""What is told of a domain in the prompts for its files: look-ups and descriptions that are derived, and of its intents
those that are to change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.draft.blocks import parse_yaml
from toolscale.draft.entries import dump
from toolscale.environment.spec_files import read_folder
from toolscale.patterns import regex
from toolscale.records import LanguageSpec, ToolsetSpec

_INTENT = regex(r"intents\[([a-z0-9_]+)\]")


def lookups_of(folder: Path) -> list[str]:
    """Return the look-ups that are derived, a line each: parameters, and the name of the rows that they give."""
    toolset = read_folder(folder).part(ToolsetSpec)
    names = {tool.get("name") for tool in _own(folder, "toolset.yaml").get("tools") or () if isinstance(tool, Mapping)}
    return [
        f"{tool.name}({', '.join(tool.parameters)}) gives {'rows' if part.mode == 'rows' else 'one row'} `{name}`"
        for tool in (toolset.tools if toolset else ())
        if tool.name not in names
        for name, part in tool.returns.items()
    ]


def derived_of(folder: Path) -> list[str]:
    """Return the descriptions that are derived, a line for each table: names, and the words that they say."""
    language, own = read_folder(folder).part(LanguageSpec), _own(folder, "language.yaml").get("describe")
    lines = []
    for table, ways in (language.describe if language else {}).items():
        written = own.get(table) if isinstance(own, Mapping) else None
        made = {name: way for name, way in ways.items() if name not in (written or {})}
        if made:
            told = ", ".join(f"{name} (*{' '.join(way.cues)}*)" for name, way in made.items())
            lines.append(f"{table}: {told}")
    return lines


def named_intents(findings: Sequence[str]) -> set[str]:
    """Return the intents that findings are about."""
    return {name for line in findings for name in _INTENT.findall(line)}


def shown_intents(text: str, names: Collection[str]) -> tuple[str, list[str]]:
    """Return those intents of a file that are named, as YAML, and the ids of the others. A file that cannot be read is
    shown whole."""
    value, issues = parse_yaml("intents.yaml", text)
    entries = value.get("intents") if isinstance(value, Mapping) else None
    if issues or not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        return text, []
    named = [each for each in entries if each.get("id") in names]
    return dump({"intents": named}), [str(each.get("id")) for each in entries if each.get("id") not in names]


def _own(folder: Path, file: str) -> Mapping[str, Any]:
    """Return what a file of a folder says itself; nothing, if it cannot be read."""
    path = folder / file
    value, _ = parse_yaml(file, path.read_text(encoding="utf-8")) if path.is_file() else ({}, [])
    return value if isinstance(value, Mapping) else {}
