"""From the configuration to tasks by number and the bench that they run on."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from zlib import crc32

from toolscale.basic_tools import open_basic_tools
from toolscale.basic_tools.settings import BasicToolSettings
from toolscale.errors import UsageError
from toolscale.models.catalogue import load_catalogue, load_price_lists
from toolscale.models.experts import make_expert
from toolscale.models.invented import invented_experts
from toolscale.models.judging import JudgeSettings
from toolscale.pipeline.domains import open_domains
from toolscale.preferences.drawing import preference
from toolscale.preferences.worded import WordedPreferences
from toolscale.questions.corpus import write_corpus
from toolscale.questions.generate import two_step_question
from toolscale.questions.parquet import load_questions
from toolscale.records import Catalogue, ExpertSpec, Preference, Question, RolloutTask, Split, Task
from toolscale.rollout.bench import Bench
from toolscale.rollout.grading import check_gradable
from toolscale.rollout.offering import (
    ALIASES,
    TOOLS,
    DrawPreference,
    DrawQuestion,
    InputTokens,
    Offering,
    TaskSource,
    generated,
)
from training.config import DataSettings

LIBRARY = "library"
"""As `data.basic_tools.local_search.corpus`: the invented library that look-up questions are about."""

_EVEN = {"invented_share": 0.0, "generous_share": 0.0, "own_words_share": 0.0}
"""Settings that only training has, as they are where something is measured: no expert is invented, no user comes
oftener than by chance, or in other words than those that are asked for."""


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
    """The catalogue, and what was invented after it, by name."""
    held: ExitStack = field(default_factory=ExitStack)
    """Processes of basic tools."""


def measured(settings: DataSettings, **changes: Any) -> DataSettings:
    """The settings with which something is measured: without what only training has, with the shares of
    `settings.measured`, and with these changes."""
    shares = settings.measured.model_dump(exclude_none=True)
    return settings.model_copy(update={**_EVEN, **shares, **changes})


def open_work(settings: DataSettings, split: Split = "train", judge: JudgeSettings | None = None) -> Work:
    """Open what the configuration names. Raises SpecError, UsageError or DatasetError for what is missing or wrong.

    `split`: of the environment tasks; words of questions and wishes are those of `settings.wording`. `judge`: who will
    read final messages; without one there may be no task that ends in one.
    """
    catalogue = load_catalogue(Path(settings.catalogue))
    tasks, domains = open_domains(settings.datasets, split)
    check_gradable(tasks if settings.mixture.get(TOOLS) else (), judge, "data.datasets")
    held = ExitStack()
    basic = held.enter_context(open_basic_tools(with_library(settings.basic_tools, held)))
    source = rollout_source(
        settings, catalogue, settings.mixture, tuple(basic), tasks, lambda task: domains[task.domain].input_tokens(task)
    )
    offering = source.offering
    specs = {
        spec.name: spec for each in (offering.catalogue, offering.invented) if each is not None for spec in each.experts
    }
    return Work(
        source,
        Bench({name: make_expert(spec, settings.pace) for name, spec in specs.items()}, basic, domains),
        specs,
        held,
    )


def rollout_source(
    settings: DataSettings,
    catalogue: Catalogue,
    mixture: Mapping[str, float],
    basic: Sequence[str] | None = None,
    tasks: Sequence[Task] = (),
    input_tokens: InputTokens | None = None,
) -> TaskSource:
    """Return the tasks by number. `basic`: names of the basic tools that are there; none: those that are configured."""
    prices = load_price_lists(Path(settings.price_lists)) if settings.price_lists is not None else ()
    configured = [
        name for name in ("python", "local_search", "web_search") if getattr(settings.basic_tools, name) is not None
    ]
    invented = (
        invented_experts(catalogue, prices, settings.invented, settings.seed) if settings.invented_share else None
    )
    offering = Offering(
        catalogue=catalogue,
        price_lists=prices,
        invented=invented,
        invented_share=settings.invented_share,
        fewest=settings.fewest,
        most=settings.most,
        style=settings.style,
        basic_tools=tuple(configured if basic is None else basic),
        basic_share=settings.basic_share,
        denied_share=settings.denied_share,
        wish_share=settings.wish_share,
        limits=settings.limits,
        draw_preference=preference_source(settings),
    )
    return TaskSource(
        offering, settings.wording, settings.seed, mixture, question_source(settings), tasks, input_tokens
    )


def with_library(settings: BasicToolSettings, held: ExitStack) -> BasicToolSettings:
    """Where the corpus is LIBRARY, write the passages that look-up questions are about into a folder that goes with
    `held`."""
    search = settings.local_search
    if search is None or search.corpus != LIBRARY:
        return settings
    folder = Path(held.enter_context(TemporaryDirectory(prefix="library-")))
    write_corpus(folder)
    return settings.model_copy(update={"local_search": search.model_copy(update={"corpus": str(folder)})})


def preference_source(settings: DataSettings) -> DrawPreference:
    """Preferences of the grammar, or of the file that is named, or of users who say nothing. Raises SpecError for a
    file that is wrong."""
    if not settings.wishes:
        return unspoken
    if settings.preferences is not None:
        return WordedPreferences.read(Path(settings.preferences), ALIASES).draw
    return partial(
        preference,
        words=settings.wish_words,
        generous_share=settings.generous_share,
        own_words_share=settings.own_words_share,
    )


def unspoken(*_: object) -> Preference:
    """The preference of a user who says nothing of it: a right answer, whatever it costs."""
    return Preference(instruction="")


def question_source(settings: DataSettings) -> DrawQuestion:
    """Generated questions, and those of the Parquet files in their share. One in five of a file is held out, by a
    checksum of its text.

    Raises DatasetError for a file that cannot be read, UsageError if none of its questions can be checked.
    """
    made = partial(_with_two_steps, settings.two_step_share) if settings.two_step_share else generated
    if not settings.questions:
        return made
    found, counts = load_questions([Path(name) for name in settings.questions], settings.seed)
    if not found:
        raise UsageError(
            f"data.questions: none of {counts.rows} rows can be checked; "
            "name files with short answers, or remove the key"
        )
    logging.getLogger("training").info("data.questions: %s", counts)
    pools: dict[tuple[str, Split], list[Question]] = {}
    for each in found:
        pools.setdefault((each.category, "train" if crc32(each.text.encode()) % 5 else "test"), []).append(each)

    def draw(category: str, split: Split, seed: int, number: int) -> Question:
        rng = random.Random(f"loaded:{category}:{split}:{seed}:{number}")
        pool = pools.get((category, split))
        return (
            rng.choice(pool)
            if pool and rng.random() < settings.questions_share
            else made(category, split, seed, number)
        )

    return draw


def _with_two_steps(share: float, category: str, split: Split, seed: int, number: int) -> Question:
    """A generated question; of those to look up, this share are of two steps."""
    goes_on = category == "lookup" and random.Random(f"two steps:{split}:{seed}:{number}").random() < share
    return two_step_question(number, seed, split) if goes_on else generated(category, split, seed, number)
