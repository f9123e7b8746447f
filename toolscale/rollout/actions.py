"""The ways in which a task can be worked on, and what each of them gives, exactly.

The best trade-off between right answers, cost and latency is computable where experts are simulated: sizes of answers
have 16 equally likely values, and right answers come as often as the catalogue says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from toolscale.basic_tools.settings import LocalSearchSettings, PythonSettings
from toolscale.errors import UsageError
from toolscale.models.pricing import (
    DRAWS,
    approximate_input_tokens,
    cost_usd,
    factors,
    latency_s,
    output_tokens,
    pool_references,
)
from toolscale.records import Catalogue, ExpertSpec, OfferedExpert, Price, Question, RolloutTask

BASIC_FIGURES = {
    "python": (PythonSettings().price_per_call or 0.0, PythonSettings().latency_per_call or 0.0),
    "local_search": (
        LocalSearchSettings(corpus="").price_per_call,
        LocalSearchSettings(corpus="").latency_per_call or 0.0,
    ),
}
"""Basic tool -> dollars and seconds of one call, as they are charged by default."""

Way = Literal["python", "local_search", "search_then_python"]
WAYS: dict[str, tuple[str, ...]] = {
    "python": ("python",),
    "local_search": ("local_search",),
    "search_then_python": ("local_search", "python"),
}
"""Kind of action -> the basic tools that are called, one after the other. After the last one the answer is known."""


@dataclass(frozen=True, slots=True)
class Action:
    """One way: let an expert answer, run the snippet of a question, search for it, compute with what is found, or give
    up."""

    kind: Literal["expert", "give_up"] | Way
    alias: str | None = None
    """Which expert; none for the other kinds."""


class Outcome(NamedTuple):
    """One thing that can come of an action."""

    probability: float
    right: bool
    cost_usd: float
    latency_s: float
    used: tuple[str, ...] = ()
    """Aliases and basic tools that were called."""


GIVE_UP = Action("give_up")


def actions(task: RolloutTask) -> list[Action]:
    """Return the actions that are open in a task: what is offered, fits and is not denied. Experts in the order in
    which they are offered."""
    denied, question = set(task.limits.denied), task.question
    found = [Action("expert", offered.alias) for offered in task.experts if not denied & {offered.alias, "call_expert"}]
    if question is not None:
        tools = set(task.basic_tools) - denied
        found += [Action(kind) for kind in ways(question) if tools.issuperset(WAYS[kind])]
    return found


def ways(question: Question) -> list[Way]:
    """Return how a question is answered with basic tools: some of WAYS."""
    if question.fact is not None:
        return ["search_then_python"]
    found: list[Way] = []
    if question.snippet:
        found.append("python")
    if question.lookup:
        found.append("local_search")
    return found


def turns_of(kind: str) -> int:
    """Return how many messages of the orchestrator an action takes: one for each tool, and the last one."""
    return 1 + len(WAYS.get(kind, ()))


def used_by(action: Action) -> tuple[str, ...]:
    """Return the alias or the basic tools that an action calls."""
    return WAYS.get(action.kind, ()) if action.alias is None else (action.alias,)


def offered_specs(task: RolloutTask, catalogue: Catalogue) -> dict[str, tuple[OfferedExpert, ExpertSpec]]:
    """Return alias -> the expert as it is offered, and as the catalogue has it. UsageError if the catalogue does not
    have it."""
    specs = {spec.name: spec for spec in catalogue.experts}
    for offered in task.experts:
        if offered.expert not in specs:
            raise UsageError(
                f"task {task.id} offers the expert {offered.expert!r}; "
                f"the catalogue {catalogue.title!r} does not have it"
            )
    return {offered.alias: (offered, specs[offered.expert]) for offered in task.experts}


def references(task: RolloutTask, catalogue: Catalogue) -> tuple[float, float]:
    """Return (cost_ref in dollars, latency_ref in seconds): what the dearest and the slowest offered expert are
    expected to take for the whole task.

    A question takes one answer, an environment task one for each golden call and one more. Each answer counts with the
    category and the prices of the task, and with its `input_tokens`.
    """
    pool = offered_specs(task, catalogue).values()
    found = pool_references(
        ((spec, price_at(offered)) for offered, spec in pool), task.category, answers_of(task), task.input_tokens
    )
    return found.cost_usd, found.latency_s


def answers_of(task: RolloutTask) -> int:
    """Return how many answers of one expert a task takes that is done as the golden trajectory does it."""
    return 1 if task.task is None else len(task.task.golden_calls) + 1


def price_at(offered: OfferedExpert) -> Price:
    """Return the price of an expert in its task."""
    return Price(input=offered.input_price, output=offered.output_price)


def expected_figures(task: RolloutTask, action: Action, catalogue: Catalogue) -> list[Outcome]:
    """Return all that can come of an action in a question task, with probabilities that add up to 1; messages of the
    orchestrator cost nothing. UsageError for environment tasks, whose length depends on what the expert does.
    """
    if task.question is None:
        raise UsageError(f"task {task.id} is an environment task; only what comes of a question is known beforehand")
    if action.kind == "give_up":
        return [Outcome(1.0, False, 0.0, 0.0)]
    if action.kind != "expert":
        charged = [BASIC_FIGURES[tool] for tool in WAYS[action.kind]]
        cost, seconds = (math.fsum(figures[part] for figures in charged) for part in (0, 1))
        return [Outcome(1.0, True, cost, seconds, used_by(action))]
    offered, spec = offered_specs(task, catalogue)[str(action.alias)]
    price, skill = price_at(offered), spec.skills[task.category]
    asked = approximate_input_tokens([{"role": "user", "content": task.question.text}])
    outcomes = []
    for factor in factors(spec.spread):
        cost = cost_usd(price, asked, output_tokens(spec, task.category, factor))
        seconds = latency_s(spec, task.category, factor)
        shares = {True: skill / DRAWS, False: (1 - skill) / DRAWS}
        outcomes += [Outcome(share, right, cost, seconds, used_by(action)) for right, share in shares.items()]
    return [outcome for outcome in outcomes if outcome.probability > 0]
