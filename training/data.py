"""From the configuration to tasks by number and the bench that they run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from toolscale.basic_tools import open_basic_tools
from toolscale.dataset.columns import task_of
from toolscale.dataset.folder import read_dataset
from toolscale.dataset.manifest import world_folder
from toolscale.dataset.world import read_rows
from toolscale.environment import load_environment
from toolscale.errors import DatasetError, UsageError
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.experts import make_expert
from toolscale.preferences.drawing import Split
from toolscale.questions import question
from toolscale.records import ExpertSpec, Question, RolloutTask, Task
from toolscale.rollout import Bench, Domain, Offering, TaskSource
from training.config import DataSettings


class Tasks(Protocol):
    """Tasks by number: the same number gives the same task, so that the position in the data is one whole number."""

    def __getitem__(self, number: int) -> RolloutTask:
        """Task `number`."""
        ...


@dataclass(frozen=True)
class Work:
    """What a policy works on. Whoever opened it closes `bench` and `held`."""

    tasks: Tasks
    bench: Bench
    experts: Mapping[str, ExpertSpec]
    """The catalogue by name."""
    held: ExitStack = field(default_factory=ExitStack)
    """Processes of basic tools."""


def open_work(settings: DataSettings, split: Split = "train") -> Work:
    """Open what the configuration names. Raises SpecError, UsageError or DatasetError for what is missing or wrong.

    `split`: of the environment tasks; words of questions and wishes are those of `settings.wording`.
    """
    catalogue = load_catalogue(Path(settings.catalogue))
    tasks, domains = open_domains(settings.datasets, split)
    held = ExitStack()
    basic = held.enter_context(open_basic_tools(settings.basic_tools))
    offering = Offering(
        catalogue=catalogue,
        price_lists=load_price_lists(Path(settings.price_lists)) if settings.price_lists is not None else (),
        fewest=settings.fewest, most=settings.most, style=settings.style, basic_tools=tuple(basic),
        basic_share=settings.basic_share, denied_share=settings.denied_share, wish_share=settings.wish_share, limits=settings.limits,
    )  # fmt: skip
    source = TaskSource(offering, settings.wording, settings.seed, settings.mixture, draw_question, tasks)
    experts = {spec.name: make_expert(spec, settings.pace) for spec in catalogue.experts}
    return Work(source, Bench(experts, basic, domains), {spec.name: spec for spec in catalogue.experts}, held)


def draw_question(category: str, split: Split, seed: int, number: int) -> Question:
    """Question `number` of one category."""
    return question(number, seed, split, (category,))


def open_domains(datasets: Sequence[str], split: Split = "train") -> tuple[list[Task], dict[str, Domain]]:
    """The tasks of a split, and the domains that they run in, from the environments that the folders hold."""
    tasks: list[Task] = []
    domains: dict[str, Domain] = {}
    for name in datasets:
        folder = Path(name)
        reading = read_dataset(folder)
        for domain, rows in reading.domains.items():
            if domain in domains:
                raise UsageError(f"data.datasets: {folder} has the domain {domain!r} of another folder again; name each domain once")
            world = world_folder(folder, domain)
            if not world.is_dir():
                raise DatasetError(f"data.datasets: {folder} has tasks of {domain!r} without their environment ({world}); make or pull it whole")
            environment = load_environment(world)
            domains[domain] = Domain(environment, read_rows(environment, world))
            tasks += [task_of(row) for row in rows.splits[split]]
    return tasks, domains
