"""The verb in which a model drafts a domain: draft."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from toolscale.cli.output import as_json, echo_json, say
from toolscale.errors import ToolScaleError


@click.command()
@click.argument("name")
@click.option(
    "--in",
    "root",
    type=click.Path(path_type=Path),
    help="The folder in which that of the domain is made.  [default: environments/]",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(0, min_open=True),
    envvar="MAX_COST",
    metavar="DOLLARS",
    help="Stop before more is spent; what was paid for is kept.  [default: MAX_COST, else no cap]",
)
@click.option(
    "--intents", default=25, show_default=True, type=click.IntRange(6, 60), help="Kinds of requests that are wanted."
)
@click.option("--rounds", type=click.IntRange(1), default=6, show_default=True, help="Replies that a step may take.")
@click.option(
    "--replies",
    type=click.Path(path_type=Path),
    default=Path("var/replies.sqlite"),
    show_default=True,
    help="Where replies are kept: what was asked once is not asked again.",
)
@click.option("--record", type=click.Path(path_type=Path), help="A file for the replies, to serve with `replay`.")
@click.option("--if-missing", is_flag=True, help="Do nothing where the folder is there already.")
@as_json
def draft(
    name: str,
    root: Path | None,
    max_cost: float | None,
    intents: int,
    rounds: int,
    replies: Path,
    record: Path | None,
    if_missing: bool,
    json_: bool,
) -> None:
    """Have a model draft the domain NAME ("pet insurance"): tables, rows, tools, policy and intents, each admitted
    before the next.

    The model is any OpenAI-compatible one: TOOLSCALE_MODEL is its name, OPENAI_BASE_URL and OPENAI_API_KEY say where,
    TOOLSCALE_MODEL_PRICE what a million tokens cost (0.25/2).
    """
    from toolscale.cli.screen import print_costs, print_yields
    from toolscale.environment.registry import ROOT
    from toolscale.models.chat import Ledger, model_from
    from toolscale.pipeline.drafting import DraftSettings, domain_of, draft_domain

    target = (root or ROOT) / domain_of(name)
    if if_missing and target.exists():
        return say(f"{target} is there already")
    model, ledger = model_from(os.environ), Ledger()
    settings = DraftSettings(
        root=root or ROOT, replies=replies, max_cost=max_cost, wishes=intents, rounds=rounds, record=record
    )
    try:
        made = draft_domain(name, model, settings, lambda line: say(line, err=True), ledger)
    except ToolScaleError:
        if not json_ and ledger.stages:
            print_costs(ledger, model.price is not None)
            say(f"the files so far and the transcript are in {settings.work / domain_of(name)}", err=True)
        raise
    if json_:
        return echo_json(
            {
                "folder": str(made.folder),
                "steps": [asdict(step) for step in made.steps],
                "streams": [{**asdict(item), "share": item.share} for item in made.yields],
                "costs": [asdict(line) for line in ledger.rows()],
            }
        )
    print_yields(made.yields, made.folder.name)
    print_costs(ledger, model.price is not None)
    for step in made.steps:
        dropped = f"; dropped: {', '.join(step.dropped)}" if step.dropped else ""
        say(f"{step.name}: {step.rounds} rounds, findings {', '.join(map(str, step.findings))}{dropped}")
    say(f"{made.folder} is admitted; read it, and run: toolscale synthesize {made.folder}")
