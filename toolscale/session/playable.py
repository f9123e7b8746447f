"""A dataset whose tasks are worked on: its tasks by id, and the domains that they run in, each opened when it is first
needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import TaskRows
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import file_hash
from toolscale.dataset.world import open_world
from toolscale.environment.environment import Environment
from toolscale.errors import UsageError
from toolscale.records import Task
from toolscale.sandbox.base import Rows

if TYPE_CHECKING:
    from toolscale.rollout.domain import Domain


KEPT = 1_024
"""Tasks that are kept as they were read."""


class Playable:
    """The tasks of a dataset folder. Not for several threads. DatasetError if the folder is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows = TaskRows(folder)
        self.fingerprint = file_hash(folder / MANIFEST)
        """Which dataset it is: the SHA-256 of its manifest, which names every file by its hash."""
        self._kept: dict[str, Task] = {}
        self._worlds: dict[str, tuple[Environment, Rows]] = {}
        self._domains: dict[str, Domain] = {}

    @property
    def ids(self) -> list[str]:
        """The ids of all tasks, sorted: their order says nothing of what they are."""
        return sorted(self._rows.ids)

    def task(self, start: str) -> Task:
        """Return the task whose id is, or alone begins with, `start`. UsageError if there is none, or several."""
        if (kept := self._kept.get(start)) is not None:
            return kept
        found = [id_ for id_ in self._rows.ids if id_.startswith(start)] if start else []
        if len(found) != 1:
            problem = (
                f"{len(found)} tasks of {self.folder} have ids that begin"
                if found
                else f"no task of {self.folder} has an id that begins"
            )
            raise UsageError(f"{problem} with {start!r}; toolscale play {self.folder} --list prints all ids")
        task = self._kept[found[0]] = task_of(self._rows[found[0]])
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return task

    def world(self, domain: str) -> tuple[Environment, Rows]:
        """Return the environment of a domain and the rows of its database, as the folder holds them."""
        if domain not in self._worlds:
            self._worlds[domain] = open_world(self.folder, domain)
        return self._worlds[domain]

    def domain(self, task: Task) -> Domain:
        """Return the domain of a task, in which rollouts are graded."""
        if task.domain not in self._domains:
            from toolscale.rollout.domain import Domain  # to make calls takes no judge

            self._domains[task.domain] = Domain(*self.world(task.domain))
        return self._domains[task.domain]

    def close(self) -> None:
        """Free the engines."""
        for domain in self._domains.values():
            domain.close()
