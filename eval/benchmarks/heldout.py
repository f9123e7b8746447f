"""The test split of ToolScale datasets: intents that no training task has."""

from __future__ import annotations

from functools import partial

from eval.benchmark import About, Case, Opened
from eval.grading import grade_by_rules
from eval.ground import open_ground
from eval.records import Settings
from toolscale.errors import UsageError
from toolscale.pipeline.domains import open_domains
from toolscale.records import RolloutTask, Split, Task, is_evolved
from toolscale.rollout.offering import TOOLS
from toolscale.tasks.toward import length_of

ABOUT = About(
    title="Environment tasks of the test split: what was done is graded, and what the final message says",
    size="as many as the datasets have in their test splits",
    licence="that of the datasets",
    data="make dataset DOMAIN=finance, or toolscale pull; then --data FOLDER, once for each folder",
    judged_by="rules (docs/understand/grading.md)",
)


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the test splits. Where more tasks are wanted than there are, they come again with other offers."""
    if not settings.data:
        raise UsageError("heldout needs a dataset: --data var/datasets/finance (make dataset DOMAIN=finance makes it)")
    return open_split(ABOUT, "test", settings, tasks)


def open_split(about: About, split: Split, settings: Settings, tasks: int | None) -> Opened:
    """Open one split of the datasets. UsageError if it has no task."""
    found, domains = open_domains(settings.data, split, "--data")
    if settings.domain is not None:
        found = [task for task in found if task.domain == settings.domain]
    if not found:
        of = "" if settings.domain is None else f" of the domain {settings.domain}"
        raise UsageError(f"{', '.join(settings.data)}: no task{of} in the {split} split; make or name a larger dataset")
    ground = open_ground(settings, {TOOLS: 1.0}, found, domains)
    count = tasks or len(found)
    return Opened(
        about=about,
        cases=[_case(ground.source[number]) for number in range(count)],
        ground=ground,
        grade=partial(grade_by_rules, ground.bench),
        notes=(f"{count} offers of {len(found)} tasks",) if count > len(found) else (),
    )


def _case(task: RolloutTask) -> Case:
    found = task.task
    assert found is not None, "the mixture has environment tasks only"
    groups = {
        "domain": found.domain,
        "tier": found.difficulty.tier,
        "outcome": found.outcome,
        "evolution": _evolution(found),
        "golden calls": length_of(len(found.golden_calls)),
    }
    return Case(task, f"{found.domain}/{found.intent_id}", groups)


def _evolution(task: Task) -> str:
    if not is_evolved(task.evolutions):
        return "as written"
    return "turned" if task.evolutions[0].startswith("refuse ") else "evolved"
