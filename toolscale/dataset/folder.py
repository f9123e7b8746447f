"""The dataset folder: its layout, how it is written (manifest last) and how it is read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolscale.dataset.arrow import REJECT_SCHEMA, TASK_SCHEMA
from toolscale.dataset.card import render_card
from toolscale.dataset.columns import Row, reject_row, system_message, task_row, tools_json
from toolscale.dataset.figures import SPLITS, DatasetRows, Figures, count_figures
from toolscale.dataset.manifest import MANIFEST, Recipe, current_versions, read_manifest, render_manifest, world_folder
from toolscale.dataset.parquet import read_shard, write_shards
from toolscale.dataset.plots import plot_calls, plot_gates
from toolscale.dataset.selection import Selection
from toolscale.tasks.split import held_out_intents
from toolscale.dataset.storage import file_hash, remove_leftovers, write_file
from toolscale.dataset.world import read_rows, table_hashes
from toolscale.environment import Environment
from toolscale.records import FileEntry, Manifest
from toolscale.sandbox import Rows, state_hash

CARD = "README.md"


@dataclass(frozen=True)
class Reading:
    """One domain of a dataset folder, as its files say; nothing in it is verified."""

    folder: Path
    manifest: Manifest
    domain: str
    rows: DatasetRows

    @property
    def world(self) -> Path:
        """The folder of the environment."""
        return world_folder(self.folder, self.domain)


def write_dataset(folder: Path, environment: Environment, selection: Selection, recipe: Recipe, no_case: int) -> Manifest:
    """Write everything but the environment, which is there already, and the manifest last."""
    remove_leftovers(folder)
    rows = dataset_rows(environment, selection)
    for split, part in rows.splits.items():
        write_shards(folder / recipe.domain, split, part, TASK_SCHEMA)
    write_shards(folder / "rejects" / recipe.domain, "rejected", rows.rejects, REJECT_SCHEMA)
    figures = count_figures(rows, asked=recipe.tasks, over_quota=selection.over_quota, no_case=no_case)
    database = read_rows(environment, world_folder(folder, recipe.domain))
    manifest = Manifest(
        name=f"toolscale-{recipe.domain}", version=environment.spec.world.version, files=(), counts=figures.counts, gates=figures.gates,
        environment_hash={recipe.domain: environment.hash}, initial_state_hash={recipe.domain: state_hash(environment.schema, database)},
        tables={recipe.domain: table_hashes(database)}, seed=recipe.seed, tasks=recipe.tasks, audit=recipe.audit, inputs=recipe.inputs,
        versions=current_versions(),
    )  # fmt: skip
    for name, content in derived_files(environment, database, rows, figures, manifest).items():
        write_file(folder / name, content)
    manifest = manifest.model_copy(update={"files": tuple(list_files(folder))})
    write_file(folder / MANIFEST, render_manifest(manifest))
    return manifest


def dataset_rows(environment: Environment, selection: Selection) -> DatasetRows:
    """Return the rows of a selection, split by intent."""
    held_out = held_out_intents(environment.spec.intents.intents)
    system, tools = system_message(environment), tools_json(environment)
    splits: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for judged in selection.accepted:
        splits["test" if judged.candidate.intent_id in held_out else "train"].append(task_row(judged, system, tools))
    return DatasetRows(splits, [reject_row(judged, environment.hash) for judged in selection.rejected])


def derived_files(environment: Environment, database: Rows, rows: DatasetRows, figures: Figures, manifest: Manifest) -> dict[str, bytes]:
    """Return the files that follow from the others: the plots and the card."""
    initial_state = manifest.initial_state_hash[environment.domain]
    card = render_card(environment, database, rows, figures, seed=manifest.seed, initial_state=initial_state, versions=manifest.versions)
    return {"plots/gates.png": plot_gates(figures), "plots/calls.png": plot_calls(figures), CARD: card.encode()}


def list_files(folder: Path) -> Iterator[FileEntry]:
    """Yield an entry for every file of a dataset but the manifest, by path."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST):
        rows = pq.read_metadata(path).num_rows if path.suffix == ".parquet" else None
        yield FileEntry(path=path.relative_to(folder).as_posix(), sha256=file_hash(path), bytes=path.stat().st_size, rows=rows)


def read_dataset(folder: Path) -> Reading:
    """Read the rows of a dataset. DatasetError if it has no manifest or a shard cannot be read."""
    manifest = read_manifest(folder)
    domain = next(iter(manifest.environment_hash))
    return Reading(folder, manifest, domain, DatasetRows(
        {split: read_split(folder / domain, split, TASK_SCHEMA) for split in SPLITS},
        read_split(folder / "rejects" / domain, "rejected", REJECT_SCHEMA),
    ))  # fmt: skip


def read_split(folder: Path, split: str, schema: pa.Schema) -> list[Row]:
    """Return the rows of all shards of a split, in order."""
    return [row for path in sorted(folder.glob(f"{split}-*.parquet")) for row in read_shard(path, schema)]
