"""Verify a dataset from its folder alone, and name every row and file that is not what it claims to be.

Nothing in the folder is believed. Its files are compared with the manifest, its database and environment with the hashes in it; the golden calls of
every row are replayed as they stand; every candidate, accepted or rejected, is recorded and judged anew, and the outcome is compared with the whole
row; what follows from the rows (counts, card, plots) is made again and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from toolscale.canonical import content_hash
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row, candidate_of, task_of, verdict_of
from toolscale.dataset.figures import SPLITS, DatasetRows, count_figures
from toolscale.dataset.folder import derived_files
from toolscale.dataset.integrity import Finding, check_files
from toolscale.dataset.judging import Place
from toolscale.dataset.manifest import MANIFEST, current_versions, read_manifest, world_folder
from toolscale.dataset.parquet import read_shard
from toolscale.dataset.recheck_rows import Chunk, recheck_chunk
from toolscale.tasks.split import held_out_intents
from toolscale.dataset.storage import read_file
from toolscale.dataset.workers import fitting_workers, map_in_workers
from toolscale.dataset.world import ADMISSION, DATABASE, TOOLS, read_rows, render_tools, table_hashes
from toolscale.environment import Environment, load_environment
from toolscale.errors import DatasetError, SandboxError, SpecError, UsageError
from toolscale.records import Admission, Judged, Manifest
from toolscale.sandbox import Rows, state_hash
from toolscale.verify.novel import Novelty

CHUNK_ROWS = 32

Progress = Callable[[int, int], None]
"""Called with how many rows are done, and of how many."""

PlacedRows = list[tuple[str, Row]]


@dataclass(frozen=True)
class Verification:
    """What verifying found; a dataset holds if there are no findings."""

    tasks: int
    rejects: int
    findings: tuple[Finding, ...]


@dataclass
class _Contents:
    """What could be read of a folder."""

    splits: dict[str, PlacedRows]
    rejects: PlacedRows
    findings: list[Finding]

    @property
    def rows(self) -> DatasetRows:
        return DatasetRows({split: [row for _, row in part] for split, part in self.splits.items()}, [row for _, row in self.rejects])

    @property
    def tasks(self) -> PlacedRows:
        return [placed for part in self.splits.values() for placed in part]


def verify_dataset(folder: Path, *, workers: int | None = None, progress: Progress = lambda done, total: None) -> Verification:
    """Judge the whole folder again. DatasetError if it has no manifest; everything else that is wrong is a finding."""
    manifest = read_manifest(folder)
    domain = next(iter(manifest.environment_hash))
    findings = list(check_files(folder, manifest))
    contents = _read_contents(folder, domain)
    findings += contents.findings
    world = world_folder(folder, domain)
    try:
        environment = load_environment(world)
        database = read_rows(environment, world)
    except SpecError as error:
        findings += [Finding(f"environments/{domain}/{issue.file}", "lint", f"{issue.place}: {issue.problem}") for issue in error.issues]
    except (DatasetError, UsageError) as error:
        findings.append(Finding(f"environments/{domain}/{DATABASE}", "integrity", str(error)))
    else:
        findings += _check_environment(environment, world, manifest)
        findings += _check_database(environment, database, manifest)
        try:
            findings += _check_rows(contents, environment, database, manifest, workers, progress)
        except SandboxError as error:  # rows that break the schema: no task can be executed on them
            findings.append(Finding(f"environments/{domain}/{DATABASE}", "integrity", str(error)))
        if not findings:
            findings += _check_together(environment, contents)
            findings += _check_derived(folder, environment, database, contents.rows, manifest)
    return Verification(len(contents.tasks), len(contents.rejects), tuple(dict.fromkeys(findings)))


def _read_contents(folder: Path, domain: str) -> _Contents:
    contents = _Contents({}, [], [])

    def read(place: str, split: str, schema: pa.Schema) -> PlacedRows:
        rows: PlacedRows = []
        for path in sorted((folder / place).glob(f"{split}-*.parquet")):
            name = path.relative_to(folder).as_posix()
            try:
                rows += [(f"{name} row {number} ({row.get('id') or row['number']})", row) for number, row in enumerate(read_shard(path, schema))]
            except DatasetError as error:
                contents.findings.append(Finding(name, "schema", str(error)))
        return rows

    contents.splits = {split: read(domain, split, TASK_SCHEMA) for split in SPLITS}
    contents.rejects = read(f"rejects/{domain}", "rejected", REJECT_SCHEMA)
    return contents


def _check_environment(environment: Environment, world: Path, manifest: Manifest) -> Iterator[Finding]:
    place = f"environments/{environment.domain}"
    try:
        admission = Admission.model_validate_json(read_file(world / ADMISSION)) if (world / ADMISSION).is_file() else None
    except ValidationError as error:
        admission = None
        yield Finding(f"{place}/{ADMISSION}", "schema", f"not an admission record: {error.errors()[0]['msg'].lower()}")
    claimed = manifest.environment_hash[environment.domain]
    changed = sorted(name for name, value in environment.files.items() if admission and admission.files.get(name) != value)
    for name in changed:
        yield Finding(f"{place}/{name}", "schema", "the content is not what was admitted")
    if environment.hash != claimed and not changed:
        yield Finding(place, "schema", f"environment_hash is {environment.hash}; {MANIFEST} says {claimed}")
    if admission and admission.environment_hash != claimed:
        yield Finding(f"{place}/{ADMISSION}", "schema", f"environment_hash is {admission.environment_hash}; {MANIFEST} says {claimed}")
    if admission and admission.initial_state_hash != manifest.initial_state_hash[environment.domain]:
        yield Finding(f"{place}/{ADMISSION}", "schema", f"initial_state_hash is not the one that {MANIFEST} says")
    if not (world / TOOLS).is_file() or read_file(world / TOOLS).decode(errors="replace") != render_tools(environment):
        yield Finding(f"{place}/{TOOLS}", "schema", "the tools are not those of toolset.yaml")


def _check_database(environment: Environment, database: Rows, manifest: Manifest) -> Iterator[Finding]:
    place = f"environments/{environment.domain}/{DATABASE}"
    tables = manifest.tables.get(environment.domain, {})
    changed = [name for name, value in table_hashes(database).items() if tables.get(name) != value]
    for name in changed:
        yield Finding(place, "integrity", f"the rows of {name} are not those that the dataset was made from")
    if not changed and state_hash(environment.schema, database) != manifest.initial_state_hash[environment.domain]:
        yield Finding(place, "integrity", f"the state hash is not the one that {MANIFEST} says")


def _check_rows(
    contents: _Contents, environment: Environment, database: Rows, manifest: Manifest, workers: int | None, progress: Progress
) -> Iterator[Finding]:
    at = Place(environment.folder, content_hash([environment.files, table_hashes(database)]), manifest.audit)
    changed = environment.hash != manifest.environment_hash[environment.domain]
    parts = [part[start : start + CHUNK_ROWS] for part in (contents.tasks, contents.rejects) for start in range(0, len(part), CHUNK_ROWS)]
    total = len(contents.tasks) + len(contents.rejects)
    chunks = [Chunk(at, tuple(part), changed) for part in parts]
    done = 0
    for chunk, found in zip(chunks, map_in_workers(recheck_chunk, chunks, workers or fitting_workers(total)), strict=True):
        yield from found
        progress(done := done + len(chunk.rows), total)


def _check_together(environment: Environment, contents: _Contents) -> Iterator[Finding]:
    """What no row shows alone: the split, the order, and novelty."""
    held_out = held_out_intents(environment.spec.intents.intents)
    for split, part in contents.splits.items():
        numbers = [row["provenance"]["candidate"] for _, row in part]
        if numbers != sorted(set(numbers)):
            yield Finding(f"{environment.domain}/{split}", "schema", "the rows are not in the order of their candidates' numbers")
        for place, row in part:
            if (row["intent_id"] in held_out) != (split == "test"):
                yield Finding(place, "schema", f"the intent {row['intent_id']} does not belong to the split {split}")
            for line in row["evolutions"]:
                operator, *names = line.split()
                if operator == "compose" and any((name in held_out) != (split == "test") for name in names):
                    yield Finding(place, "schema", f"{line!r} takes an intent that does not belong to the split {split}")
    novelty = Novelty()
    for place, row in sorted(contents.tasks, key=lambda placed: int(placed[1]["provenance"]["candidate"])):
        result = novelty.check(Judged(candidate=candidate_of(row), verdict=verdict_of(row), task=task_of(row)))
        if result.status == "fail":
            yield Finding(place, "novel", result.finding)


def _check_derived(folder: Path, environment: Environment, database: Rows, rows: DatasetRows, manifest: Manifest) -> Iterator[Finding]:
    counts = manifest.counts
    figures = count_figures(rows, asked=manifest.tasks, over_quota=counts.get("over_quota", 0), no_case=counts.get("no_case", 0))
    if figures.counts != counts or figures.gates != manifest.gates:
        yield Finding(MANIFEST, "schema", "counts or gates are not those of the rows")
    drawn_alike = manifest.versions == current_versions()
    for name, content in derived_files(environment, database, rows, figures, manifest).items():
        if (drawn_alike or not name.endswith(".png")) and read_file(folder / name) != content:
            yield Finding(name, "schema", "the file is not what follows from the rows")
