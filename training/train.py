"""Train an orchestrator, measure it before and after, and say whether it learned.

    python -m training.train training/configs/tiny_cpu.yaml --out var/training/tiny_cpu [--steps N] [--dataset FOLDER]

The same command takes up a run that was stopped. It leaves what `training.grpo` leaves, and `report.json`. Exit status:
0 it learned (for models other than the tiny one: it trained), 1 it did not or was stopped by an alarm, 2 bad input.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from toolscale.errors import TrainingError
from toolscale.pipeline import synthesize
from training import grpo
from training.config import Config
from training.config_file import read_config
from training.evaluate import ACCURATE, THRIFTY, check, environment_figures, load, question_ground, rows_of
from training.judged import with_judge
from training.starting import run_command, write_done, write_json

ENVIRONMENT_OFFERS = 64
COLUMNS = ("policy", "utility", "share of the way", "right", "cents", "seconds", "optimum's choice")


def with_data(config: Config, out: Path, dataset: Path | None) -> Config:
    """Return the configuration with its datasets: the given one, or those that it wants made, which are made beside the
    run."""
    if dataset is not None:
        datasets = [dataset]
    elif config.data.datasets:
        return config
    else:
        datasets = [out / "datasets" / domain for domain in config.data.domains]
        for folder, (domain, tasks) in zip(datasets, config.data.domains.items(), strict=True):
            synthesize(domain, folder, tasks=tasks, turns="single", answer="form", workers=1)
    return config.model_copy(
        update={"data": config.data.model_copy(update={"datasets": tuple(str(folder) for folder in datasets)})}
    )


def evaluate(config: Config, model: Path) -> dict[str, Any]:
    """Measure the model that a run began with and the one that it left, on tasks that it was not trained on."""
    ground = question_ground(config)
    before, after = load(config.model.path), load(model)
    results = {
        "untrained": ground.play(before, "untrained"),
        "trained": ground.play(after, "trained"),
        **ground.baselines(),
    }
    thrifty, accurate = (ground.free().wishing(wish) for wish in (THRIFTY, ACCURATE))
    saving, paying = (each.play(after, "trained") for each in (thrifty, accurate))
    found = check(results["untrained"], results["trained"], saving, paying)
    accurate_ones = accurate.baselines()
    return {
        "questions": {"tasks": len(ground.board.tasks), "policies": rows_of(results)},
        "thrifty": {"trained": saving.means()},
        "accurate": {
            "trained": paying.means(),
            **{name: accurate_ones[name].means() for name in ("optimum", "always strongest")},
        },
        "environments": {
            name: environment_figures(config, each, ENVIRONMENT_OFFERS)
            for name, each in (("untrained", before), ("trained", after))
        },
        "check": {**asdict(found), "passed": found.passed},
    }


def show(report: dict[str, Any], console: Console) -> None:
    """Print the table, and what the check found."""
    table = Table(
        *COLUMNS, title=f"{report['questions']['tasks']} question tasks that were not trained on, in expectation"
    )
    for row in report["questions"]["policies"]:
        numbers = (
            f"{row['utility']:.3f}",
            f"{row['share']:.1%}",
            f"{row['right']:.1%}",
            f"{100 * row['cost_usd']:.3f}",
            f"{row['latency_s']:.1f}",
        )
        table.add_row(row["policy"], *numbers, f"{row['best']:.1%}")
    console.print(table)
    for name, row in report["environments"].items():
        if row:
            told = (
                f"utility {row['utility']:.3f}, {row['right']:.1%} right, "
                f"{100 * row['cost_usd']:.3f} cents, {row['latency_s']:.1f} s"
            )
            console.print(f"{row['offers']} offers of {row['tasks']} environment tasks, {name}: {told}")
    found = report["check"]
    paid = [100 * report[user]["trained"]["cost_usd"] for user in ("thrifty", "accurate")]
    console.print(f"a thrifty user pays {paid[0]:.3f} cents, one who only wants a right answer {paid[1]:.3f}")
    console.print(
        f"utility rose by {found['gain']:.3f} (95 % interval from {found['gain_low']:.3f}): "
        f"{'passed' if found['passed'] else 'FAILED'}"
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the run; one that was stopped is taken up."
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    help="Instead of those of the configuration. A run that is too short to learn is not checked.",
)
@click.option("--dataset", type=click.Path(path_type=Path), help="Environment tasks come from this folder.")
def command(config: Path, out: Path, steps: int | None, dataset: Path | None) -> None:
    """Train an orchestrator as CONFIG (a YAML file of training/configs) says, and measure it."""
    settings: Config = with_judge(read_config(config))
    wanted = settings.steps
    settings = with_data(settings if steps is None else settings.model_copy(update={"steps": steps}), out, dataset)
    done = grpo.run_here(settings, out)
    if not done:
        return  # another rank measures
    report = evaluate(settings, out / "model") if settings.model.codec == "tiny" else {}
    write_json(out / "report.json", report)
    write_done(out, done)
    if report:
        show(report, Console(width=120))
        if settings.must_learn and settings.steps >= wanted and not report["check"]["passed"]:
            raise TrainingError(f"the model did not learn what it is trained for; see {out / 'report.json'}")


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m training.train"))
