"""The same questions for users of different wishes: does the policy do what it is told to care for?

Each question comes with the same offer for every wish. What a choice is worth to a user is on one fixed scale, and so
is the best choice that was open; the difference is the regret. Why not the paper's ratio: docs/decisions.
"""

from __future__ import annotations

from functools import partial

from eval.benchmark import About, Case, Opened
from eval.grading import grade_by_rules
from eval.ground import open_ground
from eval.records import Settings
from toolscale.preferences.grammar import Phrasing, state_weights
from toolscale.questions.generate import TEMPLATES
from toolscale.records import Preference, RolloutTask

QUESTIONS = 500

WISHES: dict[str, dict[str, float]] = {
    "accurate": {"outcome": 1.0, "cost": 0.0, "latency": 0.0},
    "thrifty": {"outcome": 0.6, "cost": 1.0, "latency": 0.0},
    "hasty": {"outcome": 0.6, "cost": 0.0, "latency": 1.0},
    "balanced": {"outcome": 1.0, "cost": 0.4, "latency": 0.4},
}
"""Name -> what such a user cares for."""

PHRASING = Phrasing(1, (0, 0, 0), 1, 0, 1, 0)
"""All of them say it in the same form."""

ABOUT = About(
    title="Pairs of words and weights: four wishes for each question, with the same offer",
    size=f"{QUESTIONS * len(WISHES):,} tasks: {QUESTIONS} questions, {len(WISHES)} wishes",
    licence="ours",
    data="nothing to get",
    judged_by="rules; utility and regret by the weights",
)


def open_benchmark(settings: Settings, tasks: int | None) -> Opened:
    """Open the questions, each with every wish; tasks of one question are one cluster."""
    ground = open_ground(settings, dict.fromkeys(TEMPLATES, 1.0))
    count = QUESTIONS * len(WISHES) if tasks is None else tasks
    cases = [
        _case(ground.source[number], name) for number in range(-(-count // len(WISHES))) for name in WISHES
    ]  # rounded up: a question comes with all of its wishes
    return Opened(about=ABOUT, cases=cases, ground=ground, grade=partial(grade_by_rules, ground.bench))


def _case(task: RolloutTask, name: str) -> Case:
    weights = WISHES[name]
    wish = Preference(
        instruction=state_weights(weights, PHRASING),
        outcome=weights["outcome"],
        cost=weights["cost"],
        latency=weights["latency"],
    )
    changed = task.model_copy(update={"id": f"{task.id}-{name}", "preference": wish})
    return Case(changed, task.id, {"wish": name, "category": task.category})
