"""Versions of a dataset: which content is which version, and what a release of it holds."""

from __future__ import annotations

import shutil
from pathlib import Path

from toolscale.canonical import content_hash
from toolscale.dataset.folder import CARD
from toolscale.dataset.manifest import read_manifest
from toolscale.dataset.storage import storage_errors
from toolscale.records import Manifest

CHANGES = "changes.json"


def content_id(manifest: Manifest) -> str:
    """Return the identity of the data: equal for two datasets that differ only in what is told about them."""
    return content_hash(sorted([entry.path, entry.sha256] for entry in manifest.files if entry.path not in (CARD, CHANGES)))


def tag_of(manifest: Manifest) -> str:
    """Return the tag of a version, e.g. `v1.0.0-1a2b3c4d`."""
    return f"v{manifest.version}-{content_id(manifest)[:8]}"


def release(folder: Path, previous: Path | None, out: Path) -> Manifest:
    """Write into `out` the dataset as it is published after the version `previous` (None: as the first one), and return its manifest."""
    with storage_errors("write", out):
        shutil.copytree(folder, out, dirs_exist_ok=True)
    return read_manifest(out)
