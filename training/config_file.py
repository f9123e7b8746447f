"""The configuration of a run, read from a YAML file: one line for each key that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from toolscale.errors import SpecError, SpecIssue
from toolscale.yaml_files import read_yaml
from training.config import Config, Settings, SftConfig


def read_config(path: Path, kind: type[Settings] = Config) -> Any:
    """Read a YAML file into `Config` (or another section). Raises SpecError with one line for each key that is
    wrong."""
    content, issues = read_yaml(path, file=str(path))
    if issues:
        raise SpecError(issues)
    if not isinstance(content, dict):
        raise SpecError([SpecIssue(str(path), "", "has no keys", "see training/configs/tiny_cpu.yaml")])
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise SpecError(_issue(path, kind, found) for found in error.errors()) from error


def read_any(path: Path) -> Config | SftConfig:
    """The configuration of a run, of GRPO or SFT. Raises SpecError."""
    content, _ = read_yaml(path, file=str(path))
    sft = isinstance(content, dict) and "data" not in content and {"conversations", "datasets"} & set(content)
    config: Config | SftConfig = read_config(path, SftConfig if sft else Config)
    return config


def _issue(path: Path, kind: type[Settings], found: Any) -> SpecIssue:
    place = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        section: Any = kind
        for part in found["loc"][:-1]:
            section = _section(section, str(part))
        known = ", ".join(sorted(getattr(section, "model_fields", {})))
        return SpecIssue(
            str(path),
            place,
            f"is not a key of this section (value {found['input']!r})",
            f"remove it, or use one of: {known}",
        )
    if found["type"] == "missing":
        return SpecIssue(str(path), place, "is missing", "add it")
    reason = found["msg"].removeprefix("Value error, ")
    value = "" if isinstance(found["input"], dict) else f", not {found['input']!r}"
    return SpecIssue(
        str(path),
        place,
        f"{reason[:1].lower()}{reason[1:]}{value}",
        "correct it; training/config.py describes every key",
    )


def _section(kind: Any, key: str) -> Any:
    """The settings class that stands under a key."""
    annotation = kind.model_fields[key].annotation
    found = [
        part
        for part in (annotation, *getattr(annotation, "__args__", ()))
        if isinstance(part, type) and issubclass(part, BaseModel)
    ]
    return found[0] if found else kind
