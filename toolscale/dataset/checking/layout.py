"""Whether the manifest lists what a dataset consists of and nothing besides, and whether what it says of each file is
so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import pyarrow as pa

from toolscale.config import EXPORTS
from toolscale.dataset.checking.changes import CHANGES
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.describing.environments import DECLARED, EXPORTED, frameworks_of
from toolscale.dataset.describing.figures import SPLITS
from toolscale.dataset.fixtures import fixtures_file
from toolscale.dataset.given import given_files
from toolscale.dataset.making.folder import CARD
from toolscale.dataset.making.outcomes import outcomes_file
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.parquet import count_rows
from toolscale.dataset.world import ADMISSION, DATABASE, TOOLS
from toolscale.environment.registry import FILES, OPTIONAL, POLICY_TEXT
from toolscale.patterns import regex
from toolscale.records import FileEntry, Manifest

WORLD_FILES = (*(name for name in FILES if name not in OPTIONAL), POLICY_TEXT, DATABASE, TOOLS, ADMISSION)


def check_layout(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    """Yield listed files that are no part of a dataset, files that a dataset must have but that are not listed, and
    false sizes and row counts."""
    listed = [entry.path for entry in manifest.files]
    for path, count in Counter(listed).items():
        if count > 1:
            yield Finding(path, "integrity", f"{MANIFEST} lists the file {count} times")
    wanted = {path for domain in manifest.domains for path in _files_of(domain, listed)} | {CARD}
    known = wanted | {path for domain in manifest.domains for path in given_files(domain)}
    known |= {fixtures_file(domain) for domain in manifest.domains}
    known |= {f"environments/{domain}/{name}" for domain in manifest.domains for name in OPTIONAL}
    known |= {CHANGES} if manifest.release is not None else set()
    known |= {path for path in listed if path.startswith(tuple(f"{EXPORTED}/{name}/" for name in EXPORTS))}
    wanted |= {DECLARED} if frameworks_of(manifest) else set()
    known |= wanted
    for path in sorted(set(listed) - known):
        yield Finding(
            path, "integrity", "the file is no part of a dataset: nothing of ToolScale writes or reads it here"
        )
    for path in sorted(wanted - set(listed)):
        yield Finding(path, "integrity", f"every dataset has this file; {MANIFEST} does not list it")
    homes = {parent.as_posix() for path in wanted | (known & set(listed)) for parent in PurePosixPath(path).parents}
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        if place.is_symlink():
            yield Finding(name, "integrity", "it is a link; a dataset holds regular files")
        elif place.is_dir() and name not in homes:
            yield Finding(name, "integrity", "the folder belongs to nothing")
        elif not place.is_file() and not place.is_dir():
            yield Finding(name, "integrity", "it is neither a file nor a folder")
    for entry in manifest.files:
        if (folder / entry.path).is_file():
            yield from (
                Finding(entry.path, "integrity", problem) for problem in _false_claims(folder / entry.path, entry)
            )


def _files_of(domain: str, listed: Iterable[str]) -> Iterator[str]:
    """Yield the paths that one domain has. There are as many shards of a split as shards of its name are listed, at
    least one."""
    for place, split in [*((domain, split) for split in SPLITS), (f"rejects/{domain}", "rejected")]:
        pattern = regex(rf"{re.escape(place)}/{split}-[0-9]{{5}}-of-[0-9]{{5}}\.parquet")
        count = max(1, len({path for path in listed if pattern.fullmatch(path)}))
        yield from (f"{place}/{split}-{number:05d}-of-{count:05d}.parquet" for number in range(count))
    yield outcomes_file(domain)
    yield from (f"environments/{domain}/{name}" for name in WORLD_FILES)


def _false_claims(path: Path, entry: FileEntry) -> Iterator[str]:
    if (size := path.stat().st_size) != entry.bytes:
        yield f"the file has {size} bytes; {MANIFEST} says {entry.bytes}"
    rows = None
    if path.suffix == ".parquet":
        try:
            rows = count_rows(path)
        except (pa.ArrowException, OSError):
            return  # whoever reads the rows says that there are none to be read
    if rows != entry.rows:
        yield f"the file has {'no' if rows is None else rows} rows; {MANIFEST} says {entry.rows}"
