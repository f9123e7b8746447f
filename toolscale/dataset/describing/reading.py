"""A dataset folder, read back: its manifest, and the rows of the shards that the manifest names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import UNREADABLE, Row
from toolscale.dataset.describing.figures import SPLITS, DatasetRows, Figures, count_figures
from toolscale.dataset.manifest import read_manifest
from toolscale.dataset.parquet import read_batches, read_shard
from toolscale.dataset.storage import file_hash
from toolscale.errors import DatasetError, UsageError
from toolscale.records import Manifest, Part
from toolscale.text_files import printable


@dataclass(frozen=True)
class Reading:
    """A dataset folder, as its files say; nothing in it is verified."""

    folder: Path
    manifest: Manifest
    domains: Mapping[str, DatasetRows]
    """The rows of each domain that was read."""

    @cached_property
    def rows(self) -> DatasetRows:
        """The rows of all domains, one after the other."""
        parts = self.domains.values()
        splits = {split: [row for part in parts for row in part.splits[split]] for split in SPLITS}
        return DatasetRows(splits, [row for part in parts for row in part.rejects])

    @cached_property
    def figures(self) -> Figures:
        """What can be counted in all domains together."""
        return figures_of(self.rows, [self.manifest.domains[domain] for domain in self.domains])


def read_dataset(folder: Path, domain: str | None = None) -> Reading:
    """Read the rows of a dataset, or of one of its domains.

    DatasetError if it has no manifest or a shard cannot be read, UsageError if it has no such domain.
    """
    manifest = read_manifest(folder)
    if domain is not None and domain not in manifest.domains:
        raise UsageError(f"{folder} has no domain {domain!r}; it has {', '.join(manifest.domains)}")
    names = manifest.domains if domain is None else (domain,)
    return Reading(folder, manifest, {name: _read_domain(folder, manifest, name) for name in names})


def figures_of(rows: DatasetRows, parts: Sequence[Part]) -> Figures:
    """Count the rows of these parts."""

    def told(name: str) -> int:
        return sum(count for part in parts if isinstance(count := part.counts.get(name), int))

    try:
        return count_figures(
            rows,
            asked=sum(part.tasks for part in parts),
            over_quota=told("over_quota"),
            no_case=told("no_case"),
            drawn=told("drawn"),
        )
    except UNREADABLE as error:
        raise DatasetError(
            f"the rows cannot be counted: {type(error).__name__}: {printable(str(error))}; "
            "`toolscale verify` names them"
        ) from error


def complete_manifest(folder: Path) -> Manifest:
    """Return the manifest of a dataset whose files are all there, as it says. DatasetError names the first that is
    not."""
    manifest = read_manifest(folder)
    for entry in manifest.files:
        path = folder / entry.path
        if not path.is_file() or file_hash(path) != entry.sha256:
            problem = "has changed" if path.is_file() else "is missing"
            raise DatasetError(f"{folder} is not complete: {entry.path} {problem}; make the dataset, or pull it, again")
    return manifest


def _read_domain(folder: Path, manifest: Manifest, domain: str) -> DatasetRows:
    def read(start: str, schema: pa.Schema) -> list[Row]:
        return [row for path in shards(manifest, start) for row in read_shard(folder / path, schema)]

    splits = {split: read(f"{domain}/{split}-", TASK_SCHEMA) for split in SPLITS}
    return DatasetRows(splits, read(f"rejects/{domain}/rejected-", REJECT_SCHEMA))


def shards(manifest: Manifest, start: str) -> list[str]:
    """Return the shards that the manifest names and whose paths begin with `start`, sorted: what else lies in the
    folder is none of the dataset."""
    return sorted(
        entry.path for entry in manifest.files if entry.path.startswith(start) and entry.path.endswith(".parquet")
    )


class TaskRows:
    """The tasks of a dataset by id, each unpacked when it is asked for. DatasetError as `read_dataset` says."""

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        self._places = {
            id_: (batch, place)
            for domain in manifest.domains
            for split in SPLITS
            for path in shards(manifest, f"{domain}/{split}-")
            for batch in read_batches(folder / path, TASK_SCHEMA)
            for place, id_ in enumerate(batch.ids())
        }

    @property
    def ids(self) -> list[str]:
        """All ids, in the order of the rows."""
        return list(self._places)

    def __getitem__(self, id_: str) -> Row:
        batch, place = self._places[id_]
        return batch.rows(place, 1)[0]
