"""Versions of a dataset: what identifies one, and what changed since the one that was published before."""

from __future__ import annotations

import re
from pathlib import Path

from toolscale.config import GRADING_VERSION
from toolscale.dataset.checking.changes import CHANGES, compare_domains, render_changes, summary_of
from toolscale.dataset.comparing.regrade import regrade
from toolscale.dataset.describing.environments import DECLARED
from toolscale.dataset.describing.reading import Reading, complete_manifest, read_dataset
from toolscale.dataset.making.folder import CARD, describe, list_files, read_contents, seal_dataset
from toolscale.dataset.making.staging import copy_dataset, copy_files, staged
from toolscale.dataset.manifest import content_id, tag_of
from toolscale.dataset.storage import write_file
from toolscale.errors import DatasetError
from toolscale.records import ChangedDomain, Changes, Manifest

__all__ = ["content_id", "release", "tag_of"]


def release(folder: Path, previous: Path | None, out: Path) -> Manifest:
    """Write the dataset `folder` into `out`, whole or not at all, as the version that follows the published dataset
    `previous`.

    Card, manifest and `changes.json` then say what changed. If the data are those of `previous` and were graded alike,
    `out` says what `previous` said: nothing new was made. If `previous` was graded otherwise, its tasks are judged
    again. DatasetError if either is not complete, or if `folder` was graded by another version of ToolScale than this
    one.
    """
    manifest = complete_manifest(folder)
    graded = manifest.versions.get("grading")
    if graded != str(GRADING_VERSION):
        raise DatasetError(
            f"{folder} was graded under version {graded or 'unknown'}, this is version {GRADING_VERSION}; "
            "make the dataset again"
        )
    before = None if previous is None else complete_manifest(previous)
    with staged(out, [folder, *([previous] if previous else [])]) as stage:
        if previous is not None and before is not None and _says_all(before, manifest):
            copy_dataset(previous, before.files, stage)
            return before
        copy_files(folder, [entry for entry in manifest.files if entry.path not in (CARD, CHANGES, DECLARED)], stage)
        reading = read_dataset(folder)
        plain = describe(manifest.domains.items(), list_files(stage), None)
        changes = _changes(tag_of(plain), reading, None if previous is None else read_dataset(previous))
        write_file(stage / CHANGES, render_changes(changes))
        return seal_dataset(stage, read_contents(reading), summary_of(changes))


def _says_all(before: Manifest, now: Manifest) -> bool:
    """Whether the version before has the same data, graded alike, and says what had changed."""
    same = (content_id(before), before.versions.get("grading")) == (content_id(now), now.versions.get("grading"))
    return same and before.release is not None


def _changes(tag: str, now: Reading, before: Reading | None) -> Changes:
    graded, known = str(GRADING_VERSION), dict[str, ChangedDomain]()
    if before is None:
        return Changes(tag=tag, previous=None, grading=graded, previous_grading=None, domains=known)
    graded_before = before.manifest.versions.get("grading", "")
    # It is told in the card, whoever wrote that manifest.
    graded_before = graded_before if re.fullmatch("[0-9]{1,6}", graded_before) else "unknown"
    known = compare_domains(now, before)
    if graded_before != graded:
        known |= {
            domain: known[domain].model_copy(update={"regraded": regrade(before, domain)}) for domain in before.domains
        }
    return Changes(
        tag=tag, previous=tag_of(before.manifest), grading=graded, previous_grading=graded_before, domains=known
    )
