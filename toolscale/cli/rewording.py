"""The verb in which a model puts the requests of a dataset into words of its own: reword."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.asking import asks_model
from toolscale.cli.output import as_json, echo_json, progress_bar, say
from toolscale.errors import ToolScaleError

if TYPE_CHECKING:
    from toolscale.pipeline.rewording import Rewording


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--share",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of the tasks that are put into other words, drawn by hash.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The dataset to write.  [default: DATASET itself]")
@asks_model
@as_json
@click.pass_context
def reword(
    context: click.Context,
    dataset: Path,
    share: float,
    out: Path | None,
    max_cost: float | None,
    replies: Path,
    record: Path | None,
    json_: bool,
) -> None:
    """Have a model write requests of DATASET in words of its own, and make the dataset again with them.

    The model sees the values that a request must say, never calls or answers. Rules decide whether its words say what
    the plan says and nothing else, and every gate judges the task anew; else the words of the template stay. The words
    lie in the dataset, so that `verify` judges them again.

    The model is any OpenAI-compatible one: TOOLSCALE_MODEL is its name, OPENAI_BASE_URL and OPENAI_API_KEY say where,
    TOOLSCALE_MODEL_PRICE what a million tokens cost (0.25/2). Exits 1 if the cap on dollars stopped it.
    """
    from toolscale.cli.tallies import print_costs
    from toolscale.models.chat import Ledger, model_from
    from toolscale.pipeline.rewording import RewordSettings, reword_dataset

    model, ledger = model_from(os.environ), Ledger()
    settings = RewordSettings(out, share, max_cost, replies, record)
    try:
        with progress_bar() as progress:
            done = reword_dataset(dataset, model, settings, lambda line: say(line, err=True), ledger, progress)
    except ToolScaleError:
        if not json_ and ledger.stages:
            print_costs(ledger, model.price is not None)
        raise
    if json_:
        told = {**asdict(done), "dataset": str(done.dataset), "refused": dict(done.refused)}
        echo_json({**told, "costs": [asdict(line) for line in ledger.rows()]})
    else:
        print_costs(ledger, model.price is not None)
        _print_rewording(done, priced=model.price is not None)
    context.exit(1 if done.stopped else 0)


def _print_rewording(done: Rewording, *, priced: bool) -> None:
    say(f"{done.dataset}: {done.asked} requests were asked for, {done.kept} tasks are in the model's words")
    for gate, count in done.refused.most_common():
        say(f"  {count} {'replies unreadable' if gate == 'unreadable' else f'refused by the gate {gate}'}")
    if done.lost:
        say(f"  {done.lost} were right and too like another task, or not needed")
    if priced and done.asked:
        each = f"${done.usd / done.kept:.4f} for each that is kept" if done.kept else "none is kept"
        say(f"${done.usd:.4f} in all; {each}")
    if done.stopped:
        say(f"stopped early: {done.stopped}", err=True)
