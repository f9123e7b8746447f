"""Verify a dataset from its folder alone, and name every row and file that is not what it claims to be.

Nothing in the folder is believed. Its files are compared with the manifest, its database and environment with the
hashes in it; the golden calls of every row are replayed as they stand; every candidate, accepted or rejected, is
recorded and judged anew, and the outcome is compared with the whole row. The candidates themselves are drawn again from
the seed, and so are those that left no row: what was drawn, what became of each number, and which were chosen follow
from the seed alone. What follows from the rows (counts, card) is made again and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic import ValidationError

from toolscale.config import GRADING_VERSION, POPULATION_SEED
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.checking.changes import check_changes
from toolscale.dataset.checking.fixture_lines import check_fixtures
from toolscale.dataset.checking.given_lines import check_given
from toolscale.dataset.checking.integrity import Finding, check_files
from toolscale.dataset.checking.layout import check_layout
from toolscale.dataset.checking.recheck_rows import Chunk, Numbers, judge_numbers, recheck_chunk
from toolscale.dataset.checking.recheck_whole import check_whole
from toolscale.dataset.checking.rewriting import check_environment_bytes, check_manifest, check_parquet_bytes
from toolscale.dataset.checking.signing import check_signature
from toolscale.dataset.columns import UNREADABLE, Row
from toolscale.dataset.describing.card import Contents, render_card
from toolscale.dataset.describing.environments import DECLARED, render_environments
from toolscale.dataset.describing.figures import SPLITS, DatasetRows
from toolscale.dataset.describing.reading import figures_of
from toolscale.dataset.fixtures import read_fixtures
from toolscale.dataset.given import given_folder, read_given
from toolscale.dataset.making.folder import CARD, describe
from toolscale.dataset.making.judging import Place
from toolscale.dataset.making.outcomes import numbers_of, outcome_rows, outcomes_file, read_outcomes
from toolscale.dataset.making.selection import Outcome
from toolscale.dataset.making.workers import fitting_workers, map_in_workers
from toolscale.dataset.manifest import MANIFEST, read_manifest, world_folder
from toolscale.dataset.parquet import read_shard
from toolscale.dataset.storage import read_file
from toolscale.dataset.world import ADMISSION, DATABASE, TOOLS, read_rows, render_tools, table_hashes
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.errors import DatasetError, SandboxError, SpecError, StorageError, UsageError
from toolscale.records import Admission, Judged, Manifest, Part
from toolscale.sandbox.base import Rows
from toolscale.sandbox.state import state_hash
from toolscale.tasks.split import held_out_intents

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

CHUNK_ROWS = 32

Progress = Callable[[int, int], None]
"""Called with how many rows are done, and of how many."""

PlacedRows = list[tuple[str, Row]]


@dataclass(frozen=True)
class Verification:
    """What verifying found; a dataset holds if there are no findings."""

    tasks: int
    rejects: int
    others: int
    """Numbers that were drawn and left no row."""
    findings: tuple[Finding, ...]


@dataclass
class _Domain:
    """What could be read of one domain of a folder."""

    name: str
    part: Part
    splits: dict[str, PlacedRows]
    rejects: PlacedRows
    shards: dict[str, list[Row]]
    """Path of a Parquet file of tasks or rejects -> its rows."""
    outcomes: dict[int, Outcome]
    findings: list[Finding]

    @property
    def rows(self) -> DatasetRows:
        return DatasetRows(
            {split: [row for _, row in part] for split, part in self.splits.items()}, [row for _, row in self.rejects]
        )

    @property
    def tasks(self) -> PlacedRows:
        return [placed for part in self.splits.values() for placed in part]

    @property
    def placed(self) -> dict[int, tuple[str, Row]]:
        """Number -> the row of that candidate, and its place."""
        tasks = {int(row["provenance"]["candidate"]): (place, row) for place, row in self.tasks}
        return tasks | {int(row["number"]): (place, row) for place, row in self.rejects}

    @property
    def size(self) -> int:
        return len(self.tasks) + len(self.rejects) + len(self.without_row)

    @property
    def without_row(self) -> list[int]:
        """The numbers that were drawn and left no row."""
        return numbers_of(self.outcomes, ("over_quota", "not_counted", "no_case"))


def verify_dataset(
    folder: Path,
    *,
    workers: int | None = None,
    key: Ed25519PublicKey | None = None,
    progress: Progress = lambda done, total: None,
) -> Verification:
    """Judge the whole folder again, each of its domains. DatasetError if it has no manifest; everything else that is
    wrong is a finding.

    With a `key`, it is a finding as well if the manifest is not signed with it.
    """
    manifest = read_manifest(folder)
    findings = [*_check_grading(manifest), *check_signature(manifest, key)]
    findings += [*check_manifest(folder, manifest), *check_files(folder, manifest), *check_layout(folder, manifest)]
    domains = [_read_domain(folder, name, part) for name, part in manifest.domains.items()]
    total, before = sum(domain.size for domain in domains), 0
    contents: list[Contents] = []
    for domain in domains:
        findings += domain.findings
        done = partial(_tell, progress, before, total)
        contents += _check_domain(folder, domain, findings, workers, done)
        before += domain.size
    if not findings:
        findings += _check_derived(folder, contents, manifest)
        findings += check_changes(
            folder, manifest, {part.domain: {row["id"] for row in part.rows.tasks} for part in contents}
        )
    tasks, rejects = (
        sum(map(len, parts)) for parts in ([domain.tasks for domain in domains], [domain.rejects for domain in domains])
    )
    return Verification(tasks, rejects, total - tasks - rejects, tuple(dict.fromkeys(findings)))


def _check_grading(manifest: Manifest) -> Iterator[Finding]:
    """Say first what may be the reason for all that follows."""
    for domain, part in manifest.domains.items():
        if (graded := part.versions.get("grading")) != str(GRADING_VERSION):
            problem = f"{domain} was graded under version {graded or 'unknown'}, this is version {GRADING_VERSION}"
            meaning = "its rows are judged by today's rules, and those that hold under the older ones may fail here"
            yield Finding(
                MANIFEST, "schema", f"{problem}: {meaning}; verify it with the ToolScale that made it, or make it again"
            )


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _check_domain(
    folder: Path, domain: _Domain, findings: list[Finding], workers: int | None, done: Callable[[int], None]
) -> Iterator[Contents]:
    """Add what does not hold in one domain to `findings`. Yield its contents only if all of it holds: no figures are
    counted and no pictures drawn from anything else."""
    world, place = world_folder(folder, domain.name), f"environments/{domain.name}"
    given = given_folder(folder, domain.name)
    try:
        environment = load_environment(world)
        database = read_rows(environment, world)
    except SpecError as error:
        issues = error.issues
        findings += [Finding(f"{place}/{issue.file}", "lint", f"{issue.place}: {issue.problem}") for issue in issues]
        return
    except (DatasetError, UsageError) as error:
        findings.append(Finding(f"{place}/{DATABASE}", "integrity", str(error)))
        return
    except (StorageError, OSError, *UNREADABLE) as error:
        findings.append(Finding(place, "lint", f"it cannot be loaded: {type(error).__name__}: {str(error)[:300]}"))
        return
    before = len(findings)
    findings += _check_environment(environment, world, domain.part)
    findings += _check_database(environment, database, domain.part)
    judged: list[Judged] = []
    try:
        read_given(given, world)
    except (DatasetError, StorageError) as error:
        findings.append(Finding(place, "schema", str(error)))
        return
    try:
        findings += _check_rows(domain, environment, database, given, workers, done, judged)
    except SandboxError as error:  # rows that break the schema: no task can be executed on them
        findings.append(Finding(f"{place}/{DATABASE}", "integrity", str(error)))
    except UNREADABLE as error:  # no judge can be made of this environment
        said = f"it cannot be judged in: {type(error).__name__}: {str(error)[:300]}"
        findings.append(Finding(place, "integrity", said))
    findings += _check_order(environment, domain)
    if len(findings) == before and not domain.findings:
        findings += check_environment_bytes(environment, database, world)
        files = domain.shards | {outcomes_file(domain.name): outcome_rows(domain.outcomes.items())}
        findings += check_parquet_bytes(folder, domain.part, files)
        findings += check_whole(environment, domain.part, domain.placed, domain.outcomes, judged)
        findings += check_given(folder, environment, judged)
        findings += check_fixtures(folder, environment, database, domain.part.scale, domain.rows.tasks)
    if len(findings) == before and not domain.findings:
        figures, fixtures = figures_of(domain.rows, [domain.part]), read_fixtures(folder, domain.name)
        yield Contents(domain.part, environment, database, domain.rows, figures, read_given(given, world), fixtures)


def _read_domain(folder: Path, name: str, part: Part) -> _Domain:
    domain = _Domain(name, part, {}, [], {}, {}, [])

    def read(place: str, split: str, schema: pa.Schema) -> PlacedRows:
        rows: PlacedRows = []
        for path in sorted((folder / place).glob(f"{split}-*.parquet")):
            file = path.relative_to(folder).as_posix()
            try:
                domain.shards[file] = read_shard(path, schema)
                rows += [
                    (f"{file} row {number} ({row.get('id') or row['number']})", row)
                    for number, row in enumerate(domain.shards[file])
                ]
            except (DatasetError, StorageError) as error:
                domain.findings.append(Finding(file, "schema", str(error)))
        return rows

    domain.splits = {split: read(name, split, TASK_SCHEMA) for split in SPLITS}
    domain.rejects = read(f"rejects/{name}", "rejected", REJECT_SCHEMA)
    try:
        domain.outcomes = read_outcomes(folder, name)
    except (DatasetError, StorageError) as error:
        domain.findings.append(Finding(outcomes_file(name), "schema", str(error)))
    return domain


def _check_environment(environment: Environment, world: Path, part: Part) -> Iterator[Finding]:
    place = f"environments/{environment.domain}"
    try:
        admission = (
            Admission.model_validate_json(read_file(world / ADMISSION)) if (world / ADMISSION).is_file() else None
        )
    except ValidationError as error:
        admission = None
        yield Finding(f"{place}/{ADMISSION}", "schema", f"not an admission record: {error.errors()[0]['msg'].lower()}")
    claimed = part.environment_hash
    changed = sorted(
        name for name, value in environment.files.items() if admission and admission.files.get(name) != value
    )
    for name in changed:
        yield Finding(f"{place}/{name}", "schema", "the content is not what was admitted")
    if environment.hash != claimed and not changed:
        yield Finding(place, "schema", f"environment_hash is {environment.hash}; {MANIFEST} says {claimed}")
    if admission and admission.environment_hash != claimed:
        yield Finding(
            f"{place}/{ADMISSION}",
            "schema",
            f"environment_hash is {admission.environment_hash}; {MANIFEST} says {claimed}",
        )
    if admission and admission.initial_state_hash != _admitted_state(environment, part):
        yield Finding(f"{place}/{ADMISSION}", "schema", f"initial_state_hash is not the one that {MANIFEST} says")
    if not (world / TOOLS).is_file() or read_file(world / TOOLS).decode(errors="replace") != render_tools(environment):
        yield Finding(f"{place}/{TOOLS}", "schema", "the tools are not those of toolset.yaml")
    for name in ("license", "version"):
        if (said := getattr(environment.spec.world, name)) != getattr(part, name):
            yield Finding(
                f"{place}/environment.yaml", "schema", f"{name} is {said}; {MANIFEST} says {getattr(part, name)}"
            )


def _admitted_state(environment: Environment, part: Part) -> str:
    """Domains are admitted with as many rows as population.yaml says, at whatever scale a dataset is made."""
    if part.scale == 1:
        return part.initial_state_hash
    return state_hash(environment.schema, populate(environment, POPULATION_SEED))


def _check_database(environment: Environment, database: Rows, part: Part) -> Iterator[Finding]:
    place = f"environments/{environment.domain}/{DATABASE}"
    changed = [name for name, value in table_hashes(database).items() if part.tables.get(name) != value]
    for name in changed:
        yield Finding(place, "integrity", f"the rows of {name} are not those that the dataset was made from")
    if not changed and state_hash(environment.schema, database) != part.initial_state_hash:
        yield Finding(place, "integrity", f"the state hash is not the one that {MANIFEST} says")
    populated = table_hashes(populate(environment, POPULATION_SEED, part.scale))
    for name in sorted(
        name for name, value in table_hashes(database).items() if name not in changed and populated.get(name) != value
    ):
        yield Finding(place, "integrity", f"the rows of {name} are not those that population.yaml gives")


def _check_rows(
    domain: _Domain,
    environment: Environment,
    database: Rows,
    given: Path,
    workers: int | None,
    done: Callable[[int], None],
    judged: list[Judged],
) -> Iterator[Finding]:
    """Judge every row again, and every number that left none; add what was judged to `judged`. `given`: the folder of
    what models gave."""
    part = domain.part
    at = Place.of(environment, database, part.audit, part.turns, part.answer, given, part.scale)
    changed, workers = environment.hash != part.environment_hash, workers or fitting_workers(domain.size)
    cut = [
        rows[start : start + CHUNK_ROWS]
        for rows in (domain.tasks, domain.rejects)
        for start in range(0, len(rows), CHUNK_ROWS)
    ]
    chunks = [Chunk(at, tuple(rows), changed, part.seed) for rows in cut]
    count = 0
    for chunk, (found, again) in zip(chunks, map_in_workers(recheck_chunk, chunks, workers), strict=True):
        yield from found
        judged += again
        done(count := count + len(chunk.rows))
    left = domain.without_row
    rest = [
        Numbers(at, part.seed, tuple(left[start : start + CHUNK_ROWS])) for start in range(0, len(left), CHUNK_ROWS)
    ]
    for numbers, outcomes in zip(rest, map_in_workers(judge_numbers, rest, workers), strict=True):
        judged += [outcome for _, outcome in outcomes if outcome is not None]
        yield from _check_cases(domain, outcomes)
        done(count := count + len(numbers.numbers))


def _check_cases(domain: _Domain, outcomes: list[tuple[int, Judged | None]]) -> Iterator[Finding]:
    for number, judged in outcomes:
        if (judged is None) != (domain.outcomes[number] == "no_case"):
            found = "there is no case for it" if judged is None else "there is a case for it"
            yield Finding(
                outcomes_file(domain.name), "schema", f"{number} is {domain.outcomes[number]}; drawn again, {found}"
            )


def _check_order(environment: Environment, domain: _Domain) -> Iterator[Finding]:
    held_out = held_out_intents(environment.spec.intents.intents)
    for split, part in domain.splits.items():
        numbers = [row["provenance"]["candidate"] for _, row in part]
        if numbers != sorted(set(numbers)):
            yield Finding(
                f"{environment.domain}/{split}", "schema", "the rows are not in the order of their candidates' numbers"
            )
        for place, row in part:
            if (row["intent_id"] in held_out) != (split == "test"):
                yield Finding(place, "schema", f"the intent {row['intent_id']} does not belong to the split {split}")
            for line in row["evolutions"]:
                operator, *names = line.split(" ")
                if operator == "compose" and any((name in held_out) != (split == "test") for name in names[:1]):
                    yield Finding(
                        place, "schema", f"{line!r} takes an intent that does not belong to the split {split}"
                    )


def _check_derived(folder: Path, contents: Sequence[Contents], manifest: Manifest) -> Iterator[Finding]:
    for part in contents:
        if part.figures.counts != part.part.counts or part.figures.gates != part.part.gates:
            yield Finding(MANIFEST, "schema", f"counts or gates of {part.domain} are not those of the rows")
    anew = describe(manifest.domains.items(), manifest.files, manifest.release)
    if (anew.name, anew.version) != (manifest.name, manifest.version):
        yield Finding(
            MANIFEST,
            "schema",
            f"it says {manifest.name} {manifest.version}; its domains make {anew.name} {anew.version}",
        )
    declared = render_environments(folder, contents, manifest)
    files = {CARD: render_card(contents, manifest)} | ({DECLARED: declared} if declared is not None else {})
    for name, content in files.items():
        if not (folder / name).is_file() or read_file(folder / name) != content:
            yield Finding(name, "schema", "the file is not what follows from the rows")
