"""Write descriptions into the text of a catalogue: comments, order and all other fields stay as an author left them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping

import yaml

WIDTH = 140
"""Of a line of a description."""


def with_descriptions(text: str, descriptions: Mapping[str, str]) -> str:
    """Return the YAML of a catalogue in which these experts (name -> description, one line) have these descriptions.

    The text must be one that `load_catalogue` reads. A description that is there is replaced; a new one stands before
    the price.
    """
    edits: list[tuple[int, int, str]] = []
    for expert in _items(yaml.compose(text, Loader=yaml.SafeLoader)):
        keys = {key.value: (key, value) for key, value in expert.value}
        said = descriptions.get(keys["name"][1].value)
        if said is None:
            continue
        margin = None if expert.flow_style else keys["name"][0].start_mark.column
        if "description" in keys:
            old = keys["description"][1]
            start = old.start_mark.index
            # The end mark of a folded text lies after the line ends that follow it.
            end = start + len(text[start : old.end_mark.index].rstrip())
            edits.append((start, end, _space(text, start) + _scalar(said, margin)))
        else:
            place = keys["price"][0].start_mark.index
            ending = ", " if margin is None else "\n" + " " * margin
            edits.append((place, place, f"description: {_scalar(said, margin)}{ending}"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _items(root: yaml.Node | None) -> list[yaml.MappingNode]:
    assert isinstance(root, yaml.MappingNode)
    return next(value.value for key, value in root.value if key.value == "experts")


def _space(text: str, place: int) -> str:
    """A key without a value ends with its colon."""
    return "" if text[place - 1].isspace() else " "


def _scalar(said: str, margin: int | None) -> str:
    """Return the text as YAML: folded lines two columns right of the keys, or in quotes where the keys stand between
    braces."""
    if margin is None:
        return json.dumps(said, ensure_ascii=False)
    indent = " " * (margin + 2)
    lines = textwrap.wrap(said, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return ">-\n" + "\n".join(indent + line for line in lines)
