"""Write an export: the files of its format, the dataset where the host plays its tasks, and a README."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolscale.config import VERSION
from toolscale.dataset.comparing.combined import copy_plain
from toolscale.dataset.describing.environments import exported_formats
from toolscale.dataset.describing.reading import complete_manifest
from toolscale.dataset.making.staging import copy_files
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import (
    REPLACED,
    file_hash,
    remove_folder,
    replace_folder,
    storage_errors,
    work_folder,
    write_file,
)
from toolscale.errors import UsageError
from toolscale.exports.format import ORDERS, SPLITS, Format, Source, render
from toolscale.exports.formats import FORMATS
from toolscale.exports.golden import golden_trajectories
from toolscale.records import Manifest

MOST_ORDERS = 10
ABOUT, README, DATASET = "export.json", "README.md", "dataset"


@dataclass(frozen=True)
class Exported:
    """What was written."""

    out: Path
    tasks: int
    left_out: int
    """Dialogues, where the host has nobody who answers."""


def export(dataset: Path, to: str, out: Path, options: Mapping[str, str] | None = None) -> Exported:
    """Write a dataset in a format into the folder `out`, all of it or nothing.

    UsageError if there is no such format or option, or if `out` holds something that is no export; DatasetError if the
    dataset is not complete.
    """
    wanted = format_of(to)
    chosen = _chosen(wanted, options or {})
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / ABOUT).is_file())):
        raise UsageError(f"{out} is there and holds no export; choose a new folder for --out")
    if out.exists() and not wanted.is_replaced:
        raise UsageError(f"{out} is there, and jobs of {to} may read it; remove it, or choose a new folder for --out")
    manifest = complete_manifest(dataset)
    golden = list(golden_trajectories(dataset, others=_others(wanted, chosen)))
    kept = [each for each in golden if wanted.talks or each.task.turns != "dialogue"]
    if not kept:
        raise UsageError(f"{dataset} has dialogues alone, and {to} has nobody who answers; make other tasks")
    source = Source(manifest.name, file_hash(dataset / MANIFEST), kept, " AND ".join(manifest.licenses))
    files = list(wanted.make(source, chosen))  # first, since what is refused leaves nothing behind
    with work_folder(out, "export") as work:
        made = work / "made"
        remove_folder(made)
        for path, content in files:
            write_file(made / path, content.encode() if isinstance(content, str) else content)
        if wanted.plays:
            _copy(dataset, manifest, made / DATASET)
        else:
            copy_files(dataset, [each for each in manifest.files if each.path.startswith("fixtures/")], made)
        done = Exported(out, len(kept), len(golden) - len(kept))
        write_file(made / README, _readme(wanted, source, done).encode())
        write_file(made / ABOUT, _about(wanted, source, done, chosen).encode())
        replace_folder(made, out.resolve(), work / REPLACED)
    return done


def format_of(name: str) -> Format:
    """Return a format. UsageError names all if there is no such one."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def _chosen(wanted: Format, given: Mapping[str, str]) -> dict[str, str]:
    for name in given:
        if name not in wanted.options:
            known = f"it has {', '.join(wanted.options)}" if wanted.options else "it has none"
            raise UsageError(f"{wanted.name} has no option {name!r}; {known}")
    return {name: given.get(name, told.partition(":")[0]) for name, told in wanted.options.items()}


def _others(wanted: Format, chosen: Mapping[str, str]) -> int:
    """How many other orders of its calls a task has at most."""
    told = chosen.get(ORDERS, "1")
    if not told.isdecimal() or not 1 <= int(told) <= MOST_ORDERS:
        raise UsageError(f"{wanted.name}: {ORDERS} is {told!r}; say a number from 1 to {MOST_ORDERS}")
    return int(told) - 1


def _copy(dataset: Path, manifest: Manifest, to: Path) -> None:
    """Copy a dataset, but not the exports that were published with it."""
    if exported_formats(manifest):
        copy_plain(dataset, to)
        return
    with storage_errors("copy", dataset):
        shutil.copytree(dataset, to, ignore=shutil.ignore_patterns(".*"))


def _readme(wanted: Format, source: Source, done: Exported) -> str:
    return render("README.md.jinja", format=wanted, source=source, done=done, version=VERSION)


def _about(wanted: Format, source: Source, done: Exported, options: Mapping[str, str]) -> str:
    about = {
        "format": wanted.name,
        "tried_with": wanted.host,
        "toolscale": VERSION,
        "dataset": {"name": source.name, "manifest": source.fingerprint},
        "environments": {
            each.task.domain: each.task.environment_hash
            for each in sorted(source.golden, key=lambda each: each.task.domain)
        },
        "tasks": {split: len(source.of(split)) for split in SPLITS},
        "left_out": done.left_out,
        "options": dict(options),
    }
    return json.dumps(about, indent=1) + "\n"
