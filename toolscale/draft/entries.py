"""The files of a draft as entries: a correction brings the tools, tables or intents that change; the others stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from toolscale.draft.blocks import parse_yaml, read_blocks

REMOVE = "remove"
"""A list of names in a correction: the entries that are dropped."""

NAMED: Mapping[str, str] = {"tools": "name", "intents": "id", "plant": "title", "verifier": "title", "calls": "title"}
"""Lists of entries, and the key by which an entry is known."""

DEEP: frozenset[str] = frozenset({"describe", "adjectives", "quantities", "rules", "tables"})
"""Mappings whose entries are mappings themselves, of which a correction may bring some."""


def put_reply(folder: Path, reply: str, allowed: Collection[str]) -> list[str]:
    """Put the files of a reply into the folder, as far as they are allowed; return what is wrong with the reply
    itself."""
    found, wrong = read_blocks(reply, allowed)
    for file, value in found.items():
        path = folder / file
        if not file.endswith(".md"):
            old, _ = parse_yaml(file, path.read_text(encoding="utf-8")) if path.is_file() else (None, [])
            before: Mapping[str, Any] = old if isinstance(old, Mapping) else {}
            wrong += [
                f"{file}: {REMOVE}: nothing is called {name!r}; name an entry, or all it stands in: describe.loans.due"
                for name in unmatched(before, value)
            ]
            value = dump(merged(before, value))
        path.write_text(value, encoding="utf-8")
    return wrong


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file with a correction: entries of the same name are replaced, others added, and those that `remove`
    names are gone."""
    gone = {str(name) for name in new.get(REMOVE) or ()} if isinstance(new.get(REMOVE), list) else set()
    result = dict(old)
    for section, value in new.items():
        if section == REMOVE:
            continue
        result[section] = _section(section, result.get(section), value)
    return {section: _without(section, value, gone) for section, value in result.items()} if gone else result


def unmatched(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the names under `remove` of a correction that nothing has."""
    names = new.get(REMOVE)
    whole = merged(old, {**new, REMOVE: []})
    return [
        str(name) for name in (names if isinstance(names, list) else ()) if merged(whole, {REMOVE: [name]}) == whole
    ]


def _section(section: str, old: Any, new: Any) -> Any:
    if isinstance(old, list) and isinstance(new, list) and (key := key_of(section, new)):
        return _list(old, new, key)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{name: _entry(section, old.get(name), value) for name, value in new.items()}}
    return new


def _entry(section: str, old: Any, new: Any) -> Any:
    """Tables of a schema come whole; the descriptions of a table in `language.yaml`, and the parts of a rule, one by
    one."""
    if section in DEEP and section != "tables" and isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **new}
    return new


def key_of(section: str, items: list[Any]) -> str | None:
    """Return the key by which the entries of a list are known; None if they have none."""
    key = NAMED.get(section, "table" if section == "tables" else None)
    return key if key and all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in items) else None


def _list(old: list[Any], new: list[Any], key: str) -> list[Any]:
    """Each entry takes the place of the old one of its name; others come after all. A table of `population.yaml` may
    stand there several times: all its batches are replaced together."""
    result: list[Any] = []
    placed: set[str] = set()
    for item in old:
        name = item.get(key) if isinstance(item, Mapping) else None
        same = [each for each in new if each[key] == name]
        if not same:
            result.append(item)
        elif name not in placed:
            placed.add(str(name))
            result += same
    return [*result, *(each for each in new if each[key] not in placed)]


def _without(section: str, value: Any, gone: set[str]) -> Any:
    """Return a section without the entries of these names: `due_first`, `describe.loans`, `describe.loans.due`."""
    if isinstance(value, Mapping):
        kept = {name: inner for name, inner in value.items() if not {name, f"{section}.{name}"} & gone}
        return {
            name: {key: each for key, each in inner.items() if f"{section}.{name}.{key}" not in gone}
            if isinstance(inner, Mapping)
            else inner
            for name, inner in kept.items()
        }
    if isinstance(value, list) and (key := key_of(section, value)):
        return [item for item in value if not {item[key], f"{section}.{item[key]}"} & gone]
    return value


class Dumper(yaml.SafeDumper):
    """YAML as people write it: long texts on lines of their own, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value where it stands."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Dumper.add_representer(str, _text)


def dump(value: Mapping[str, Any]) -> str:
    """Return a file as YAML."""
    return yaml.dump(
        dict(value), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=150, default_flow_style=None
    )
