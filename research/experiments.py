"""The experiments of docs/results: what training gains, which reward gains it, how it follows wishes, and what is left
with unseen experts.

    python -m research.experiments --out docs/results [--work var/experiments] [--seeds 3] [--compared-seeds 1]

For each seed a run of the tiny configuration; with the first of them also one with each of the other rewards. All have
as many steps, and two run at one time.
What is done is not made again, and a run that was measured is not measured again: after a change of what is measured,
remove its measured.json.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
import yaml
from rich.console import Console

from research.results import FRONTIER_TASKS, frontier_of, pairs_of, write_results
from research.spread import WHOLE, kind_of, shown
from toolscale.rollout.actions import WAYS
from training.checkpoint import check_folder
from training.config import Config
from training.config_file import read_config
from training.evaluate import (
    ACCURATE,
    HASTY,
    PROMPTS,
    THRIFTY,
    Ground,
    Results,
    load,
    question_ground,
    rows_of,
)
from training.starting import run_command, run_program, write_json
from training.tiny.board import make_board
from training.tiny.words import ALIASES
from training.train import with_data

CONFIG = Path("training/configs/tiny_cpu.yaml")
KINDS = ("efficiency", "paper")
"""Rewards that the full one is compared with: the outcome with fixed weights of cost and latency, and the paper's. Each
has a whole run: who is ahead after a fifth of the steps says little of the end."""
AT_ONCE = 2
OTHER_GROUNDS: dict[str, dict[str, Any]] = {
    "d": {"catalogue": "experts/held_out.yaml", "price_lists": "experts/prices/held_out"},
    "third": {"catalogue": "experts/third.yaml", "price_lists": None},
    "beyond": {"catalogue": "experts/third.yaml", "price_lists": None, "wording": "test"},
    "wording": {"wording": "test"},
    "weights": {"wording": "test", "wish_share": 0.0, "denied_share": 0.0},
    "strangers": {"wording": "test", "wish_words": "test"},
}
"""Table -> what its tasks have that those of (a) have not."""
TOOL_GROUNDS: dict[str, dict[str, Any]] = {
    "wished": {"wording": "test", "wish_share": 1.0},
    "wished_strangers": {"wording": "test", "wish_words": "test", "wish_share": 1.0},
    "denied": {"wording": "test", "denied_share": 1.0},
}
"""The same for users who all speak of single tools, for those who do so in strangers' words, and for tasks that all
deny one."""
WISHES = {"accurate": ACCURATE, "thrifty": THRIFTY, "hasty": HASTY}
"""Users of one wish, who are given the same tasks."""
PLAYED = ("trained", "optimum", "tools, else cheapest")
"""Policies of which it is shown how they heed what is said of single tools."""


def variants(config: Config, seeds: int, compared_seeds: int = 1) -> dict[str, Config]:
    """The configurations of all runs, by name: `whole-seed` is the run itself; with the first `compared_seeds` of the
    seeds there are others with other rewards. One process and one thread each: two run at once. Runs of one kind follow
    each other."""
    found = {kind: dict[str, Config]() for kind in (WHOLE, *KINDS)}
    for seed in range(seeds):
        seeded = config.model_copy(
            update={"seed": seed, "processes": 1, "threads": 1, "data": config.data.model_copy(update={"seed": seed})}
        )
        found[WHOLE][f"{WHOLE}-{seed}"] = seeded
        for kind in KINDS if seed < compared_seeds else ():
            reward = config.reward.model_copy(update={"kind": kind})
            found[kind][f"{kind}-{seed}"] = seeded.model_copy(update={"reward": reward})
    return {name: each for runs in found.values() for name, each in runs.items()}


def train(config: Config, out: Path) -> None:
    """Train one run on one core, unless it is trained. Raises TrainingError if it fails, UsageError if another
    configuration was trained there."""
    check_folder(out, config)
    if (out / "done.json").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    (out / "wanted.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    arguments = ["training.grpo", str(out / "wanted.yaml"), "--out", str(out)]
    run_program(arguments, out / "log.txt", {**os.environ, "OMP_NUM_THREADS": "1"})


def measure(config: Config, model: Path, count: int = PROMPTS) -> dict[str, Any]:
    """Measure a model of a whole run: on the tasks of (a) and on OTHER_GROUNDS, for users of one wish, and along the
    frontier. `count`: tasks of each table."""
    trained, before = load(model), load(config.model.path)
    ground = question_ground(config, count)
    results = results_on(ground, untrained=before, trained=trained)
    found: dict[str, Any] = {"a": rows_of(results)}
    for name, data in OTHER_GROUNDS.items():
        other = question_ground(config, count, **data)
        found[name] = rows_of(results_on(other, untrained=before, trained=trained))
    found["obedience"] = {}
    for name, data in TOOL_GROUNDS.items():
        asked = question_ground(config, count, **data)
        played = results_on(asked, trained=trained)
        found[name] = rows_of(played)
        found["obedience"][name] = {policy: played[policy].obedience() for policy in PLAYED}
        if name == "denied":
            fits = denies_what_fits(asked)
            found["denied_tools"] = {"tasks": int(fits.sum()), "called": float(played["trained"].denied[fits].mean())}
    wishing = {name: wishing_results(ground, weights, trained) for name, weights in WISHES.items()}
    found |= {name: rows_of(of_wish) for name, of_wish in wishing.items()}
    found["pairs"] = pairs_played(ground, trained)
    found["c"] = frontier_of(question_ground(config, min(count, FRONTIER_TASKS)), trained)
    return found


def denies_what_fits(ground: Ground) -> np.ndarray:
    """Return (tasks,): whether a tool may not be used that fits the question."""
    tasks = ground.board.tasks
    free = [task.model_copy(update={"limits": task.limits.model_copy(update={"denied": ()})}) for task in tasks]
    open_to = make_board(free, ground.catalogue, ALIASES).open & ~ground.board.open
    return np.asarray(
        open_to[:, [place for place, name in enumerate(ground.board.actions) if name in WAYS]].any(axis=1)
    )


def measure_reward(config: Config, model: Path, count: int = PROMPTS) -> dict[str, Any]:
    """Measure a model of another reward: in the words of training and on the clean split, there also without users who
    speak of single tools (no other reward heeds them alike), and with pairs of users."""
    trained, ground = load(model), question_ground(config, count)
    others = {name: question_ground(config, count, **OTHER_GROUNDS[name]) for name in ("wording", "weights")}
    grounds = {"a": ground, **others}
    return {
        **{name: rows_of(results_on(each, trained=trained)) for name, each in grounds.items()},
        "pairs": pairs_played(ground, trained),
    }


def results_on(ground: Ground, **models: torch.nn.Module) -> Results:
    """What models get on a ground, by name, and policies without one."""
    return {**{name: ground.play(model, name) for name, model in models.items()}, **ground.baselines()}


def wishing_results(ground: Ground, weights: Mapping[str, float], trained: torch.nn.Module) -> Results:
    """What a model, and policies without one, get for users who all wish this."""
    return results_on(ground.wishing(weights), trained=trained)


def pairs_played(ground: Ground, trained: torch.nn.Module) -> dict[str, dict[str, dict[str, float]]]:
    """Who is served more cheaply, of users with the same task, where the orchestrator's own tokens cost nothing."""
    return pairs_of({name: wishing_results(ground.free(), weights, trained) for name, weights in WISHES.items()})


def run_all(configs: dict[str, Config], work: Path, console: Console) -> dict[str, dict[str, Any]]:
    """Train and measure all runs, AT_ONCE at a time, in processes of one thread each: transformers loads one model of
    a process at a time."""

    def one(name: str) -> dict[str, Any]:
        config, out = configs[name], work / name
        train(config, out)
        console.print(f"trained {name}")
        if (out / "measured.json").exists():
            return dict(json.loads((out / "measured.json").read_text(encoding="utf-8")))
        measuring_it = measure if kind_of(name) == WHOLE else measure_reward
        found = measuring.submit(measuring_it, config, out / "model").result()
        write_json(out / "measured.json", found)
        console.print(f"measured {name}")
        return found

    processes = ProcessPoolExecutor(AT_ONCE, get_context("spawn"), torch.set_num_threads, (1,))
    with processes as measuring, ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(configs, pool.map(one, configs), strict=True))


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/results"), show_default=True)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    default=Path("var/experiments"),
    show_default=True,
    help="Where runs are kept.",
)
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--compared-seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Seeds with which other rewards are tried.",
)
@click.option("--steps", type=click.IntRange(1), help="Of each run, instead of those of the configuration.")
def command(out: Path, work: Path, seeds: int, compared_seeds: int, steps: int | None) -> None:
    """Train and measure all variants, and write tables and plots."""
    console = Console()
    config: Config = read_config(CONFIG)
    config = with_data(config if steps is None else config.model_copy(update={"steps": steps}), work, None)
    tables = write_results(out, run_all(variants(config, seeds, compared_seeds), work, console), config.steps)
    for policy, figures in tables["wording"].items():
        console.print(f"the clean split, {policy}: {shown(figures['share'])} of the way")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m research.experiments"))
