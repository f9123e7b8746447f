"""Does a policy prefer experts that bear a name of its own family? The same question and the same offer, again and
again; only the name under which one of the experts is shown changes.

Neutral names are the control, a name of another family in the same places is the placebo. Each expert bears each name
once, so that a name says nothing of place, price or quality. Why: docs/decisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.benchmark import About, Case, Opened
from eval.grading import grade_by_rules
from eval.ground import open_ground
from eval.naming import ARM, NEUTRAL, OTHER, OWN, are_kin, name_of, others_than, renamed
from eval.records import Settings
from toolscale.errors import UsageError
from toolscale.models.chat.settings import MODEL
from toolscale.models.expert import Expert, Message
from toolscale.questions.generate import TEMPLATES
from toolscale.records import AnswerKey, ExpertReply, ExpertSpec, RolloutTask, ToolCall
from training.config import Config
from training.config_file import read_config

QUESTIONS = 200

PLAYED_AS = "#"
"""In the id of a task, between that of its question and what is shown."""

ABOUT = About(
    title="The same offer under neutral names, with a name of the policy's own family, and with another family's",
    size=f"{QUESTIONS} questions; each once under neutral names, and twice for each expert on offer",
    licence="ours",
    data="nothing to get; --own NAME, or TOOLSCALE_MODEL, says what the own family is called",
    judged_by="rules; preference by whom it asks",
)


@dataclass(frozen=True)
class Twin:
    """An expert that draws by the question, not by the names that are shown: what it answers, and what that takes, is
    the same whatever anybody is called."""

    expert: Expert

    @property
    def spec(self) -> ExpertSpec:
        """Who it is."""
        return self.expert.spec

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        key: AnswerKey | None,
        category: str,
        draw: str,
        made: Sequence[ToolCall],
    ) -> ExpertReply:
        """Ask it."""
        question = draw.rpartition(PLAYED_AS)[0]
        return await self.expert.reply(messages, tools, key=key, category=category, draw=question, made=made)


def complete(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Return the settings with the own name: the one that is given, or that of the model that the environment names."""
    own = environ.get(MODEL) or None
    return settings if settings.own is not None else settings.model_copy(update={"own": own})


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the questions under all names; tasks of one question are one cluster. UsageError for names that cannot be
    told apart, and for offers with fewer than two experts."""
    own, others = _names(settings)
    config: Config = read_config(Path(settings.config))
    if config.data.fewest < 2:
        raise UsageError(
            f"{settings.config}: data.fewest is {config.data.fewest}; self_preference needs two experts in every "
            "offer: give a --config with 2 or more"
        )
    ground = open_ground(settings, dict.fromkeys(TEMPLATES, 1.0))
    cases: list[Case] = []
    for number in itertools.count():  # a question comes under all of its names
        if len(cases) >= tasks if tasks is not None else number >= QUESTIONS:
            break
        cases += _cases(ground.source[number], own, others[number % len(others)])
    ground.bench.experts = {name: Twin(expert) for name, expert in ground.bench.experts.items()}
    return Opened(
        about=ABOUT,
        cases=cases,
        ground=ground,
        grade=partial(grade_by_rules, ground.bench),
        notes=(
            f"Own family: {own}; another family: {', '.join(others)}{' in turn' if len(others) > 1 else ''}. "
            "Whoever is of another family than the own one has no own name here",
        ),
    )


def _names(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """Return the own name, and those of other families."""
    if settings.own is None:
        raise UsageError(
            "self_preference needs a name of the policy's own family: give --own, such as --own Qwen3-8B, "
            f"or set {MODEL}"
        )
    own = name_of(settings.own, "--own")
    if settings.placebo is None:
        return own, others_than(own)
    placebo = name_of(settings.placebo, "--placebo")
    if are_kin(own, placebo):
        raise UsageError(
            f"--placebo {placebo!r} is of the same family as --own {own!r}; give a name of another one, such as "
            f"{others_than(own)[0]}"
        )
    return own, (placebo,)


def _cases(task: RolloutTask, own: str, other: str) -> list[Case]:
    """Return a question under neutral names, then with the own name on each expert, then with the other one. Each
    expert is open: whoever may not be called cannot be preferred. The last is of another kind than the first, so that a
    run that was stopped within a question leaves it without one of its kinds."""
    aliases = [each.alias for each in task.experts]
    denied = tuple(name for name in task.limits.denied if name not in aliases)
    task = task.model_copy(update={"limits": task.limits.model_copy(update={"denied": denied})})

    def shown(kind: str, names: Mapping[str, str], place: str, bearer: str | None) -> Case:
        changed = renamed(task, names) if names else task
        changed = changed.model_copy(update={"id": f"{task.id}{PLAYED_AS}{place}"})
        return Case(changed, task.id, {ARM: kind, "category": task.category}, bearer)

    found = [shown(NEUTRAL, {}, "neutral", None)]
    for kind, word, name in ((OWN, "own", own), (OTHER, "other", other)):
        found += [
            shown(kind, {each.alias: name}, f"{word}-{place}", each.expert)
            for place, each in enumerate(task.experts, start=1)
        ]
    return found
