"""Read the files of a domain folder into a spec, each against its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from toolscale.canonical import content_hash
from toolscale.environment.base_words import with_base
from toolscale.environment.complaints import issues_of
from toolscale.environment.derived_cases import AUTO, with_cases
from toolscale.environment.derived_superlatives import with_superlatives
from toolscale.environment.derived_tools import with_lookups
from toolscale.environment.policy_text import sentences, shown
from toolscale.environment.registry import FILES, OPTIONAL, POLICY_TEXT
from toolscale.errors import SpecIssue
from toolscale.records import (
    EnvironmentSpec,
    IntentsSpec,
    LanguageSpec,
    PolicySpec,
    Record,
    SchemaSpec,
    ToolsetSpec,
    WorldSpec,
)
from toolscale.text_files import read_text
from toolscale.yaml_files import read_yaml

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True)
class Folder:
    """What the files of a domain say. `parts` lacks the files that could not be read; `issues` says why."""

    path: Path
    parts: dict[str, Record]
    policy: str | None
    files: dict[str, str]
    """File name -> hash of its parsed content."""
    issues: tuple[SpecIssue, ...]

    def part(self, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return the record of this kind, or None if its file could not be read."""
        return next((record for record in self.parts.values() if isinstance(record, kind)), None)

    def spec(self) -> EnvironmentSpec:
        """Return all parts in one record. Only for a folder without issues."""
        assert self.policy is not None
        return EnvironmentSpec.model_construct(
            domain=self.path.name,
            world=self.parts["environment.yaml"],
            schema_=self.parts["schema.yaml"],
            population=self.parts["population.yaml"],
            toolset=self.parts["toolset.yaml"],
            policy_text=shown(self.policy),
            policy_sentences=sentences(self.policy),
            policy=self.parts["rules.yaml"],
            language=self.parts["language.yaml"],
            intents=self.parts["intents.yaml"],
            frames=self.parts["frames.yaml"],
            cases=self.parts["cases.yaml"],
        )


def read_folder(path: Path) -> Folder:
    """Read all files of a domain, each against its record; nothing is raised, all issues are kept."""
    parts: dict[str, Record] = {}
    files: dict[str, str] = {}
    issues: list[SpecIssue] = []
    for name, model in FILES.items():
        if name in OPTIONAL and not (path / name).exists():
            parts[name] = model()
            continue
        data, found = read_yaml(path / name)
        if not found:
            data = with_base(data) if model is LanguageSpec else data
            files[name] = content_hash(data)
            record, found = _parse(data, model, name)
            if record is not None:
                parts[name] = record
        issues += found
    policy, found = read_text(path / POLICY_TEXT, POLICY_TEXT)
    if policy is not None:
        files[POLICY_TEXT] = content_hash(shown(policy))  # comments change no task
    issues += found
    issues += _derive(parts, files)
    return Folder(path, parts, policy, files, tuple(issues))


def read_world(path: Path) -> WorldSpec | None:
    """Return what `environment.yaml` says of a domain, or None if it cannot be read."""
    data, issues = read_yaml(path / "environment.yaml")
    record = None if issues else _parse(data, WorldSpec, "environment.yaml")[0]
    return record if isinstance(record, WorldSpec) else None


def _derive(parts: dict[str, Record], files: dict[str, str]) -> list[SpecIssue]:
    """Give the language its superlatives and the toolset its look-ups; they count as content of their file. Where they
    cannot be derived for a fault of another file, there is no such part: what is missing would be told as a fault of
    whoever uses it."""
    told = _derive_superlatives(parts, files)
    toolset, schema, language = (parts.get(name) for name in ("toolset.yaml", "schema.yaml", "language.yaml"))
    if not isinstance(toolset, ToolsetSpec):
        return told
    if not toolset.lookups:
        return [*told, *_derive_cases(parts, files, ())]
    if not isinstance(schema, SchemaSpec) or not isinstance(language, LanguageSpec):
        del parts["toolset.yaml"]
        return told
    parts["toolset.yaml"], issues = with_lookups(toolset, schema, language)
    files["toolset.yaml"] = content_hash([files["toolset.yaml"], parts["toolset.yaml"].model_dump(mode="json")])
    return [*told, *issues, *_derive_cases(parts, files, [tool.name for tool in toolset.tools])]


def _derive_superlatives(parts: dict[str, Record], files: dict[str, str]) -> list[SpecIssue]:
    """Give the language its superlatives, which count as content of its file. Where they cannot be derived for a fault
    of another file, there is no language: an intent may name one."""
    schema, language = parts.get("schema.yaml"), parts.get("language.yaml")
    if not isinstance(language, LanguageSpec) or not language.superlatives:
        return []
    if not isinstance(schema, SchemaSpec):
        del parts["language.yaml"]
        return []
    parts["language.yaml"], issues = with_superlatives(language, schema)
    files["language.yaml"] = content_hash([files["language.yaml"], parts["language.yaml"].model_dump(mode="json")])
    return issues


def _derive_cases(parts: dict[str, Record], files: dict[str, str], own: Sequence[str]) -> list[SpecIssue]:
    """Write out each `case: auto`; what is derived counts as content of the file. `own`: the tools that the file
    declares itself."""
    toolset, policy = parts["toolset.yaml"], parts.get("rules.yaml")
    assert isinstance(toolset, ToolsetSpec)
    if not isinstance(policy, PolicySpec) or not any(rule.case == AUTO for rule in policy.rules.values()):
        return []
    derived = {tool.name: tool for tool in toolset.tools if toolset.lookups and tool.name not in own}
    parts["rules.yaml"], issues = with_cases(policy, derived)
    files["rules.yaml"] = content_hash([files["rules.yaml"], parts["rules.yaml"].model_dump(mode="json")])
    return issues


def _parse(data: Any, model: type[Record], file: str) -> tuple[Record | None, list[SpecIssue]]:
    if not isinstance(data, dict):
        keys = ", ".join(field.alias or name for name, field in model.model_fields.items())
        return None, [
            SpecIssue(file, "", f"the file holds {type(data).__name__}, not a mapping", f"begin with the keys {keys}")
        ]
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return _parse_rest(data, model, error), issues_of(error, model, data, file)


def _parse_rest(data: dict[str, Any], model: type[Record], error: ValidationError) -> Record | None:
    """Parse a list of tools or intents without the faulty ones, so that faults of the others are told too; None for
    other files."""
    places = [fault["loc"] for fault in error.errors(include_url=False)]
    if model not in (ToolsetSpec, IntentsSpec) or any(
        len(place) < 2 or not isinstance(data.get(str(place[0])), list) for place in places
    ):
        return None
    faulty = {place[:2] for place in places}
    return model.model_validate(
        {
            name: [item for number, item in enumerate(items) if (name, number) not in faulty]
            if isinstance(items, list)
            else items
            for name, items in data.items()
        }
    )


def dropped_names(path: Path, folder: Folder) -> set[str]:
    """Return the names of tools and intents that stand in the files but could not be parsed: what others say of them is
    no fault of theirs."""
    found: set[str] = set()
    for file, items, key, kept in (
        (
            "toolset.yaml",
            "tools",
            "name",
            {tool.name for tool in (folder.part(ToolsetSpec) or ToolsetSpec(tools=())).tools},
        ),
        (
            "intents.yaml",
            "intents",
            "id",
            {intent.id for intent in (folder.part(IntentsSpec) or IntentsSpec(intents=())).intents},
        ),
    ):
        data, _ = read_yaml(path / file)
        listed = data.get(items) if isinstance(data, dict) else None
        names = {str(item.get(key)) for item in listed if isinstance(item, dict)} if isinstance(listed, list) else set()
        found |= names - kept
    return found
