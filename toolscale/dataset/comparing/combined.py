"""Several datasets, each of another domain, side by side in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolscale.dataset.checking.changes import CHANGES
from toolscale.dataset.describing.environments import DECLARED, EXPORTED
from toolscale.dataset.describing.reading import complete_manifest, read_dataset
from toolscale.dataset.making.folder import CARD, read_contents, seal_dataset
from toolscale.dataset.making.staging import copy_dataset, copy_files, staged
from toolscale.dataset.manifest import read_manifest
from toolscale.errors import UsageError
from toolscale.records import FileEntry, Manifest


def combine(datasets: Sequence[Path], out: Path) -> Manifest:
    """Write `out`, whole or not at all: the files of all datasets as they are, one card, and one manifest that keeps
    what each said of itself.

    The order of the datasets does not matter; one alone stays what it is, byte for byte. Exports are of one dataset:
    those of several are left out. UsageError if two hold the same domain or were graded differently, DatasetError if
    one is not complete.
    """
    if not datasets:
        raise UsageError("no dataset was given to combine; give at least one folder")
    homes: dict[str, Path] = {}
    gradings: dict[str, Path] = {}
    manifests = {folder: complete_manifest(folder) for folder in dict.fromkeys(datasets)}
    if len(manifests) < len(datasets):
        raise UsageError("a dataset was given twice; give every folder once")
    for folder, manifest in manifests.items():
        for domain, part in manifest.domains.items():
            if domain in homes:
                raise UsageError(f"the domain {domain!r} is in {homes[domain]} and in {folder}; give only one of them")
            homes[domain] = folder
            gradings.setdefault(part.versions.get("grading", ""), folder)
    if len(gradings) > 1:
        told = ", ".join(f"{folder} under version {version or 'unknown'}" for version, folder in gradings.items())
        raise UsageError(f"the datasets were graded differently, {told}; make the older ones again")
    with staged(out, datasets) as stage:
        if len(datasets) == 1:
            copy_dataset(datasets[0], manifests[datasets[0]].files, stage)
            return manifests[datasets[0]]
        for folder, manifest in manifests.items():
            copy_files(folder, _plain(manifest), stage)
        rows = {domain: read_dataset(homes[domain], domain) for domain in sorted(homes)}
        return seal_dataset(stage, [contents for reading in rows.values() for contents in read_contents(reading)])


def copy_plain(dataset: Path, out: Path) -> Manifest:
    """Write a dataset into the empty folder `out` as it was before it was published: without exports, and without a
    word of other versions."""
    copy_files(dataset, _plain(read_manifest(dataset)), out)
    return seal_dataset(out, read_contents(read_dataset(dataset)))


def _plain(manifest: Manifest) -> list[FileEntry]:
    """Return the files of a dataset but those that are written anew when it is sealed, and exports."""
    written = (CARD, CHANGES, DECLARED)
    return [each for each in manifest.files if each.path not in written and not each.path.startswith(f"{EXPORTED}/")]
