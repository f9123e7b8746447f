"""`manifest.json`, written last: its existence means that the folder is complete."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from toolscale.records.base import Record


class FileEntry(Record):
    """One file of the folder."""

    path: str
    sha256: str
    bytes: int
    rows: int | None = None


class Manifest(Record):
    """A dataset folder."""

    name: str
    version: str
    files: tuple[FileEntry, ...]
    counts: dict[str, Any]
    """Accepted, rejected, per split, per intent."""
    gates: dict[str, dict[str, int]]
    """Gate -> status -> count, over all candidates."""
    environment_hash: dict[str, str]
    """Domain -> hash."""
    initial_state_hash: dict[str, str]
    tables: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Domain -> table -> content hash of its rows, so that a change can be named."""
    seed: int
    tasks: int = 0
    """How many tasks were asked for."""
    audit: Literal["sample", "all"] = "sample"
    """Which candidates the second engine replayed."""
    inputs: str = ""
    """Hash of all that the folder was made from: environment, seed, settings, code. Equal inputs, equal bytes."""
    versions: dict[str, str]
