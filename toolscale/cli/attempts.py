"""The verbs about what models make of tasks: solve, quarantine, decide."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.asking import asks_model
from toolscale.cli.judging import takes_judge
from toolscale.cli.output import as_json, echo_json, progress_bar, say

if TYPE_CHECKING:
    from toolscale.limits import RunLimits
    from toolscale.models.judging import JudgeSettings
    from toolscale.pipeline.deciding import Case
    from toolscale.pipeline.solving import Solving


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--samples", default=4, show_default=True, type=click.IntRange(1, 64), help="Attempts at each task.")
@click.option("--tasks", type=click.IntRange(1), help="So many tasks, drawn by hash.  [default: all]")
@click.option("--out", type=click.Path(path_type=Path), help="The dataset to write.  [default: DATASET itself]")
@asks_model
@takes_judge
@as_json
@click.pass_context
def solve(
    context: click.Context,
    dataset: Path,
    samples: int,
    tasks: int | None,
    out: Path | None,
    limits: RunLimits,
    replies: Path,
    record: Path | None,
    judge: JudgeSettings | None,
    json_: bool,
) -> None:
    """Have a model try the tasks of DATASET, and make it again with the gate `solvable`.

    A task that no attempt solves is rejected. Where more than half of the attempts agree on another end state, the task
    is put into quarantine: see `toolscale quarantine`. The attempts lie in the dataset, so that `verify` grades them
    again. A second model adds to the attempts of the first. Final messages that rules cannot grade are undecided,
    unless a judge is named, who reads them: its verdicts lie beside the attempts.

    The model is any OpenAI-compatible one: TOOLSCALE_MODEL is its name, OPENAI_BASE_URL and OPENAI_API_KEY say where,
    TOOLSCALE_MODEL_PRICE what a million tokens cost (0.25/2). Exits 1 if a limit stopped it, or a
    judge that is gone, or if fewer tasks are left than were asked for.
    """
    from toolscale.cli.tallies import costs_told, print_costs, telling_costs
    from toolscale.models.chat import Ledger, model_from
    from toolscale.pipeline.solving import SolveSettings, solve_dataset

    model, ledger = model_from(os.environ), Ledger()
    settings = SolveSettings(out, samples, tasks, limits, replies, record, judge)
    with telling_costs(ledger, json_=json_):
        solving = solve_dataset(dataset, model, settings, lambda line: say(line, err=True), ledger)
    if json_:
        costs = costs_told(ledger)
        told = {"dataset": str(solving.dataset), "tried": solving.tried, "outcomes": dict(solving.outcomes)}
        told |= {
            "failed": solving.failed,
            "malformed": solving.malformed,
            "read": solving.read,
            "unread": solving.unread,
        }
        echo_json({**told, "short": solving.short, "stopped": solving.stopped, "costs": costs})
    else:
        print_costs(ledger)
        _print_solving(solving, ledger.total().worth_usd)
    context.exit(1 if solving.stopped or solving.short else 0)


def _print_solving(solving: Solving, worth: float | None) -> None:
    say(f"{solving.dataset}: {solving.tried} tasks were tried")
    meaning = {
        "always": "solved each time",
        "sometimes": "solved, not each time",
        "undecided": "right or not: rules cannot tell, and no judge has read the message",
        "never": "never solved, rejected",
        "quarantined": "in quarantine: most attempts agree on another end state",
    }
    for kind, told in meaning.items():
        if solving.outcomes[kind]:
            say(f"  {solving.outcomes[kind]:>6}  {told}")
    kept = sum(solving.outcomes[kind] for kind in ("always", "sometimes"))
    if worth is not None and kept:
        say(f"  ${worth / kept:.4f} for each task that was solved")
    if solving.failed:
        say(f"  {solving.failed} attempts had no answer of the server, and do not count; run it again")
    if solving.malformed:
        say(f"  {solving.malformed} of the model's messages could not be read; it was told so, and the attempts count")
    if solving.read:
        say(f"  the judge read {solving.read} final messages")
    if solving.unread:
        say(f"  {solving.unread} final messages have no verdict and stay undecided; the last: {solving.why_unread}")
    for line in filter(None, (solving.short, solving.stopped)):
        say(f"  {line}")
    if solving.outcomes["quarantined"]:
        say(f"read them: toolscale quarantine {solving.dataset}")


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@as_json
def quarantine(dataset: Path, json_: bool) -> None:
    """List the tasks of DATASET on whose end state most attempts agree, against the golden one."""
    from toolscale.pipeline.deciding import quarantined

    cases = quarantined(dataset)
    if json_:
        return echo_json([_told(case) for case in cases])
    for case in cases:
        say(f"{case.candidate.number}  {case.candidate.intent_id}: {case.finding}")
        say(f"  {case.candidate.request}")
        for name, calls in (("golden", case.golden), ("agreed", case.agreed)):
            for call in calls:
                say(f"  {name}: {call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})")
        say(f"  they say: {case.answer}")
    say(f"{len(cases)} tasks wait for a decision" + (f": toolscale decide {dataset} NUMBER --take …" if cases else ""))


def _told(case: Case) -> dict[str, object]:
    return {
        "number": case.candidate.number,
        "request": case.candidate.request,
        "finding": case.finding,
        "golden": [call.model_dump(mode="json") for call in case.golden],
        "agreed": [call.model_dump(mode="json") for call in case.agreed],
        "answer": case.answer,
    }


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.argument("number", type=click.IntRange(0))
@click.option(
    "--take",
    required=True,
    type=click.Choice(["accept", "reject", "add"]),
    help="accept: the task stays as it is; reject: it goes; add: the end state that they agree on is right too.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why, for whoever reads it later.")
@click.option("--by", metavar="NAME", help="Who decides.  [default: the name of the user]")
@as_json
def decide(dataset: Path, number: int, take: str, reason: str, by: str | None, json_: bool) -> None:
    """Decide about the task of candidate NUMBER of DATASET, which is in quarantine, and make the dataset again.

    The decision is kept with the environment, in decisions.jsonl, and holds for every dataset with this task.
    """
    from toolscale.pipeline.deciding import decide as keep

    with progress_bar() as progress:
        made, file = keep(dataset, number, take, reason, by or getpass.getuser(), progress)
    if json_:
        return echo_json({"dataset": str(dataset), "decisions": str(file), "counts": made.part.counts})
    say(f"kept in {file}; {dataset} is made again: {made.part.counts['accepted']} tasks")
