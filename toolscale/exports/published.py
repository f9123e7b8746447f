"""Exports that go to the Hub with their dataset, in its folder `exports/`, and whether they are what they seem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolscale.config import VERSION
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.comparing.combined import copy_plain
from toolscale.dataset.describing.environments import ABOUT, EXPORTED, exported_formats
from toolscale.dataset.describing.reading import complete_manifest, read_dataset
from toolscale.dataset.making.folder import read_contents, seal_dataset
from toolscale.dataset.making.staging import staged
from toolscale.dataset.manifest import read_manifest
from toolscale.dataset.storage import file_hash, read_file
from toolscale.errors import ToolScaleError
from toolscale.exports.writing import export, format_of
from toolscale.records import Manifest
from toolscale.temporary_folders import temporary_folder

PINS = "image/requirements.txt"
"""Of Harbor's image: the versions of libraries that were installed where it was written."""


def with_exports(dataset: Path, formats: Sequence[str], out: Path) -> Manifest:
    """Write `out`, whole or not at all: the dataset, and an export of it in each of the formats, which take the place
    of those that it has. UsageError if there is no such format, or if its host cannot play the tasks."""
    complete_manifest(dataset)
    for name in formats:
        format_of(name)
    with temporary_folder("exports") as place, staged(out, [dataset]) as stage:
        copy_plain(dataset, place / "plain")
        copy_plain(dataset, stage)
        for name in dict.fromkeys(formats):
            export(place / "plain", name, stage / EXPORTED / name)
        return seal_dataset(stage, read_contents(read_dataset(stage)))


def check_exports(folder: Path) -> Iterator[Finding]:
    """Write the exports of a dataset again and yield each of their files that differs, is missing or is one too many:
    what they hold is run by whoever pulls them. Those of another version of ToolScale cannot be compared."""
    manifest = read_manifest(folder)
    formats = exported_formats(manifest)
    if not formats or any(part.versions.get("toolscale") != VERSION for part in manifest.domains.values()):
        return
    with temporary_folder("exports") as place:
        copy_plain(folder, place / "plain")
        for name in formats:
            there, anew = folder / EXPORTED / name, place / name
            try:
                options = json.loads(read_file(there / ABOUT))["options"]
                export(place / "plain", name, anew, {key: str(value) for key, value in options.items()})
            except (ToolScaleError, ValueError, LookupError, AttributeError, TypeError) as error:
                yield Finding(f"{EXPORTED}/{name}", "schema", f"it cannot be written again: {error}")
                continue
            for path in sorted(_files(there) | _files(anew)):
                problem = _difference(there / path, anew / path)
                if problem and not (path == PINS and _same_pins(there / path, anew / path)):
                    yield Finding(f"{EXPORTED}/{name}/{path}", "schema", problem)


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _difference(there: Path, anew: Path) -> str | None:
    if not anew.is_file():
        return "the file is no part of such an export"
    if not there.is_file():
        return "such an export has this file"
    return None if file_hash(there) == file_hash(anew) else "the file is not what follows from the dataset"


def _same_pins(there: Path, anew: Path) -> bool:
    """Whether two lists ask for the same libraries, in whatever versions."""
    return there.is_file() and anew.is_file() and _asked(there) == _asked(anew)


def _asked(path: Path) -> list[str]:
    return sorted(line.partition("==")[0] for line in read_file(path).decode(errors="replace").splitlines())
