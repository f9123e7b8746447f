"""`environment.yaml` at the root of a published dataset: what the Hub reads to show it as an RL environment, and which
programs run it from there.

It is no part of an environment of ours: those lie below `environments/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from toolscale.dataset.storage import read_file
from toolscale.errors import StorageError
from toolscale.patterns import regex
from toolscale.records import Manifest

if TYPE_CHECKING:
    from toolscale.dataset.describing.card import Contents

DECLARED = "environment.yaml"
SPEC = "hf-env-0.1"
TAG = "rl-environment"
EXPORTED = "exports"
ABOUT = "export.json"
FRAMEWORKS = ("harbor", "verifiers", "openenv")
"""What the Hub knows of the formats of our exports."""

_VERSION = regex(r"\d+(?:\.\d+)+")


def exported_formats(manifest: Manifest) -> list[str]:
    """Return the formats of the exports that a dataset holds."""
    paths = (entry.path.split("/") for entry in manifest.files)
    return sorted({path[1] for path in paths if path[0] == EXPORTED and len(path) > 2})


def frameworks_of(manifest: Manifest) -> list[str]:
    """Return those that the Hub knows; none of a dataset that is no RL environment there."""
    return [name for name in FRAMEWORKS if name in exported_formats(manifest)]


def render_environments(folder: Path, contents: Sequence[Contents], manifest: Manifest) -> bytes | None:
    """Return the content of the file; None where there is to be none."""
    frameworks = frameworks_of(manifest)
    if not frameworks:
        return None
    told = {name: _framework(folder, manifest, name) for name in frameworks}
    declared = [_environment(part, told) for part in contents]
    return yaml.safe_dump(
        {"spec_version": SPEC, "environments": declared}, sort_keys=False, allow_unicode=True
    ).encode()


def _environment(part: Contents, frameworks: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    return {
        "id": part.domain,
        "title": part.title,
        "config_name": part.domain,
        "splits": [split for split, rows in part.rows.splits.items() if rows],
        "dataset": {"path": next(iter(frameworks.values()))["path"]},
        "reward": "scalar",
        "frameworks": dict(frameworks),
    }


def _framework(folder: Path, manifest: Manifest, name: str) -> dict[str, str]:
    place = f"{EXPORTED}/{name}"
    told = {"path": place}
    if (tried := _tried_with(folder / place / ABOUT)) is not None:
        told["min_version"] = f">={tried}"
    if name == "openenv":
        told |= {
            "manifest": f"{place}/openenv.yaml",
            "mode": "container",
            "image": f"{manifest.name}:{manifest.version}",
        }
    return told


def _tried_with(about: Path) -> str | None:
    """Return the version of the program that an export was tried with, as the export says."""
    try:
        found = _VERSION.search(str(json.loads(read_file(about))["tried_with"]))
    except (StorageError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return found[0] if found else None
