"""The verbs in which a model writes for a domain: draft, propose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.asking import asks_model
from toolscale.cli.output import as_json, echo_json, say

if TYPE_CHECKING:
    from toolscale.draft import StepReport
    from toolscale.draft.sources import Source
    from toolscale.limits import RunLimits
    from toolscale.models.chat import Ledger
    from toolscale.pipeline.drafting import Drafted
    from toolscale.pipeline.proposing import Proposed


candidates = click.option(
    "--candidates",
    type=click.IntRange(1, 8),
    default=1,
    show_default=True,
    help="First replies that are asked for where tools and intents are written; the one that covers most is kept.",
)


@click.command()
@click.argument("name")
@click.option(
    "--in",
    "root",
    type=click.Path(path_type=Path),
    help="The folder in which that of the domain is made.  [default: environments/]",
)
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="Draft from what exists: a SQLite or DuckDB file, a URL postgresql://…, an OpenAPI document, or an MCP "
    "server's list of tools. Rows of a database stay where they are.",
)
@click.option("--only", metavar="NAMES", help="Tables or operations of the source that are taken, with commas between.")
@click.option("--policy", type=click.Path(path_type=Path), help="A policy that there is, as text.")
@click.option(
    "--intents", default=25, show_default=True, type=click.IntRange(6, 60), help="Kinds of requests that are wanted."
)
@click.option("--rounds", type=click.IntRange(1), default=6, show_default=True, help="Replies that a step may take.")
@candidates
@asks_model
@click.option(
    "--phrase/--no-phrase",
    default=True,
    show_default=True,
    help="Have whole first messages written in the end, as `toolscale phrase` does.",
)
@click.option("--if-missing", is_flag=True, help="Do nothing where the folder is there already.")
@as_json
def draft(
    name: str,
    root: Path | None,
    source: str | None,
    only: str | None,
    policy: Path | None,
    limits: RunLimits,
    intents: int,
    rounds: int,
    candidates: int,
    replies: Path,
    record: Path | None,
    phrase: bool,
    if_missing: bool,
    json_: bool,
) -> None:
    """Have a model draft the domain NAME ("pet insurance"): tables, rows, tools, policy and intents, each admitted
    before the next, and in the end whole first messages for its requests.

    The model is any OpenAI-compatible one: TOOLSCALE_MODEL is its name, OPENAI_BASE_URL and OPENAI_API_KEY say where,
    TOOLSCALE_MODEL_PRICE what a million tokens cost (0.25/2).
    """
    from toolscale.cli.tallies import telling_costs
    from toolscale.environment.registry import OWN
    from toolscale.models.chat import Ledger, model_from
    from toolscale.pipeline.drafting import DraftSettings, domain_of, draft_domain

    target = (root or OWN) / domain_of(name)
    if if_missing and target.exists():
        return say(f"{target} is there already")
    known = _told(source, only, policy)  # what is read is told where there is no model, too
    model, ledger = model_from(os.environ), Ledger()
    settings = DraftSettings(
        root=root or OWN,
        replies=replies,
        limits=limits,
        source=known,
        wishes=intents,
        rounds=rounds,
        candidates=candidates,
        record=record,
        phrase=phrase,
    )
    left = f"the files so far and the transcript are in {settings.work / domain_of(name)}"
    with telling_costs(ledger, json_=json_, rest=left):
        made = draft_domain(name, model, settings, lambda line: say(line, err=True), ledger)
    _print_made(made, ledger, json_=json_)


@click.command()
@click.argument("domain")
@click.option(
    "--intents", default=9, show_default=True, type=click.IntRange(1, 60), help="New kinds of requests that are wanted."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The widened copy, named as the domain.  [default: var/proposals/DOMAIN]",
)
@click.option("--rounds", type=click.IntRange(1), default=6, show_default=True, help="Replies that intents may take.")
@candidates
@asks_model
@click.option(
    "--if-missing",
    is_flag=True,
    help="Do nothing where FOLDER is there and DOMAIN has not changed; one whose base changed is renamed.",
)
@as_json
def propose(
    domain: str,
    intents: int,
    out: Path | None,
    rounds: int,
    candidates: int,
    limits: RunLimits,
    replies: Path,
    record: Path | None,
    if_missing: bool,
    json_: bool,
) -> None:
    """Have a model propose more intents for DOMAIN (a name or a folder), and write a copy of its folder that has them;
    what exists stays as it is.

    The model is that of `draft`. Read the copy and commit it, or make tasks from it at once.
    """
    from toolscale.cli.tallies import telling_costs
    from toolscale.models.chat import Ledger, model_from
    from toolscale.pipeline.proposing import (
        ProposeSettings,
        is_proposed_for,
        proposal_base,
        proposal_folder,
        propose_intents,
        put_aside,
    )

    base = proposal_base(domain)
    target = proposal_folder(base, out)
    if if_missing and target.exists() and is_proposed_for(target, base):
        return say(f"{target} is there already, made from {base.domain} as it is")
    model, ledger = model_from(os.environ), Ledger()
    if if_missing and target.exists():
        say(f"{base.domain} has changed since: what was proposed is kept in {put_aside(target)}", err=True)
    settings = ProposeSettings(
        out=out, replies=replies, limits=limits, wishes=intents, rounds=rounds, candidates=candidates, record=record
    )
    left = f"the transcript is in {settings.work / base.domain}"
    with telling_costs(ledger, json_=json_, rest=left):
        made = propose_intents(base, model, settings, lambda line: say(line, err=True), ledger)
    _print_proposed(made, ledger, json_=json_)


def _print_proposed(made: Proposed, ledger: Ledger, *, json_: bool) -> None:
    from toolscale.cli.tallies import costs_told, print_costs, print_yields

    if json_:
        return echo_json(
            {
                "folder": str(made.folder),
                "intents": made.intents,
                "dropped": made.dropped,
                "steps": [made.step.facts()],
                "streams": [item.facts() for item in made.yields],
                "costs": costs_told(ledger),
            }
        )
    print_yields(made.yields, str(made.folder))
    print_costs(ledger)
    _print_steps([made.step])
    for name, why in made.dropped.items():
        say(f"  {name}: {why}")
    say(f"{made.folder} has {len(made.intents)} intents more; read them, and run: toolscale synthesize {made.folder}")


def _print_made(made: Drafted, ledger: Ledger, *, json_: bool) -> None:
    from toolscale.cli.tallies import costs_told, print_costs, print_yields

    if json_:
        return echo_json(
            {
                "folder": str(made.folder),
                "steps": [step.facts() for step in made.steps],
                "streams": [item.facts() for item in made.yields],
                "frames": made.frames,
                "unphrased": made.unphrased,
                "costs": costs_told(ledger),
            }
        )
    print_yields(made.yields, made.folder.name)
    print_costs(ledger)
    _print_steps(made.steps)
    if made.unphrased:
        say(f"messages for its requests are lacking: {made.unphrased}", err=True)
    if made.unphrased or not made.frames:
        say(f"requests without a whole message are composed; have them written: toolscale phrase {made.folder}")
    say(f"{made.folder} is admitted; read it, and run: toolscale synthesize {made.folder}")


def _print_steps(steps: Sequence[StepReport]) -> None:
    """Print what each step took, and how its candidates scored."""
    from toolscale.draft.candidates import told

    for step in steps:
        dropped = f"; dropped: {', '.join(step.dropped)}" if step.dropped else ""
        say(f"{step.name}: {step.rounds} rounds, findings {', '.join(map(str, step.findings))}{dropped}")
        several = len({score.part for score in step.candidates}) > 1
        for score in step.candidates:
            say(f"  {f'part {score.part}, ' if several else ''}{told(score)}")


def _told(source: str | None, only: str | None, policy: Path | None) -> Source | None:
    """Return what the domain is drafted from, and print what differs from it, a line each."""
    from toolscale.draft.sources import read_source

    names = tuple(name.strip() for name in (only or "").split(",") if name.strip())
    known = read_source(source, names, policy)
    for line in known.notes if known else ():
        say(line, err=True)
    return known
