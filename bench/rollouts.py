"""What rollouts take beside models and tools: the loop for a turn of the orchestrator, and the reward for a whole
batch.

The loop is the real one. What it talks to takes no time of its own: a script that chooses at random, experts that play
their answer keys, basic tools that answer at once. The little that these take, and the calls of a domain's tools, are
counted as the loop's.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from toolscale.basic_tools.base import BasicResult, one_text_function
from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.models.catalogue import load_catalogue
from toolscale.models.experts import make_expert
from toolscale.records import CATEGORIES, Catalogue, Rollout, RolloutTask, Task
from toolscale.reward import RewardConfig
from toolscale.rollout.bench import Bench
from toolscale.rollout.domain import Domain
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.offering import TOOLS, Offering, TaskSource
from toolscale.rollout.scripted import ScriptedPolicy, at_random
from training.scoring import score_groups

CATALOGUE = Path(__file__).parents[1] / "experts" / "paper.yaml"
MIXTURE = {**dict.fromkeys(CATEGORIES, 1.0), TOOLS: len(CATEGORIES) - 1.0}
"""Questions of all categories, and as many environment tasks."""
GROUPS, SAMPLES = 16, 8
BATCHES = 9
TURN, REWARD = 2.0, 5.0
"""Milliseconds at most: of a turn, and of the reward of 16 groups of 8."""


@dataclass(frozen=True)
class Instant:
    """A basic tool that finds nothing, at once."""

    name: str
    parameter: str
    description: str = "Finds nothing."

    def function(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function."""
        return one_text_function(self.name, self.description, self.parameter, "Anything.")

    async def call(self, arguments: Mapping[str, Any]) -> BasicResult:
        """Answer."""
        return BasicResult("Nothing was found.", None, 0.001, 1.0)


BASIC = {tool.name: tool for tool in (Instant("python", "code"), Instant("local_search", "query"))}


def measure_rollouts(environment: Environment, tasks: Sequence[Task]) -> tuple[float, float]:
    """Return median milliseconds of a turn, and of the reward of one batch. `tasks`: accepted ones of the environment,
    as it is at first."""
    catalogue = load_catalogue(CATALOGUE)
    source = TaskSource(Offering(catalogue, basic_tools=tuple(BASIC)), "train", 0, MIXTURE, tasks=tasks)
    domain = Domain(environment, populate(environment))
    bench = Bench({spec.name: make_expert(spec) for spec in catalogue.experts}, BASIC, {environment.domain: domain})
    turns, rewards = [], []
    try:
        for batch in range(1 + BATCHES):  # the tasks of each are new to the domain
            drawn = [source[number] for number in range(batch * GROUPS, (batch + 1) * GROUPS)]
            groups, turn = time_turns(drawn, bench)
            turns.append(turn)
            rewards.append(time_reward(drawn, groups, catalogue))
    finally:
        domain.close()
    # The first opens worlds and fills caches.
    return 1e3 * statistics.median(turns[1:]), 1e3 * statistics.median(rewards[1:])


def time_turns(tasks: Sequence[RolloutTask], bench: Bench) -> tuple[list[list[Rollout]], float]:
    """Run a batch; return its rollouts and the wall seconds for one turn of the orchestrator: the time of the whole
    batch, preparation and grading included, divided by the number of turns."""
    start = time.perf_counter()
    groups = asyncio.run(run_rollouts(tasks, ScriptedPolicy("random", at_random(0)), bench, SAMPLES))
    took = time.perf_counter() - start
    turns = sum(charge.kind == "orchestrator" for group in groups for rollout in group for charge in rollout.ledger)
    return groups, took / turns


def time_reward(tasks: Sequence[RolloutTask], groups: Sequence[Sequence[Rollout]], catalogue: Catalogue) -> float:
    """Return the seconds of the processor from rollouts to selected samples, references included, for the kind of
    reward that takes longest."""
    experts, seconds = {spec.name: spec for spec in catalogue.experts}, []
    for kind in get_args(RewardConfig.model_fields["kind"].annotation):
        start = time.process_time()  # it waits for nothing; others on the machine shall not lengthen it
        score_groups(tasks, groups, experts, RewardConfig(kind=kind))
        seconds.append(time.process_time() - start)
    return max(seconds)
