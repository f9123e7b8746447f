"""From the configuration to tasks by number and the bench that they run on."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol
from zlib import crc32

from toolscale.basic_tools import open_basic_tools
from toolscale.basic_tools.settings import BasicToolSettings
from toolscale.dataset.columns import task_of
from toolscale.dataset.folder import read_dataset
from toolscale.dataset.manifest import world_folder
from toolscale.dataset.world import read_rows
from toolscale.environment import load_environment
from toolscale.errors import DatasetError, UsageError
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.experts import make_expert
from toolscale.preferences.drawing import Split
from toolscale.questions import write_corpus
from toolscale.questions.parquet import load_questions
from toolscale.records import Catalogue, ExpertSpec, Question, RolloutTask, Task
from toolscale.rollout import Bench, Domain, Offering, TaskSource
from toolscale.rollout.offering import DrawQuestion, generated
from training.config import DataSettings

LIBRARY = "library"
"""As `data.basic_tools.local_search.corpus`: the invented library that look-up questions are about."""


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
    basic = held.enter_context(open_basic_tools(with_library(settings.basic_tools, held)))
    source = rollout_source(settings, catalogue, settings.mixture, tuple(basic), tasks)
    experts = {spec.name: make_expert(spec, settings.pace) for spec in catalogue.experts}
    return Work(source, Bench(experts, basic, domains), {spec.name: spec for spec in catalogue.experts}, held)


def rollout_source(
    settings: DataSettings, catalogue: Catalogue, mixture: Mapping[str, float], basic: Sequence[str] | None = None, tasks: Sequence[Task] = ()
) -> TaskSource:
    """Return the tasks by number. `basic`: names of the basic tools that are there; none: those that are configured."""
    prices = load_price_lists(Path(settings.price_lists)) if settings.price_lists is not None else ()
    configured = [name for name in ("python", "local_search", "web_search") if getattr(settings.basic_tools, name) is not None]
    offering = Offering(
        catalogue=catalogue, price_lists=prices, fewest=settings.fewest, most=settings.most, style=settings.style,
        basic_tools=tuple(configured if basic is None else basic), basic_share=settings.basic_share, denied_share=settings.denied_share,
        wish_share=settings.wish_share, limits=settings.limits,
    )  # fmt: skip
    return TaskSource(offering, settings.wording, settings.seed, mixture, question_source(settings), tasks)


def with_library(settings: BasicToolSettings, held: ExitStack) -> BasicToolSettings:
    """Where the corpus is LIBRARY, write the passages that look-up questions are about into a folder that goes with `held`."""
    search = settings.local_search
    if search is None or search.corpus != LIBRARY:
        return settings
    folder = Path(held.enter_context(TemporaryDirectory(prefix="library-")))
    write_corpus(folder)
    return settings.model_copy(update={"local_search": search.model_copy(update={"corpus": str(folder)})})


def question_source(settings: DataSettings) -> DrawQuestion:
    """Generated questions, and those of the Parquet files in their share. One in five of a file is held out, by a checksum of its text.

    Raises DatasetError for a file that cannot be read, UsageError if none of its questions can be checked.
    """
    if not settings.questions:
        return generated
    found, counts = load_questions([Path(name) for name in settings.questions], settings.seed)
    if not found:
        raise UsageError(f"data.questions: none of {counts.rows} rows can be checked; name files with short answers, or remove the key")
    logging.getLogger("training").info("data.questions: %s", counts)
    pools: dict[tuple[str, Split], list[Question]] = {}
    for each in found:
        pools.setdefault((each.category, "train" if crc32(each.text.encode()) % 5 else "test"), []).append(each)

    def draw(category: str, split: Split, seed: int, number: int) -> Question:
        rng = random.Random(f"loaded:{category}:{split}:{seed}:{number}")
        pool = pools.get((category, split))
        return rng.choice(pool) if pool and rng.random() < settings.questions_share else generated(category, split, seed, number)

    return draw


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
