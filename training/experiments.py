"""The experiments of docs/results: what training gains, which reward gains it, how it follows wishes, and what is left
with unseen experts.

    python -m training.experiments --out docs/results [--work var/experiments] [--seeds 3] [--steps N]

For each seed a long run of the tiny configuration, and a run of a fifth of its steps with each reward; two at a time.
What is done is not made again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import click
import torch
import yaml
from rich.console import Console

from toolscale.records import Price
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
from training.results import WHOLE, Finding, frontier_of, pairs_of, write_results
from training.starting import run_command, run_program, write_json
from training.train import with_data

CONFIG = Path("training/configs/tiny_cpu.yaml")
KINDS = ("absolute", "outcome", "efficiency", "paper")
"""Rewards that are compared: the full one, the outcome alone, outcome with fixed weights of cost and latency, and the
paper's."""
COMPARED = 5
"""Rewards are compared after a whole run's steps divided by this: what a reward buys shows early, and twelve whole runs
would take hours."""
AT_ONCE = 2
OTHER_GROUNDS: dict[str, dict[str, Any]] = {
    "d": {"catalogue": "experts/held_out.yaml", "price_lists": "experts/prices/held_out"},
    "third": {"catalogue": "experts/third.yaml", "price_lists": None},
    "wording": {"wording": "test"},
    "strangers": {"wording": "test", "wish_words": "test"},
}
"""Table -> what its tasks have that those of (a) have not."""
WISHES = {"accurate": ACCURATE, "thrifty": THRIFTY, "hasty": HASTY}
"""Users of one wish, who are given the same tasks."""
FRONTIER_TASKS = 512


def compared_steps(config: Config) -> int:
    """How many steps a run has that compares rewards."""
    return max(1, config.steps // COMPARED)


def variants(config: Config, seeds: int, compared_seeds: int | None = None) -> dict[str, Config]:
    """The configurations of all runs, by name: `whole-seed` is the run itself, the others compare rewards, with the
    first `compared_seeds` of the seeds (none: all). One process and one thread each: two run at once."""
    found = {}
    for seed in range(seeds):
        seeded = config.model_copy(
            update={"seed": seed, "processes": 1, "threads": 1, "data": config.data.model_copy(update={"seed": seed})}
        )
        found[f"{WHOLE}-{seed}"] = seeded
        for kind in KINDS if compared_seeds is None or seed < compared_seeds else ():
            reward = config.reward.model_copy(update={"kind": kind})
            found[f"{kind}-{seed}"] = seeded.model_copy(update={"reward": reward, "steps": compared_steps(config)})
    # The long ones first, so that neither core is left alone with one.
    return dict(sorted(found.items(), key=lambda item: -item[1].steps))


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


def measure(config: Config, model: Path, *, full: bool, count: int = PROMPTS) -> dict[str, Any]:
    """Measure one trained model. `full`: also on OTHER_GROUNDS, for users of one wish, and along the frontier.

    `count`: tasks of each table.
    """
    trained = load(model)
    ground = question_ground(config, count)
    results = {"trained": ground.play(trained, "trained"), **ground.baselines()}
    found: dict[str, Any] = {"a": rows_of(results)}
    if not full:
        return found
    before = load(config.model.path)
    found["a"] = rows_of({"untrained": ground.play(before, "untrained"), **results})
    for name, data in OTHER_GROUNDS.items():
        other = question_ground(config, count, **data)
        found[name] = rows_of(
            {
                "untrained": other.play(before, "untrained"),
                "trained": other.play(trained, "trained"),
                **other.baselines(),
            }
        )
    wishing = {name: wishing_results(ground, weights, trained) for name, weights in WISHES.items()}
    found |= {name: rows_of(of_wish) for name, of_wish in wishing.items()}
    free = replace(ground, price=Price(input=0, output=0), seconds_per_token=0.0)
    found["pairs"] = pairs_of({name: wishing_results(free, weights, trained) for name, weights in WISHES.items()})
    found["calls"] = {name: results[name].sorts() for name in ("trained", "optimum", "tools, else cheapest")}
    found["c"] = frontier_of(question_ground(config, min(count, FRONTIER_TASKS)), trained)
    return found


def wishing_results(ground: Ground, weights: Mapping[str, float], trained: torch.nn.Module) -> Results:
    """What a model, and policies without one, get for users who all wish this."""
    wished = ground.wishing(weights)
    return {"trained": wished.play(trained, "trained"), **wished.baselines()}


def run_all(configs: dict[str, Config], work: Path, console: Console) -> dict[str, dict[str, Any]]:
    """Train and measure all runs, AT_ONCE at a time. One is measured while another trains, but never two: transformers
    loads one model at a time."""
    measuring = Lock()
    torch.set_num_threads(1)

    def one(name: str) -> dict[str, Any]:
        config, out = configs[name], work / name
        train(config, out)
        console.print(f"trained {name}")
        with measuring:
            found = measure(config, out / "model", full=name.startswith(WHOLE))
        write_json(out / "measured.json", found)
        console.print(f"measured {name}")
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
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
@click.option("--compared-seeds", type=click.IntRange(1), help="Seeds with which rewards are compared; else all.")
@click.option("--steps", type=click.IntRange(1), help="Of a whole run, instead of those of the configuration.")
def command(out: Path, work: Path, seeds: int, compared_seeds: int | None, steps: int | None) -> None:
    """Train and measure all variants, and write tables and plots."""
    console = Console()
    config: Config = read_config(CONFIG)
    config = with_data(config if steps is None else config.model_copy(update={"steps": steps}), work, None)
    configs = variants(config, seeds, compared_seeds)
    findings: Sequence[Finding] = write_results(
        out, run_all(configs, work, console), config.steps, compared_steps(config)
    )
    for finding in findings:
        console.print(f"{'reached' if finding.reached else 'NOT reached'}: {finding.words}")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.experiments"))
