"""Read YAML strictly and within bounds: safe types, no key twice, dates stay text, and no small file that stands for a
huge value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from toolscale.errors import SpecIssue
from toolscale.text_files import HIDDEN, read_text

MOST_NODES = 200_000
"""Values of one file, aliases written out. The largest of finance has 5,416."""

DEEPEST = 60
NESTED = f"lists or mappings are nested more than {DEEPEST} deep"
LARGEST = 2**63
"""Whole numbers stay below it: databases and Arrow know no larger ones."""


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 without timestamps and numbers to the base of 60 (14:05 is text), which remembers duplicate keys and
    keys that are not text."""

    def __init__(self, text: str):
        super().__init__(text)
        self.faults: list[tuple[int, str, str]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build the mapping; note keys written twice and keys that YAML read as something else than text."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            if key_node.value == "null":
                key_node.tag = "tag:yaml.org,2002:str"  # `null: 0.3` is a kind of value in population.yaml
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if isinstance(key, bool) or key is None:
                problem = f"YAML reads the key {key_node.value!r} as {key!r}"
                self.faults.append((line, problem, "put it in quotes, or use another word"))
            elif not isinstance(key, str):
                self.faults.append((line, f"the key {key_node.value!r} is not text", "put it in quotes"))
            elif key in seen:
                self.faults.append((line, f"the key {key!r} stands twice in one mapping", "remove one of them"))
            seen.add(key if isinstance(key, str) else repr(key))
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, re.compile(rf"(?![^:]*:){pattern.pattern}", pattern.flags))
        if tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        else (tag, pattern)
        for tag, pattern in resolvers
        if tag != "tag:yaml.org,2002:timestamp"
    ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Unbounded(Exception):
    """A file stands for more than it may."""


def read_yaml(path: Path, *, file: str | None = None, aliases: bool = True) -> tuple[Any, list[SpecIssue]]:
    """Return what the file says and what is wrong with how it says it; None with at least one issue if it cannot be
    read.

    `file` is what messages call it: its name, unless given. Without `aliases`, none may stand in it.
    """
    file = path.name if file is None else file
    text, issues = read_text(path, file)
    if text is None:
        return None, issues
    try:
        return _parse(text, file, aliases)
    except yaml.YAMLError as error:
        return None, [_parse_issue(file, error)]
    except (_Unbounded, ValueError) as error:  # ValueError: of more digits than Python reads
        return None, [SpecIssue(file, "", str(error).split(";")[0].lower(), "write it as the schema says")]


def _parse(text: str, file: str, aliases: bool) -> tuple[Any, list[SpecIssue]]:
    _check_depth(text)
    if not aliases:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                mark: Any = event.start_mark
                raise yaml.MarkedYAMLError(problem=f"the alias *{event.anchor}", problem_mark=mark)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        size, depth = _extent(node, {}, set())
        if size > MOST_NODES:
            raise _Unbounded(f"its aliases stand for more than {MOST_NODES:,} values")
        if depth > DEEPEST:
            raise _Unbounded(NESTED)
        data = loader.construct_document(node)
    finally:
        loader.dispose()
    issues = [SpecIssue(file, f"line {line}", problem, remedy) for line, problem, remedy in loader.faults]
    return data, [*issues, *(SpecIssue(file, place, problem, remedy) for place, problem, remedy in _strange(data, ()))]


def _check_depth(text: str) -> None:
    """Refuse nesting that would exhaust the stack of whoever composes it, before it is composed."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _Unbounded(NESTED)


def _extent(node: yaml.Node, known: dict[int, tuple[int, int]], above: set[int]) -> tuple[int, int]:
    """Return how many values a node stands for, and how deep they are nested, aliases written out."""
    if not isinstance(node, yaml.CollectionNode):
        return 1, 0
    if id(node) in above:
        raise _Unbounded("an anchor stands inside itself")
    if id(node) not in known:
        above.add(id(node))
        parts = node.value if isinstance(node, yaml.SequenceNode) else [part for pair in node.value for part in pair]
        extents = [_extent(part, known, above) for part in parts]
        known[id(node)] = 1 + sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
        above.discard(id(node))
    return known[id(node)]


def _strange(data: Any, place: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield the scalars that no schema has a use for: where, what, and what to do."""
    where = ".".join(place)
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _strange(value, (*place, str(key)))
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _strange(value, (*place, str(number)))
    elif isinstance(data, float) and not math.isfinite(data):
        yield where, f"{data} is no number", "write a number"
    elif isinstance(data, int) and not isinstance(data, bool) and not -LARGEST <= data < LARGEST:
        yield where, f"a number of {len(str(data).lstrip('-'))} digits is out of range", f"write one below {LARGEST}"
    elif isinstance(data, str) and (found := HIDDEN.search(data)):
        yield where, f"the text holds the character {found[0]!r}, which is not seen", "remove it"
    elif not isinstance(data, str | int | float | None):
        yield where, f"a value of type {type(data).__name__} cannot stand here", "write text or a number"


def _parse_issue(file: str, error: yaml.YAMLError) -> SpecIssue:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join((getattr(error, "problem", None) or str(error)).split())
    place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if problem.startswith("the alias"):
        return SpecIssue(file, place, f"{problem} is not allowed", "write the value again")
    return SpecIssue(
        file,
        place,
        f"not YAML: {problem}",
        "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation",
    )
