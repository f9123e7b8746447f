"""What a dataset says about itself: the recipe that it was made from, its manifest, which is written last, and what
identifies it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from pydantic import ValidationError

from toolscale.canonical import CANONICAL_VERSION, content_hash
from toolscale.config import EVOLVED_SHARE, FIXTURE_TASKS, GRADING_VERSION, VERSION, Audit
from toolscale.dataset.storage import read_file
from toolscale.errors import DatasetError
from toolscale.records import Answer, DrawnTurns, Manifest
from toolscale.text_files import printable

MANIFEST = "manifest.json"
MOST_BYTES = 64 << 20
"""A larger manifest is not read: when it is read, nothing is known of it yet."""
VERSIONED = ("duckdb", "faker", "jinja2", "pyarrow", "pydantic", "sqlglot")
"""The libraries on which bytes or findings may depend."""


class Wanted(TypedDict, total=False):
    """What may be asked of a dataset, beside its number of tasks: fields of Recipe, which has the defaults."""

    seed: int
    audit: Audit
    evolved: float
    turns: DrawnTurns
    answer: Answer
    scale: int
    fixtures: int | None
    toward: Mapping[str, float] | None


@dataclass(frozen=True)
class Recipe:
    """What a dataset was asked to be."""

    domain: str
    tasks: int
    seed: int = 0
    audit: Audit = "sample"
    inputs: str = ""
    """Hash of environment, settings and code."""
    evolved: float = EVOLVED_SHARE
    """The share of tasks that are evolved."""
    turns: DrawnTurns = "mixed"
    """Which of the tasks are conversations."""
    answer: Answer = "form"
    """How they are answered."""
    given: Path | None = None
    """The folder of the lines that models gave; they are part of `inputs`."""
    scale: int = 1
    """How many times as many rows the database has as population.yaml says."""
    fixtures: int | None = FIXTURE_TASKS
    """Of how many tasks there are solutions of known score; None: of all."""
    max_candidates: int | None = None
    """Numbers that are drawn at most."""
    toward: Mapping[str, float] | None = None
    """Stream -> how often it is drawn, beside 1: towards what a policy fails. None: all alike."""
    judging: str = ""
    """Hash of all that the verdict on one number depends on: recipes that share it share what is judged."""


def world_folder(folder: Path, domain: str) -> Path:
    """Return where the environment of a domain lies in a dataset."""
    return folder / "environments" / domain


def render_manifest(manifest: Manifest) -> bytes:
    """Return the content of `manifest.json`."""
    return (json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a dataset. DatasetError says what is wrong with the folder."""
    path = folder / MANIFEST
    if not path.is_file():
        raise DatasetError(
            f"{folder} has no {MANIFEST}: it is no dataset, or was never finished; make it with `toolscale synthesize`"
        )
    if path.stat().st_size > MOST_BYTES:
        raise DatasetError(f"{path} has more than {MOST_BYTES:,} bytes: it is no manifest; make the dataset again")
    return parse_manifest(read_file(path), str(path), "make the dataset again")


def parse_manifest(content: bytes, name: str, remedy: str) -> Manifest:
    """Return the manifest that a file, called `name` in the message, holds. DatasetError, in one line, if it is
    none."""
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        if any(fault["loc"][-1:] == ("interaction",) for fault in error.errors()):
            raise DatasetError(
                f"{name} is of a dataset that ToolScale 0.1.0 made, with `interaction`; read it with that version, "
                f"or {remedy}"
            ) from error
        place = printable(".".join(str(part) for part in first["loc"]))
        raise DatasetError(f"{name} is not a manifest: {place}: {printable(first['msg'].lower())}; {remedy}") from error


def content_id(manifest: Manifest) -> str:
    """Return the hash of the data: tasks, rejects and environments. What only speaks of them (card, changes,
    manifest) is left out."""
    return content_hash(sorted([entry.path, entry.sha256] for entry in manifest.files if _is_data(entry.path)))


def tag_of(manifest: Manifest) -> str:
    """Return the tag of a version, such as `v1.0.0-1a2b3c4d`: the version of the environment (of several, the highest),
    and of the data."""
    numbers = [*manifest.version.split("."), "0", "0"][:3]
    return f"v{'.'.join(numbers)}-{content_id(manifest)[:8]}"


def current_versions() -> dict[str, str]:
    """Return the versions of everything on which the bytes of a dataset may depend. PackageNotFoundError if one of the
    libraries is not installed: nothing can be made then."""
    own = {"toolscale": VERSION, "grading": str(GRADING_VERSION), "canonical": str(CANONICAL_VERSION)}
    return own | {name: version(name) for name in VERSIONED}


def is_made_here(versions: Mapping[str, str], name: str) -> bool:
    """Whether a part of a dataset, of these versions, was made with the version of a library that is installed here."""
    return versions.get(name) == version(name)


def _is_data(path: str) -> bool:
    return "/" in path and not path.startswith("plots/")  # pictures, in versions that were published with them
