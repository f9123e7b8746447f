"""Read the YAML of a catalogue strictly: safe types only, no key twice, no aliases, dates stay text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from toolscale.errors import SpecIssue


class _Loader(yaml.SafeLoader):
    """YAML 1.1 without timestamps and without aliases, with which a small file can stand for a huge value."""

    def __init__(self, stream: str):
        super().__init__(stream)
        self.faults: list[tuple[int, str, str]] = []

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose the next node; an alias is an error."""
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, f"the alias *{event.anchor}", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build the mapping; note keys written twice and keys that YAML read as something else than text."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if not isinstance(key, str):
                self.faults.append((line, f"the key {key_node.value!r} is not text", "put it in quotes"))
            elif key in seen:
                self.faults.append((line, f"the key {key!r} stands twice in one mapping", "remove one of them"))
            else:
                seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> tuple[Any, list[SpecIssue]]:
    """Return what the file says and what is wrong with how it says it; None with at least one issue if it cannot be read."""
    file = str(path)
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        try:
            data = loader.get_single_data()
        finally:
            loader.dispose()
    except OSError as error:
        return None, [SpecIssue(file, "", f"the file cannot be read ({error.strerror or error})", "check the path")]
    except UnicodeDecodeError as error:
        return None, [SpecIssue(file, f"byte {error.start}", "the file is not UTF-8", "save it as UTF-8")]
    except RecursionError:
        return None, [SpecIssue(file, "", "lists or mappings are nested too deeply", "write it as the schema says")]
    except (yaml.YAMLError, ValueError) as error:
        return None, [_parse_issue(file, error)]
    return data, [SpecIssue(file, f"line {line}", problem, remedy) for line, problem, remedy in loader.faults]


def _parse_issue(file: str, error: Exception) -> SpecIssue:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join((getattr(error, "problem", None) or str(error)).split())
    place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if problem.startswith("the alias"):
        return SpecIssue(file, place, f"{problem} is not allowed", "write the value again")
    return SpecIssue(file, place, f"not YAML: {problem}", "text with ': ', ' #', '{' or ',' in it needs quotes; check the indentation")
