"""Make a dataset again with what models and people gave to it since."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from toolscale.config import FIXTURE_TASKS
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import Reading, complete_manifest, read_dataset
from toolscale.dataset.fixtures import read_fixtures, sampled
from toolscale.dataset.given import Given, given_folder, read_given, write_given
from toolscale.dataset.manifest import Wanted, world_folder
from toolscale.dataset.storage import put_back_replaced
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.registry import discover, is_shipped
from toolscale.errors import UsageError
from toolscale.limits import RunLimits
from toolscale.pipeline.stages import Progress, synthesize
from toolscale.records import Manifest, Part, Task
from toolscale.temporary_folders import temporary_folder


@dataclass(frozen=True)
class Made:
    """A dataset of one domain that can be made again."""

    folder: Path
    domain: str
    part: Part
    home: Path
    """The folder of its environment: the one that authors edit where it is the same, as decisions are kept there."""

    @cached_property
    def environment(self) -> Environment:
        """As the dataset holds it."""
        return load_environment(world_folder(self.folder, self.domain))

    @cached_property
    def reading(self) -> Reading:
        """Its rows."""
        return read_dataset(self.folder)

    @cached_property
    def tasks(self) -> list[Task]:
        """Its tasks, in the order of their candidates."""
        found = [task_of(row) for row in self.reading.rows.tasks]
        return sorted(found, key=lambda task: task.candidate.number)

    @cached_property
    def given(self) -> Given:
        """What was given to it so far."""
        return read_given(given_folder(self.folder, self.domain), self.home)

    @property
    def wanted(self) -> Wanted:
        """What it was asked to be. The manifest does not say of how many tasks fixtures were asked for: as many as have
        some, or more where all have some."""
        some, tasks = len(sampled(read_fixtures(self.folder, self.domain))), len(self.tasks)
        fixtures = some if some < tasks else FIXTURE_TASKS if tasks <= FIXTURE_TASKS else None
        asked = {name: getattr(self.part, name) for name in Wanted.__annotations__ if name != "fixtures"}
        return cast("Wanted", asked | {"fixtures": fixtures})


def open_made(dataset: Path) -> Made:
    """Open a dataset that is whole and has one domain. DatasetError or UsageError if it is not."""
    put_back_replaced(dataset, "work")  # it is what is made again: nobody else could
    manifest = complete_manifest(dataset)
    if len(manifest.domains) != 1:
        raise UsageError(f"{dataset} has {len(manifest.domains)} domains; name the dataset of one of them")
    ((domain, part),) = manifest.domains.items()
    world = world_folder(dataset, domain)
    home = discover().get(domain)
    if home is None or is_shipped(home) or load_environment(home).hash != part.environment_hash:
        home = world
    return Made(dataset, domain, part, home)


def remake(made: Made, given: Given, out: Path, progress: Progress = lambda act, done, total: None) -> Manifest:
    """Make a dataset again, in the same place or in another one, with these lines."""
    part = made.part
    with temporary_folder("lines") as lines:
        write_given(lines, given)
        return synthesize(
            made.home,
            out,
            tasks=part.tasks,
            limits=RunLimits(max_candidates=part.max_candidates),
            given=lines,
            progress=progress,
            **made.wanted,
        )
