"""Read a JSON or YAML document of up to 64 MiB that somebody else wrote: JSON as JSON, YAML by the rules of 1.2.

Aliases of YAML stay one value that stands in several places, so that a small document that stands for a huge one stays
small; whoever walks through the value must come to an end.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from toolscale.errors import UsageError
from toolscale.patterns import regex
from toolscale.text_files import printable, read_text

MOST_BYTES = 64 << 20
DEEPEST = 200
"""Lists and mappings within each other."""
MOST_VALUES = 8_000_000
"""Of a YAML document; one of 64 MiB that describes a service has half as many."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = regex(r"[-+]?(0|[1-9][0-9]{0,400})|0x[0-9a-fA-F]{1,300}|0o[0-7]{1,300}")
"""Numbers of YAML 1.2, but for those that begin with a needless 0: `010` is the name of something more often."""
_REAL = regex(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NEEDLESS = regex(r"[-+]?0[0-9]")
_CORE = "tag:yaml.org,2002:"


def read_foreign(path: Path) -> tuple[Any, list[str]]:
    """Return what a document says, with all keys as text, and what differs from it, a line each. UsageError if it
    cannot be read."""
    text, issues = read_text(path, str(path), most=MOST_BYTES, is_foreign=True)
    if text is None:
        raise UsageError(str(issues[0]))
    with _without_collector():
        return _read(path, text)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let nobody look for circles among millions of values that have none: it takes longer than reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(path: Path, text: str) -> tuple[Any, list[str]]:
    begins, is_json = text.lstrip()[:1], path.suffix.lower() in (".json", ".jsonc")
    twice: list[str] = []
    if is_json or begins in ("{", "["):
        try:
            return _read_json(text, twice), _told(twice)
        except RecursionError:
            raise UsageError(f"{path}: lists and objects are nested too deep; write them less deep") from None
        except ValueError as error:
            if is_json:
                raise UsageError(f"{path}: not JSON: {error}; correct it") from None
    try:
        return _read_yaml(text, twice), _told(twice)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = printable(getattr(error, "problem", None) or str(error), 200)
        raise UsageError(f"{path}: {where}not YAML: {problem}; correct it") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}; correct it") from None


def _told(twice: list[str]) -> list[str]:
    return [
        f"the key {printable(name, 60)} stands twice in one object: the last is taken" for name in dict.fromkeys(twice)
    ]


def _read_json(text: str, twice: list[str]) -> Any:
    """Return the value; note the keys that stand twice in one object. ValueError says what is wrong, and where."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs) and len(twice) < 20:
            twice.extend(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)
        return found

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no number of JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


@dataclass
class _Open:
    """A list or mapping of which not all was read."""

    value: Any
    anchor: str | None
    key: str | None = None
    merged: list[Any] = field(default_factory=list)
    """What `<<` brings into a mapping: keys that are not its own."""


def _read_yaml(text: str, twice: list[str]) -> Any:
    """Return the value; note the keys that stand twice in one mapping."""
    anchors: dict[str, Any] = {}
    above: list[_Open] = []
    found: list[Any] = []
    for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if number > MOST_VALUES:
            raise ValueError(f"line {_line(event)}: it has more than {MOST_VALUES:,} values")
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(above) and isinstance(above[-1].value, dict) and above[-1].key is None
            made = event.value if is_key else _scalar(event)
            _put(made, event, above, found, twice)
        elif isinstance(event, yaml.AliasEvent):
            if any(each.anchor == event.anchor for each in above):
                raise ValueError(f"line {_line(event)}: an anchor stands inside itself")
            if event.anchor not in anchors:
                raise ValueError(f"line {_line(event)}: there is no anchor {event.anchor!r}")
            _put(anchors[event.anchor], event, above, found, twice)
            continue
        elif isinstance(event, yaml.CollectionStartEvent):
            made = {} if isinstance(event, yaml.MappingStartEvent) else []
            _put(made, event, above, found, twice)
            above.append(_Open(made, event.anchor))
            if len(above) > DEEPEST:
                raise ValueError(f"line {_line(event)}: nested more than {DEEPEST} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = above.pop()
            for each in _mappings(closed.merged):
                for name, value in each.items():
                    closed.value.setdefault(name, value)
            continue
        else:
            continue
        if event.anchor is not None:
            anchors[event.anchor] = made
    if len(found) > 1:
        raise ValueError("it holds several documents; keep one")
    return found[0] if found else None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _put(made: Any, event: Any, above: list[_Open], found: list[Any], twice: list[str]) -> None:
    """Put a value where it stands: into the list or mapping that is open, as a key or as what a key has."""
    if not above:
        found.append(made)
        return
    into = above[-1]
    if isinstance(into.value, list):
        into.value.append(made)
    elif into.key is None:
        if isinstance(made, dict | list):
            raise ValueError(f"line {_line(event)}: a key is no text")
        is_merge = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and made == "<<"
        into.key = "\0" if is_merge else str(made)
    else:
        if into.key == "\0":
            into.merged.append(made)
        else:
            if into.key in into.value and len(twice) < 20:
                twice.append(into.key)
            into.value[into.key] = made
        into.key = None


def _mappings(merged: list[Any]) -> Iterator[dict[str, Any]]:
    for each in merged:
        for inner in each if isinstance(each, list) else [each]:
            if isinstance(inner, dict):
                yield inner


def _scalar(event: yaml.ScalarEvent) -> Any:
    """Return the value of a scalar by the core schema of YAML 1.2: `NO`, `on`, `12:30` and days are text."""
    text, tag = event.value, event.tag
    if tag is None and not event.implicit[0]:
        return text  # in quotes, or a block
    if tag is not None and (
        not tag.startswith(_CORE) or tag.removeprefix(_CORE) not in ("int", "float", "bool", "null")
    ):
        return text
    if text in _NULL:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _WHOLE.fullmatch(text):
        return int(text, 0)
    if _REAL.fullmatch(text) and not _NEEDLESS.match(text):
        return float(text)
    return text
