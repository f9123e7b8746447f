"""Measure a dataset: every domain, all of them together, and files from outside beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolscale.config import ALL
from toolscale.dataset.columns import UNREADABLE
from toolscale.dataset.describing.coverage import cover, join_coverage
from toolscale.dataset.describing.embedding import load_embedding, missing_packages
from toolscale.dataset.describing.measured import Measured, measure_outside, measure_tasks
from toolscale.dataset.describing.outside import Outside
from toolscale.dataset.describing.reading import Reading
from toolscale.dataset.manifest import world_folder
from toolscale.environment.environment import load_environment
from toolscale.errors import DatasetError
from toolscale.text_files import printable


@dataclass(frozen=True)
class Measurement:
    """What was found."""

    whole: Measured
    """The only domain, or all of them together."""
    parts: tuple[Measured, ...]
    """Each domain."""
    outside: tuple[Measured, ...]
    """Each file from outside."""
    embedding: str | None
    """Which one was used."""
    left_out: str | None
    """Which figures are left out and why, in one line."""


Progress = Callable[[int, int], None]


def measure_dataset(
    reading: Reading, outsides: Sequence[Outside] = (), progress: Progress = lambda done, total: None
) -> Measurement:
    """Return the figures of a dataset. DatasetError if there is no task, or rows cannot be measured; SpecError if an
    environment in the folder cannot be read. `progress` is told of tasks, and of those that there are."""
    if not reading.rows.tasks:
        raise DatasetError(f"{reading.folder} has no tasks, so there is nothing to measure; make it with more")
    embedding = load_embedding()
    environments = {domain: load_environment(world_folder(reading.folder, domain)) for domain in reading.domains}
    try:
        coverage = {domain: cover(environments[domain], rows.tasks) for domain, rows in reading.domains.items()}
        parts, done = tuple[Measured, ...](), 0
        total = len(reading.rows.tasks) * (1 if len(reading.domains) == 1 else 2)
        progress(done, total)
        for domain, rows in reading.domains.items():
            parts += (measure_tasks(domain, rows.tasks, coverage[domain], embedding, outsides),)
            done += len(rows.tasks)
            progress(done, total)
        whole = parts[0]
        if len(parts) > 1:
            whole = measure_tasks(ALL, reading.rows.tasks, join_coverage(coverage), embedding, outsides)
    except UNREADABLE as error:
        what = f"{type(error).__name__}: {printable(str(error))}"
        raise DatasetError(f"the rows cannot be measured: {what}; `toolscale verify` names them") from error
    return Measurement(
        whole,
        parts,
        tuple(measure_outside(outside, embedding) for outside in outsides),
        None if embedding is None else embedding.name,
        missing_packages(),
    )
