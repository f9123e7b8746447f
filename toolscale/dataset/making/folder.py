"""The dataset folder: its layout, how it is written (manifest last) and how it is read back.

    finance/train-*.parquet  finance/test-*.parquet     the tasks of a domain; each domain has its own folder
    rejects/finance/rejected-*.parquet                  its rejected candidates
    given/finance/                                      what models gave, if they were asked: see given.py
    environments/finance/                               its spec files, tools.json, database.sqlite
    plots/finance/*.png                                 the pictures of the card
    README.md                                           the card, of all domains
    changes.json                                        in a published version: what changed since the one before
    manifest.json                                       every file with its hash, and what each domain is

A folder without its manifest is no dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from toolscale.config import MOST_NAMED
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import UNREADABLE, Row, reject_row, task_row, tools_json
from toolscale.dataset.describing.card import Contents, render_card
from toolscale.dataset.describing.figures import SPLITS, DatasetRows, Figures, count_figures
from toolscale.dataset.describing.plots import plot_calls, plot_gates
from toolscale.dataset.given import given_folder, read_given
from toolscale.dataset.making.outcomes import count_outcomes, write_outcomes
from toolscale.dataset.making.selection import Selection
from toolscale.dataset.manifest import MANIFEST, Recipe, current_versions, read_manifest, render_manifest, world_folder
from toolscale.dataset.parquet import count_rows, read_shard, write_shards
from toolscale.dataset.storage import file_hash, remove_leftovers, write_file
from toolscale.dataset.world import read_rows, table_hashes
from toolscale.environment import Environment, load_environment, system_message
from toolscale.errors import DatasetError, UsageError
from toolscale.records import FileEntry, Manifest, Part, Release
from toolscale.sandbox import state_hash
from toolscale.tasks.split import held_out_intents
from toolscale.text_files import printable

CARD = "README.md"


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


def write_dataset(folder: Path, environment: Environment, selection: Selection, recipe: Recipe) -> Manifest:
    """Write everything but the environment, which is there already, and the manifest last."""
    remove_leftovers(folder)
    rows = dataset_rows(environment, selection, recipe.scale)
    for split, part in rows.splits.items():
        write_shards(folder / recipe.domain, split, part, TASK_SCHEMA)
    write_shards(folder / "rejects" / recipe.domain, "rejected", rows.rejects, REJECT_SCHEMA)
    write_outcomes(folder, recipe.domain, selection)
    figures = count_figures(rows, asked=recipe.tasks, **count_outcomes(dict(selection.outcomes)))
    database = read_rows(environment, world_folder(folder, recipe.domain))
    world = environment.spec.world
    made = Part(
        version=world.version,
        license=world.license,
        tasks=recipe.tasks,
        seed=recipe.seed,
        evolved=recipe.evolved,
        audit=recipe.audit,
        interaction=recipe.interaction,
        scale=recipe.scale,
        inputs=recipe.inputs,
        environment_hash=environment.hash,
        initial_state_hash=state_hash(environment.schema, database),
        tables=table_hashes(database),
        versions=current_versions(),
        counts=figures.counts,
        gates=figures.gates,
    )
    given = read_given(given_folder(folder, recipe.domain), world_folder(folder, recipe.domain))
    contents = Contents(made, environment, database, rows, figures, given)
    for name, content in draw_plots(contents).items():
        write_file(folder / name, content)
    return seal_dataset(folder, [contents])


def dataset_rows(environment: Environment, selection: Selection, scale: int = 1) -> DatasetRows:
    """Return the rows of a selection, split by intent."""
    held_out = held_out_intents(environment.spec.intents.intents)
    system, tools = system_message(environment), tools_json(environment)
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for judged in selection.accepted:
        splits["test" if judged.candidate.intent_id in held_out else "train"].append(task_row(judged, system, tools))
    return DatasetRows(splits, [reject_row(judged, environment.hash, scale) for judged in selection.rejected])


def seal_dataset(folder: Path, contents: Sequence[Contents], release: Release | None = None) -> Manifest:
    """Write the card of all that lies in the folder, and the manifest last."""
    manifest = describe([(part.domain, part.part) for part in contents], list_files(folder), release)
    write_file(folder / CARD, render_card(contents, manifest))
    manifest = manifest.model_copy(update={"files": tuple(list_files(folder))})
    write_file(folder / MANIFEST, render_manifest(manifest))
    return manifest


def describe(parts: Iterable[tuple[str, Part]], files: Iterable[FileEntry], release: Release | None) -> Manifest:
    """Return the manifest of a folder with these parts."""
    domains = dict(sorted(parts))
    version = max(
        (part.version for part in domains.values()), key=lambda text: [int(number) for number in text.split(".")]
    )
    named = "-".join(domains) if len(domains) <= MOST_NAMED else f"{len(domains)}-domains"
    return Manifest(name=f"toolscale-{named}", version=version, domains=domains, release=release, files=tuple(files))


def draw_plots(contents: Contents) -> dict[str, bytes]:
    """Return the pictures of one domain."""
    place = f"plots/{contents.domain}"
    return {f"{place}/gates.png": plot_gates(contents.figures), f"{place}/calls.png": plot_calls(contents.figures)}


def list_files(folder: Path) -> Iterator[FileEntry]:
    """Yield an entry for every file of a dataset but the manifest, by path."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST):
        rows = count_rows(path) if path.suffix == ".parquet" else None
        yield FileEntry(
            path=path.relative_to(folder).as_posix(), sha256=file_hash(path), bytes=path.stat().st_size, rows=rows
        )


def read_dataset(folder: Path, domain: str | None = None) -> Reading:
    """Read the rows of a dataset, or of one of its domains.

    DatasetError if it has no manifest or a shard cannot be read, UsageError if it has no such domain.
    """
    manifest = read_manifest(folder)
    if domain is not None and domain not in manifest.domains:
        raise UsageError(f"{folder} has no domain {domain!r}; it has {', '.join(manifest.domains)}")
    names = manifest.domains if domain is None else (domain,)
    return Reading(folder, manifest, {name: _read_domain(folder, manifest, name) for name in names})


def read_contents(reading: Reading) -> list[Contents]:
    """Return all that the card says of each domain of a dataset. SpecError or DatasetError if an environment in the
    folder cannot be read."""
    found = []
    for domain, rows in reading.domains.items():
        world, part = world_folder(reading.folder, domain), reading.manifest.domains[domain]
        environment = load_environment(world)
        given, counted = read_given(given_folder(reading.folder, domain), world), figures_of(rows, [part])
        found.append(Contents(part, environment, read_rows(environment, world), rows, counted, given))
    return found


def figures_of(rows: DatasetRows, parts: Sequence[Part]) -> Figures:
    """Count the rows of these parts."""

    def told(name: str) -> int:
        return sum(count for part in parts if isinstance(count := part.counts.get(name), int))

    try:
        return count_figures(
            rows, asked=sum(part.tasks for part in parts), over_quota=told("over_quota"), no_case=told("no_case")
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
    """Read the shards that the manifest names: what else lies in the folder is none of the dataset."""

    def read(start: str, schema: pa.Schema) -> list[Row]:
        paths = sorted(
            entry.path for entry in manifest.files if entry.path.startswith(start) and entry.path.endswith(".parquet")
        )
        return [row for path in paths for row in read_shard(folder / path, schema)]

    splits = {split: read(f"{domain}/{split}-", TASK_SCHEMA) for split in SPLITS}
    return DatasetRows(splits, read(f"rejects/{domain}/rejected-", REJECT_SCHEMA))
