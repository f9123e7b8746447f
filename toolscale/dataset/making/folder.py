"""The dataset folder: its layout, how it is written (manifest last) and how it is read back.

    finance/train-*.parquet  finance/test-*.parquet     the tasks of a domain; each domain has its own folder
    rejects/finance/rejected-*.parquet                  its rejected candidates
    given/finance/                                      what models gave, if they were asked: see given.py
    fixtures/finance.jsonl                              of some tasks, solutions of known score: see fixtures.py
    environments/finance/                               its spec files, tools.json, database.sqlite
    README.md                                           the card, of all domains
    exports/harbor/                                     in a published version: exports that were asked for
    environment.yaml                                    what the Hub reads of them
    changes.json                                        in a published version: what changed since the one before
    manifest.json                                       every file with its hash, and what each domain is

A folder without its manifest is no dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from toolscale.config import MOST_NAMED
from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.columns import Row, reject_row, task_row, tools_json
from toolscale.dataset.describing.card import Contents, render_card
from toolscale.dataset.describing.environments import DECLARED, render_environments
from toolscale.dataset.describing.figures import SPLITS, DatasetRows, count_figures
from toolscale.dataset.describing.reading import Reading, figures_of
from toolscale.dataset.fixtures import fixtures_file, read_fixtures, render_fixtures, sample
from toolscale.dataset.given import given_folder, read_given
from toolscale.dataset.making.fixtures import make_fixtures
from toolscale.dataset.making.outcomes import count_outcomes, write_outcomes
from toolscale.dataset.making.selection import Selection
from toolscale.dataset.manifest import MANIFEST, Recipe, current_versions, render_manifest, world_folder
from toolscale.dataset.parquet import count_rows, write_shards
from toolscale.dataset.storage import file_hash, remove_leftovers, write_file
from toolscale.dataset.world import read_rows, table_hashes
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.prompt import system_message
from toolscale.records import FileEntry, Manifest, Part, Release
from toolscale.sandbox.state import state_hash
from toolscale.tasks.split import held_out_intents

CARD = "README.md"


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
        turns=recipe.turns,
        answer=recipe.answer,
        scale=recipe.scale,
        max_candidates=recipe.max_candidates,
        toward=None if recipe.toward is None else dict(recipe.toward),
        inputs=recipe.inputs,
        environment_hash=environment.hash,
        initial_state_hash=state_hash(environment.schema, database),
        tables=table_hashes(database),
        versions=current_versions(),
        counts=figures.counts,
        gates=figures.gates,
    )
    given = read_given(given_folder(folder, recipe.domain), world_folder(folder, recipe.domain))
    by_id = {row["id"]: row for row in rows.tasks}
    fixtures = make_fixtures(environment, database, [by_id[task] for task in sample(by_id, recipe.fixtures)])
    if fixtures:
        write_file(folder / fixtures_file(recipe.domain), render_fixtures(fixtures))
    contents = Contents(made, environment, database, rows, figures, given, tuple(fixtures))
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
    """Write the card of all that lies in the folder, `environment.yaml` if there are exports for it, and the manifest
    last."""
    manifest = describe([(part.domain, part.part) for part in contents], list_files(folder), release)
    if (declared := render_environments(folder, contents, manifest)) is not None:
        write_file(folder / DECLARED, declared)
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


def list_files(folder: Path) -> Iterator[FileEntry]:
    """Yield an entry for every file of a dataset but the manifest, by path."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST):
        rows = count_rows(path) if path.suffix == ".parquet" else None
        yield FileEntry(
            path=path.relative_to(folder).as_posix(), sha256=file_hash(path), bytes=path.stat().st_size, rows=rows
        )


def read_contents(reading: Reading) -> list[Contents]:
    """Return all that the card says of each domain of a dataset. SpecError or DatasetError if an environment in the
    folder cannot be read."""
    found = []
    for domain, rows in reading.domains.items():
        world, part = world_folder(reading.folder, domain), reading.manifest.domains[domain]
        environment = load_environment(world)
        given, counted = read_given(given_folder(reading.folder, domain), world), figures_of(rows, [part])
        fixtures = read_fixtures(reading.folder, domain)
        found.append(Contents(part, environment, read_rows(environment, world), rows, counted, given, fixtures))
    return found
