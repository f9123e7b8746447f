"""The files in a reply of a model: fenced blocks, each headed by the name of its file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolscale.errors import SpecIssue
from toolscale.patterns import regex
from toolscale.temporary_folders import temporary_folder
from toolscale.yaml_files import read_yaml

_BLOCK = regex(r"^```[ \t]*(?:[a-z]+[ \t]+)?([a-z]+\.(?:yaml|md))[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_ANY_BLOCK = regex(r"^```[^\n]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
MOST_CHARACTERS = 1_000_000


def read_blocks(reply: str, allowed: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Return file -> what it says (YAML as a value, Markdown as text), and what is wrong, a line each.

    Nothing is believed: the size is bounded, YAML is read as that of any file from outside, and only the files that are
    allowed are taken.
    """
    if len(reply) > MOST_CHARACTERS:
        return {}, [f"the reply has {len(reply):,} characters; write at most {MOST_CHARACTERS:,}"]
    blocks = _BLOCK.findall(reply)
    if not blocks and len(allowed) == 1 and len(alone := _ANY_BLOCK.findall(reply)) == 1:
        blocks = [(next(iter(allowed)), alone[0])]
    if not blocks:
        return {}, ["the reply has no block; write each file as a block headed ```yaml NAME, and close it with ```"]
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for name, text in blocks:
        if name not in allowed:
            wrong.append(f"{name} is not asked for; write only {', '.join(sorted(allowed))}")
        elif name in found:
            wrong.append(f"{name} stands there twice; write one block for each file")
        elif name.endswith(".md"):
            found[name] = text
        else:
            value, issues = parse_yaml(name, text)
            wrong += map(str, issues)
            if not issues and not isinstance(value, dict):
                wrong.append(f"{name}: it is no mapping; begin with the keys of the file")
            elif not issues:
                found[name] = value
    return found, wrong


def parse_yaml(name: str, text: str) -> tuple[Any, list[SpecIssue]]:
    """Read YAML as that of any file, bounds included."""
    with temporary_folder("draft") as folder:
        path = folder / name
        path.write_bytes(text.encode("utf-8", "replace"))
        return read_yaml(path)


def entries_of(folder: Path, file: str, section: str) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of a list in a file of a folder, as far as there are any."""
    path = folder / file
    value, _ = parse_yaml(file, path.read_text(encoding="utf-8")) if path.is_file() else (None, [])
    entries = value.get(section) if isinstance(value, Mapping) else None
    yield from (each for each in entries or () if isinstance(each, Mapping)) if isinstance(entries, list) else ()
