"""Whether the files of a dataset folder are those that its manifest lists, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import file_hash
from toolscale.records import Manifest
from toolscale.text_files import visible


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not hold: where, which gate says so, and what it found."""

    place: str
    gate: str
    finding: str

    def __post_init__(self) -> None:
        # They may name files and cells of a hostile folder; one finding is one line.
        for name in ("place", "gate", "finding"):
            object.__setattr__(self, name, visible(getattr(self, name)).replace("\n", "\\n").replace("\t", "\\t"))

    def __str__(self) -> str:
        return f"{self.place}: {self.gate}: {self.finding}"


def check_files(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    """Yield what is missing, what is there besides, and what has another content than the manifest says."""
    claimed = {entry.path: entry for entry in manifest.files}
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {MANIFEST}
    for path in sorted(claimed.keys() - present):
        yield Finding(path, "integrity", f"the file is in {MANIFEST} but not in the folder")
    for path in sorted(present - claimed.keys()):
        yield Finding(path, "integrity", f"the file is not in {MANIFEST}")
    for path in sorted(claimed.keys() & present):
        if (found := file_hash(folder / path)) != claimed[path].sha256:
            yield Finding(path, "integrity", f"sha256 is {found}; {MANIFEST} says {claimed[path].sha256}")
