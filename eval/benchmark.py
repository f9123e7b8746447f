"""What every benchmark is: tasks with clusters, a bench that they run on, and something that grades."""

from __future__ import annotations

import pkgutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from eval import benchmarks
from eval.ground import Ground
from eval.records import Settings, Status, task_hash_of
from eval.worth import Worth
from toolscale.errors import UsageError
from toolscale.models.chat import ChatClient
from toolscale.records import Rollout, RolloutTask


@dataclass(frozen=True)
class About:
    """What the list says of a benchmark."""

    title: str
    size: str
    licence: str
    data: str
    """How to get the data."""
    judged_by: str
    gated: bool = False
    """Nothing of its questions may be shown or stored where others read it."""
    settings: tuple[str, ...] = ()
    """Its settings or sets, which are never mixed; the first is taken unless another is named."""


@dataclass(frozen=True)
class Case:
    """A task, and what it is counted under."""

    task: RolloutTask
    cluster: str
    groups: Mapping[str, str] = field(default_factory=dict)
    bearer: str | None = None
    """The expert that bears a model's name, by its name in the catalogue."""

    @cached_property
    def hash(self) -> str:
        """What identifies the task."""
        return task_hash_of(self.task)


@dataclass(frozen=True)
class Graded:
    """What grading found."""

    status: Status
    score: float | None
    finding: str
    judge: str
    confidence: float | None = None


Grade = Callable[[Case, Rollout], Awaitable[Graded]]


@dataclass(frozen=True)
class Program:
    """A program of others that plays a benchmark as a process of its own, and what it is told."""

    checkout: Path
    interpreter: Path | None
    """The Python that has it; None: that of the checkout's .venv."""
    environ: Mapping[str, str]
    """Names the models."""
    samples: int
    temperature: float
    at_once: int
    say: Callable[[str], None]


@dataclass(frozen=True)
class Opened:
    """A benchmark that is ready to run. Whoever opened it closes it."""

    about: About
    cases: Sequence[Case]
    ground: Ground
    grade: Grade
    notes: tuple[str, ...] = ()
    """What a reader must know of the tasks: how many rows were left out, that it is a part of the set."""
    with_judge: Callable[[ChatClient], Grade] | None = None
    """How it is graded where a model judges what rules cannot; None: rules decide everything."""

    @cached_property
    def worth(self) -> Worth:
        """What rollouts and choices are worth with these experts."""
        return Worth(self.ground.catalogue)

    async def close(self) -> None:
        """End processes and engines."""
        await self.ground.bench.close()
        self.ground.held.close()


def names() -> list[str]:
    """Return the names of the benchmarks: one for each file in eval/benchmarks."""
    return sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))


def about(name: str) -> About:
    """Return what the list says of a benchmark. UsageError if there is none of that name."""
    found: About = _module(name).ABOUT
    return found


def open_benchmark(name: str, settings: Settings, tasks: int | None = None) -> Opened:
    """Open a benchmark: `tasks` of its tasks, or all. UsageError or DatasetError, in one line, for what is missing."""
    module = _module(name)
    check_setting(name, settings)
    if not hasattr(module, "open_benchmark"):
        raise UsageError(f"{name} is not played here: `python -m eval run {name}` with the same --data grades it again")
    opened: Opened = module.open_benchmark(settings, tasks)
    return opened


def check_setting(name: str, settings: Settings) -> None:
    """Raise UsageError if the benchmark has no such setting."""
    module = _module(name)
    if settings.setting is not None and settings.setting not in module.ABOUT.settings:
        known = ", ".join(module.ABOUT.settings) or "none"
        raise UsageError(f"{name} has no setting {settings.setting!r}; it has: {known}")


def completed(name: str, settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Return the settings with what a benchmark takes from the environment where they do not say it. UsageError for
    names of models where the benchmark shows none."""
    complete = getattr(_module(name), "complete", None)
    if complete is None and (settings.own is not None or settings.placebo is not None):
        raise UsageError(f"--own and --placebo go with self_preference and not with {name}; leave them out")
    found: Settings = settings if complete is None else complete(settings, environ)
    return found


def recorded_by(name: str) -> Callable[[Settings, Path, int | None], list[Path]] | None:
    """Return what grades the trajectories that another program recorded, for a benchmark that only that can run."""
    found: Callable[[Settings, Path, int | None], list[Path]] | None = getattr(_module(name), "grade_recorded", None)
    return found


def played_by(name: str) -> Callable[[Settings, Path, int | None, Program], Awaitable[list[Path]]] | None:
    """Return what plays a benchmark in its own program, and then grades it; None for one that is played here."""
    found: Callable[[Settings, Path, int | None, Program], Awaitable[list[Path]]] | None
    found = getattr(_module(name), "play_elsewhere", None)
    return found


def title_of(name: str, about: About, settings: Settings) -> str:
    """Return the name with its setting, which is part of it."""
    setting = settings.setting or (about.settings[0] if about.settings else None)
    return name if setting is None else f"{name} ({setting})"


def _module(name: str) -> Any:
    if name not in names():
        raise UsageError(f"there is no benchmark {name!r}; there are: {', '.join(names())}")
    return import_module(f"eval.benchmarks.{name}")
