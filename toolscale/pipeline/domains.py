"""The environment tasks of datasets, with the domains that they run in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.world import open_world
from toolscale.errors import DatasetError, UsageError
from toolscale.records import Split, Task
from toolscale.rollout.domain import Domain


def open_domains(
    datasets: Sequence[str],
    split: Split = "train",
    named_by: str = "data.datasets",
) -> tuple[list[Task], dict[str, Domain]]:
    """Return the tasks of a split, and the domains that they run in, from the environments that the folders hold.
    Whoever opened them closes them.

    `named_by`: the key or the option in which the folders stand. DatasetError for a folder that is not whole,
    UsageError for a domain in two.
    """
    tasks: list[Task] = []
    domains: dict[str, Domain] = {}
    for name in datasets:
        folder = Path(name)
        reading = read_dataset(folder)
        for domain, rows in reading.domains.items():
            if domain in domains:
                raise UsageError(
                    f"{named_by}: {folder} has the domain {domain!r} of another folder again; name each domain once"
                )
            try:
                domains[domain] = Domain(*open_world(folder, domain))
            except DatasetError as error:
                raise DatasetError(f"{named_by}: {error}") from error
            tasks += [task_of(row) for row in rows.splits[split]]
    return tasks, domains
