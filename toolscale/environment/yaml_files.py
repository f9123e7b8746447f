"""Read the YAML of a spec strictly: a key that YAML would silently lose or rename is an issue, and dates stay text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from toolscale.errors import SpecIssue


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 without timestamps, which remembers duplicate keys and keys that are not text."""

    def __init__(self, stream: str):
        super().__init__(stream)
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
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> tuple[Any, list[SpecIssue]]:
    """Return what the file says and what is wrong with how it says it; None with at least one issue if it cannot be parsed."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, [SpecIssue(path.name, "", "the file is missing", f"write it in {path.parent.name}/")]
    except UnicodeDecodeError as error:
        return None, [SpecIssue(path.name, f"byte {error.start}", "the file is not UTF-8", "save it as UTF-8")]
    try:
        loader = _Loader(text)
        try:
            data = loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        return None, [_parse_issue(path.name, error)]
    return data, [SpecIssue(path.name, f"line {line}", problem, remedy) for line, problem, remedy in loader.faults]


def _parse_issue(file: str, error: yaml.YAMLError) -> SpecIssue:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return SpecIssue(file, place, f"not YAML: {problem}", "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation")
