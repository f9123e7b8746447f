"""What the tasks of a benchmark are offered: experts at their prices, basic tools, wishes and limits, by a training
configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from eval.records import Settings
from toolscale.basic_tools import open_basic_tools
from toolscale.basic_tools.settings import LocalSearchSettings, WebSearchSettings
from toolscale.models.catalogue import load_catalogue
from toolscale.models.experts import make_expert
from toolscale.records import Catalogue, Task
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.offering import TaskSource
from training.config import Config
from training.config_file import read_config
from training.data import measured, rollout_source, with_library

SEED = 1_000_003
"""Added to the seed of the configuration: none of these draws was trained on."""


@dataclass(frozen=True)
class Ground:
    """Tasks by number, and the bench that they run on. Whoever opened it closes `bench` and `held`."""

    source: TaskSource
    bench: Bench
    catalogue: Catalogue
    config: Config
    held: ExitStack


def open_ground(
    settings: Settings,
    mixture: Mapping[str, float],
    tasks: Sequence[Task] = (),
    domains: Mapping[str, Domain] | None = None,
    *,
    web: bool = False,
) -> Ground:
    """Open what the configuration offers to tasks of this mixture; `tasks` and `domains`: those of datasets, `web`:
    with the search on the web, if its key is set.

    Words are those of the test split, draws are others than in training, and shares are those of `measured`.
    SpecError or UsageError for what is missing or wrong.
    """
    config: Config = read_config(Path(settings.config))
    data = measured(
        config.data,
        seed=config.data.seed + settings.seed + SEED,
        wording="test",
        datasets=(),
        questions=(),
        limits=config.data.limits.model_copy(update={"turns": settings.turns}),
        catalogue=settings.catalogue or config.data.catalogue,
        price_lists=settings.price_lists or config.data.price_lists,
    )
    catalogue, worlds = load_catalogue(Path(data.catalogue)), domains or {}
    wanted = data.basic_tools
    if settings.corpus is not None:
        search = (wanted.local_search or LocalSearchSettings(corpus="")).model_copy(update={"corpus": settings.corpus})
        wanted = wanted.model_copy(update={"local_search": search})
    if web:
        wanted = wanted.model_copy(update={"web_search": wanted.web_search or WebSearchSettings()})
    with ExitStack() as opening:
        basic = opening.enter_context(open_basic_tools(with_library(wanted, opening)))
        source = rollout_source(
            data, catalogue, mixture, tuple(basic), tasks, lambda task: worlds[task.domain].input_tokens(task)
        )
        experts = {spec.name: make_expert(spec, data.pace) for spec in catalogue.experts}
        held = opening.pop_all()
    return Ground(source, Bench(experts, basic, worlds), catalogue, config, held)
