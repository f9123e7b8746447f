"""Entries put at the end of a list in a YAML file that somebody wrote: what stands there stays as it is, comments
too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import yaml

from toolscale.draft.blocks import parse_yaml
from toolscale.draft.entries import Dumper
from toolscale.errors import UsageError

LONG = 25
"""Characters of a text that gets a line of its own in a list."""

WIDE = 110
"""Characters of a mapping that is written in one line."""


def appended(file: str, text: str, key: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a file with entries after those that it has under a key; a key that is not there is put at the
    end. UsageError if its list is written in a form to which nothing can be added."""
    if not entries:
        return text
    old, _ = parse_yaml(file, text)
    end, indent = _end_of(text, key)
    before, after = text[:end], text[end:]
    lines = yaml.dump({key: list(entries)}, Dumper=_TallDumper, sort_keys=False, allow_unicode=True, width=150)
    head, *added = lines.splitlines()
    if indent is None:
        added, indent = [head, *added], 0
    else:
        added = [part for line in added for part in (["", line] if line.startswith("- ") else [line])]
    made = before + ("" if before.endswith("\n") or not before else "\n")
    made += "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in added) + after
    new, _ = parse_yaml(file, made)
    if not isinstance(old, dict) or new != {**old, key: [*(old.get(key) or []), *entries]}:
        raise UsageError(f"{file}: nothing can be added to {key!r}; write it as a list, each entry with a dash")
    return made


class _TallDumper(Dumper):
    """Lists of sentences go down the page, so that a person can read and edit them; short values stay in one line."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        """Write a list of longer texts one below the other."""
        is_long = any(isinstance(item, str) and len(item) > LONG for item in sequence)
        return super().represent_sequence(tag, sequence, False if is_long else _is_flat(sequence))

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """Write a mapping of plain values in one line."""
        values = list(mapping.values())
        return super().represent_mapping(tag, mapping, _is_flat(values) and len(str(mapping)) <= WIDE)


def _is_flat(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, list | tuple | Mapping) for value in values)


@lru_cache(maxsize=4)
def _end_of(text: str, key: str) -> tuple[int, int | None]:
    """Return where entries are put, and the column of the dashes of the list; None if there is no list."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return len(text), None
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    for (name, value), later in zip(pairs, [*pairs[1:], None], strict=True):
        if name.value == key:
            end = later[0].start_mark.index if later else len(text)
            return end, value.start_mark.column
    return len(text), None
