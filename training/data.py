"""From the configuration to tasks by number and the bench that they run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from toolscale.dataset.columns import task_of
from toolscale.dataset.folder import read_dataset
from toolscale.dataset.world import read_rows
from toolscale.environment import load_environment
from toolscale.errors import DatasetError, UsageError
from toolscale.models import Expert, SimulatedExpert, load_catalogue, load_price_lists
from toolscale.records import Catalogue, ExpertSpec, RolloutTask, Task
from toolscale.rollout import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.offering import Offering, TaskSource
from training.config import DataSettings


class Tasks(Protocol):
    """Tasks by number: the same number gives the same task, so that the position in the data is one whole number."""

    def __getitem__(self, number: int) -> RolloutTask:
        """Task `number`."""
        ...


@dataclass(frozen=True)
class Work:
    """What a policy works on. `bench` is closed by whoever opened the work."""

    tasks: Tasks
    bench: Bench
    experts: Mapping[str, ExpertSpec]
    """The catalogue by name."""


def open_work(settings: DataSettings) -> Work:
    """Open what the configuration names. Raises SpecError, UsageError or DatasetError for what is missing or wrong."""
    catalogue = load_catalogue(Path(settings.catalogue))
    tasks, domains = _environment_tasks(settings)
    offering = Offering(
        catalogue=catalogue,
        price_lists=load_price_lists(Path(settings.price_lists)) if settings.price_lists is not None else (),
        fewest=settings.fewest, most=settings.most, style=settings.style, basic_tools=settings.basic_tools,
        basic_share=settings.basic_share, denied_share=settings.denied_share, limits=settings.limits,
    )  # fmt: skip
    source = TaskSource(offering, "train", settings.seed, settings.mixture, draw_question, tasks)
    return Work(source, Bench(_experts(catalogue, settings.pace), _basic(settings), domains), {spec.name: spec for spec in catalogue.experts})
