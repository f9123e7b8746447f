"""What an orchestrator is worth: against the optimum, against policies without a model, and against itself before
training.

Questions are scored exactly (training/tiny/board.py): no draw is made, so a difference is a difference. Environment
tasks are run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import bootstrap
from transformers import AutoModelForCausalLM

from toolscale.models.catalogue import load_catalogue
from toolscale.preferences.grammar import Phrasing, state_weights
from toolscale.records import Catalogue, Preference, Price, Rollout, RolloutTask
from toolscale.reward import absolute_reward, figures_of
from toolscale.rollout.groups import run_rollouts
from toolscale.rollout.message_judge import open_judge
from training.config import Config, DataSettings
from training.data import measured, open_work, rollout_source
from training.sampler import local_policy
from training.scoring import task_references
from training.tiny.board import Board, Result, baselines, make_board, share_of_way
from training.tiny.codec import TinyCodec
from training.tiny.exact import own_figures, play, prompt_ids
from training.tiny.words import ALIASES

PROMPTS = 4_096
"""Question tasks of an evaluation."""
SEED = 1_000_003
"""Added to the seed of training for the tasks of an evaluation: none of them was trained on."""
THRIFTY = {"outcome": 0.6, "cost": 1.0, "latency": 0.0}
"""A user who above all wants to save money, and for whom a right answer still counts quite a bit."""
ACCURATE = {"outcome": 1.0, "cost": 0.0, "latency": 0.0}
"""A user who only wants the answer to be right."""
HASTY = {"outcome": 0.6, "cost": 0.0, "latency": 1.0}
"""A user who above all wants a quick answer."""
LEAST_BEST = 0.75
"""In at least this share of the tasks a trained policy must choose what the optimum chooses. Whoever takes a tool where
one fits, and else the cheapest expert, does so in 65 %; models that learned in 78 to 80 %. One that unlearned the
interpreter did so in 59 %, where the rule did in 68 %: that was without wishes about single tools."""

Results = dict[str, Result]


@dataclass(frozen=True)
class Ground:
    """Where policies are compared: a board, and the figures of policies without a model on it."""

    board: Board
    catalogue: Catalogue
    codec: TinyCodec
    price: Price
    seconds_per_token: float

    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """Dollars and seconds of the orchestrator's own tokens; policies without a model are charged the same, so that
        choices are compared."""
        lengths = np.array([len(prompt_ids(self.codec, task)) for task in self.board.tasks])
        return own_figures(self.board, lengths, self.price, self.seconds_per_token)

    def baselines(self) -> Results:
        """Policies without a model."""
        return baselines(self.board, self.catalogue, *self.own())

    def play(self, model: torch.nn.Module, name: str, temperature: float = 0.0) -> Result:
        """A model, at temperature 0 unless said otherwise."""
        return play(
            model,
            self.codec,
            self.board,
            name,
            price=self.price,
            seconds_per_token=self.seconds_per_token,
            temperature=temperature,
        )

    def free(self) -> Ground:
        """The same tasks with an orchestrator whose own tokens cost nothing and take no time."""
        return replace(self, price=Price(input=0, output=0), seconds_per_token=0.0)

    def wishing(self, weights: Mapping[str, float]) -> Ground:
        """The same tasks for users who all wish this, in the same words."""
        instruction = state_weights(weights, Phrasing(1, (0, 0, 0), 1, 0, 1, 0))
        preference = Preference.model_validate({"instruction": instruction, **weights})
        return replace(self, board=self.board.wishing(preference))


def question_ground(config: Config, count: int = PROMPTS, **data: Any) -> Ground:
    """Return the ground of a configuration: question tasks by its mixture, in draws that were not trained on. `data`:
    settings of `data` that differ.

    A task is a question with an offer and a wish. Questions are of the same templates as in training, and some of them
    were asked there too.
    """
    settings = measured(config.data, **{"seed": config.data.seed + SEED, **data})
    catalogue = load_catalogue(Path(settings.catalogue))
    mixture = {name: weight for name, weight in settings.mixture.items() if name != "tools"}
    source = rollout_source(settings, catalogue, mixture)
    board = make_board([source[number] for number in range(count)], catalogue, ALIASES)
    price = Price(input=config.rollout.input_price, output=config.rollout.output_price)
    return Ground(board, catalogue, TinyCodec.load(config.model.path), price, config.rollout.seconds_per_token)


def load(folder: str | Path, dtype: str = "float32", device: str = "cpu") -> torch.nn.Module:
    """Load a model for evaluation: in 32 bits on the processor, unless said otherwise."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).to(device).eval()


@dataclass(frozen=True)
class Check:
    """Whether training did what it is for. All three must hold."""

    gain: float
    gain_low: float
    """Lower end of the 95 % interval of the gain in utility: paired bootstrap over tasks."""
    thrift: float
    thrift_high: float
    """What a thrifty user pays more than one with the same task who only wants a right answer, in dollars, and the
    upper end of its interval."""
    best: float

    @property
    def passed(self) -> bool:
        """Utility rose, the thrifty user pays less, and the optimum's choice is made in LEAST_BEST of the tasks or
        more."""
        return self.gain_low > 0 and self.thrift_high < 0 and self.best >= LEAST_BEST


def check(before: Result, after: Result, thrifty: Result, accurate: Result) -> Check:
    """Compare a policy with what it was before training, task by task, and two users of the trained one, to whom the
    orchestrator's own tokens cost nothing: a wish of more words is no choice."""
    gain, gain_low, _ = interval(after.utility - before.utility)
    thrift, _, thrift_high = interval(thrifty.cost_usd - accurate.cost_usd)
    return Check(gain, gain_low, thrift, thrift_high, float(after.best.mean()))


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean and its 95 % interval: percentile bootstrap over tasks, 2,000 draws, the same every time."""
    mean = float(values.mean())
    if np.ptp(values) == 0:
        return mean, mean, mean
    found = bootstrap(
        (values,), np.mean, n_resamples=2_000, batch=200, method="percentile", rng=np.random.default_rng(0)
    )
    return mean, float(found.confidence_interval.low), float(found.confidence_interval.high)


def environment_figures(config: Config, model: torch.nn.Module, count: int) -> dict[str, float]:
    """Run environment tasks of the test split, greedily, through the rollout loop; empty where the configuration has
    none.

    There are `count` offers, over and over of as many tasks as the datasets have.
    """
    if not config.data.datasets or not config.data.mixture.get("tools"):
        return {}
    data = measured(config.data, mixture={"tools": 1.0}, seed=config.data.seed + SEED)
    return asyncio.run(_run(config, data, model, count))


async def _run(config: Config, data: DataSettings, model: torch.nn.Module, count: int) -> dict[str, float]:
    work = open_work(data, "test", config.judge)
    policy = local_policy(model, TinyCodec.load(config.model.path), config.rollout, temperature=0.0)
    with work.held:
        async with work.bench, open_judge(config.judge) as work.bench.judge:
            tasks = [work.tasks[number] for number in range(count)]
            groups = await run_rollouts(tasks, policy, work.bench, 1)
    rollouts = [group[0] for group in groups]
    return {
        **figures(tasks, rollouts, work.experts),
        "offers": count,
        "tasks": len({task.task.id for task in tasks if task.task is not None}),
    }


def figures(tasks: Sequence[RolloutTask], rollouts: Sequence[Rollout], experts: Mapping[str, Any]) -> dict[str, float]:
    """Means over rollouts: utility, share of right answers, dollars, seconds, share that was answered."""
    worth = [
        absolute_reward(figures_of(rollout), task.preference, task_references(task, experts))
        for task, rollout in zip(tasks, rollouts, strict=True)
    ]
    return {
        "utility": float(np.mean(worth)),
        "right": float(np.mean([rollout.right for rollout in rollouts])),
        "cost_usd": float(np.mean([rollout.cost_usd for rollout in rollouts])),
        "latency_s": float(np.mean([rollout.latency_s for rollout in rollouts])),
        "answered": float(np.mean([rollout.stop == "answered" for rollout in rollouts])),
    }


def rows_of(results: Results) -> list[dict[str, Any]]:
    """One row for each policy: means, and the share of the way from random to the optimum."""
    return [
        {"policy": name, **result.means(), "share": share_of_way(result, results)} for name, result in results.items()
    ]


__all__ = [
    "ACCURATE",
    "HASTY",
    "PROMPTS",
    "THRIFTY",
    "Check",
    "Ground",
    "check",
    "environment_figures",
    "figures",
    "interval",
    "load",
    "question_ground",
    "rows_of",
]
