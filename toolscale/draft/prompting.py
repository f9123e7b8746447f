"""What is told of a domain in the prompts for its files: look-ups and descriptions that are derived, and of its intents
those that are to change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscale.draft.blocks import entries_of, parse_yaml
from toolscale.draft.entries import dump
from toolscale.environment.spec_files import read_folder
from toolscale.patterns import regex
from toolscale.records import LanguageSpec, ToolsetSpec

INTENT = regex(r"intents\[([a-z0-9_]+)\]")
"""How a place names an intent."""


def lookups_of(folder: Path) -> list[str]:
    """Return the look-ups that are derived, a line each: parameters, and the name of the rows that they give."""
    toolset = read_folder(folder).part(ToolsetSpec)
    names = {tool.get("name") for tool in entries_of(folder, "toolset.yaml", "tools")}
    return [
        f"{tool.name}({', '.join(tool.parameters)}) gives {'rows' if part.mode == 'rows' else 'one row'} `{name}`"
        for tool in (toolset.tools if toolset else ())
        if tool.name not in names
        for name, part in tool.returns.items()
    ]


def derived_of(folder: Path) -> list[str]:
    """Return the descriptions that are derived, a line for each table: names, and the words that they say."""
    language, own = read_folder(folder).part(LanguageSpec), _described(folder)
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
    return {name for line in findings for name in INTENT.findall(line)}


def shown_intents(text: str, names: Collection[str]) -> tuple[str, list[str]]:
    """Return those intents of a file that are named, as YAML, and the ids of the others. A file that cannot be read is
    shown whole."""
    value, issues = parse_yaml("intents.yaml", text)
    entries = value.get("intents") if isinstance(value, Mapping) else None
    if issues or not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        return text, []
    named = [each for each in entries if each.get("id") in names]
    return dump({"intents": named}), [str(each.get("id")) for each in entries if each.get("id") not in names]


def _described(folder: Path) -> Any:
    """Return what `language.yaml` of a folder describes itself; None if it cannot be read."""
    path = folder / "language.yaml"
    value, _ = parse_yaml(path.name, path.read_text(encoding="utf-8")) if path.is_file() else (None, [])
    return value.get("describe") if isinstance(value, Mapping) else None
