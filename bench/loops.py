"""Our GRPO loop beside TRL's GRPOTrainer: the same model, tasks, groups and number of steps, both by DeepSpeed.

    python -m bench.loops --model var/training/smollm2-sft/model --dataset var/datasets/gym-form --steps 5

Each runs in a process of its own, in turns, and prints seconds a step, peak memory, and the mean reward of each step.
TRL plays the tasks through its `environment_factory`: an environment for each task, so that the tools and the form that
the model reads are the same. The tasks of a step differ: each loop draws its own.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import yaml

from bench.memory import run_measured

CONFIG = Path("training/configs/smollm2_grpo.yaml")
TURNS, TURN = 5, 64
"""Turns of a rollout, and tokens of a turn, at most: a model that learned little comes to an end late."""
LOOKS = 3.0
"""Seconds between two looks at the memory."""
ALONE = (
    "DS_ACCELERATOR=cpu",
    "TRL_EXPERIMENTAL_SILENCE=1",
    "RANK=0",
    "LOCAL_RANK=0",
    "WORLD_SIZE=1",
    "MASTER_ADDR=127.0.0.1",
    "MASTER_PORT=29577",
)
"""One process of a launcher, for TRL: it trains with DeepSpeed only where one has started it."""

Found = dict[str, Any]
"""What one loop gave: `seconds` of each step, `rewards`, `tokens` written a step, `memory` in MB."""


def our_config(model: Path, dataset: Path, steps: int, prompts: int, samples: int) -> dict[str, Any]:
    """The configuration of our loop."""
    read: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    read |= {"steps": steps, "processes": 1, "threads": 2}
    read["model"] |= {"path": str(model)}
    read["data"] |= {"datasets": [str(dataset)], "limits": {"turns": TURNS}}
    read["rollout"] |= {"prompts": prompts, "samples": samples, "max_new_tokens": TURN}
    read["checkpoint"] = {"every": 1000, "keep": 1}
    read["alarms"] = {"no_groups": "warn"}
    return read


def run_ours(model: Path, dataset: Path, steps: int, prompts: int, samples: int, folder: Path) -> Found:
    """Our loop, in a process of its own."""
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(our_config(model, dataset, steps, prompts, samples)), encoding="utf-8")
    _, memory = run_measured([sys.executable, "-m", "training.grpo", str(config), "--out", str(folder / "run")], LOOKS)
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        "seconds": [line["seconds"] for line in lines],
        "rollout": [line["rollout_s"] for line in lines],
        "rewards": [line["reward"] for line in lines],
        "memory": memory,
    }


def run_trl(model: Path, dataset: Path, steps: int, prompts: int, samples: int, folder: Path) -> Found:
    """TRL's loop, in a process of its own."""
    told = folder / "told.json"
    arguments = {"model": model, "dataset": dataset, "steps": steps, "prompts": prompts, "samples": samples}
    wanted = json.dumps({name: str(value) for name, value in arguments.items()} | {"told": str(told), "turns": TURNS})
    _, memory = run_measured(["env", *ALONE, sys.executable, "-m", "bench.loop_of_trl", wanted], LOOKS)
    found: Found = json.loads(told.read_text(encoding="utf-8"))
    return found | {"memory": memory}


@click.command()
@click.option("--model", type=click.Path(path_type=Path, exists=True), required=True, help="A model after SFT.")
@click.option("--dataset", type=click.Path(path_type=Path, exists=True), required=True, help="Tasks with forms.")
@click.option("--steps", type=click.IntRange(1), default=5, show_default=True, help="Of each loop.")
@click.option("--prompts", type=click.IntRange(1), default=4, show_default=True, help="Tasks of a step.")
@click.option("--samples", type=click.IntRange(2), default=4, show_default=True, help="Rollouts of a task.")
@click.option("--out", type=click.Path(path_type=Path), help="A file for all figures.")
def command(model: Path, dataset: Path, steps: int, prompts: int, samples: int, out: Path | None) -> None:
    """Measure both loops."""
    found: dict[str, Found] = {}
    for name, run in (("ours", run_ours), ("trl", run_trl)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(model, dataset, steps, prompts, samples, Path(folder))
        seconds, rewards = found[name]["seconds"], found[name]["rewards"]
        click.echo(
            f"{name}: {statistics.median(seconds):.1f} s a step in the median ({min(seconds):.1f} to "
            f"{max(seconds):.1f}), {found[name]['memory']:.0f} MB, rewards {[round(each, 3) for each in rewards]}"
        )
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    command()
