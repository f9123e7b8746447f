"""The verbs that read a dataset: verify, show, rejects, stats."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import as_json, echo_json, progress_bar, say, with_key
from toolscale.errors import UsageError
from toolscale.records import GATES

if TYPE_CHECKING:
    from toolscale.dataset.columns import Row
    from toolscale.dataset.folder import Reading

dataset_argument = click.argument("dataset", type=click.Path(path_type=Path))
of_domain = click.option("--domain", metavar="DOMAIN", help="Only this domain of the dataset.  [default: all of them]")


@click.command()
@dataset_argument
@click.option("--workers", type=click.IntRange(1), help="Processes.  [default: as many as are worth their start]")
@with_key
@as_json
@click.pass_context
def verify(context: click.Context, dataset: Path, workers: int | None, key: str | None, json_: bool) -> None:
    """Draw and judge all of DATASET again, from its folder alone. Exits 1 and names each row or file that does not hold, or is missing."""
    from toolscale.dataset.recheck import verify_dataset
    from toolscale.dataset.signing import public_key

    trusted = public_key(key) if key else None
    with progress_bar() as progress:
        verification = verify_dataset(dataset, workers=workers, key=trusted, progress=lambda done, total: progress("judging rows", done, total))
    if json_:
        echo_json(asdict(verification) | {"holds": not verification.findings})
    else:
        for finding in verification.findings:
            say(str(finding))
        rows = f"{verification.tasks} tasks, {verification.rejects} rejects and {verification.others} other numbers drawn and judged again"
        click.echo(f"{dataset}: {rows}; " + (f"{len(verification.findings)} findings" if verification.findings else "everything holds"))
    context.exit(1 if verification.findings else 0)


@click.command()
@dataset_argument
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--random", "sample", type=click.IntRange(1), metavar="N", help="Show N tasks drawn at random.")
@click.option("--seed", default=0, show_default=True, help="Of the draw.")
@of_domain
@as_json
def show(dataset: Path, task_id: str | None, sample: int | None, seed: int, domain: str | None, json_: bool) -> None:
    """Print the task ID (or the first letters of its id) of DATASET for a person to read: request, calls with results, row changes as a diff."""
    from toolscale.cli.screen import print_task
    from toolscale.dataset.columns import check_task
    from toolscale.dataset.folder import read_dataset

    reading = read_dataset(dataset, domain)
    tasks = _matching(reading.rows.tasks, task_id, dataset) if task_id else _drawn(reading.rows.tasks, sample or 1, seed)
    for row in tasks:
        check_task(row)
    if json_:
        return echo_json(tasks)
    for row in tasks:
        print_task(row, _split_of(reading, row))


@click.command()
@dataset_argument
@click.option("--gate", type=click.Choice(GATES), metavar="GATE", help="Only those that failed this gate.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many at most.")
@of_domain
@as_json
def rejects(dataset: Path, gate: str | None, limit: int, domain: str | None, json_: bool) -> None:
    """List the rejected candidates of DATASET with the gates that they failed and the command that reproduces each."""
    from toolscale.cli.screen import print_reject
    from toolscale.dataset.columns import check_reject
    from toolscale.dataset.folder import read_dataset

    rows = read_dataset(dataset, domain).rows.rejects
    found = [row for row in rows if gate is None or any(failed["gate"] == gate for failed in row["failed"])]
    for row in found[:limit]:
        check_reject(row)
    if json_:
        return echo_json(found[:limit])
    for row in found[:limit]:
        print_reject(row)
    click.echo(f"{min(limit, len(found))} of {len(found)} rejects" + (f" that failed {gate}" if gate else ""))


@click.command()
@dataset_argument
@of_domain
@as_json
def stats(dataset: Path, domain: str | None, json_: bool) -> None:
    """Count what is in DATASET: candidates and gates, calls, tools, tiers, mutants."""
    from toolscale.cli.screen import print_figures
    from toolscale.dataset.folder import read_dataset

    figures = read_dataset(dataset, domain).figures
    echo_json(asdict(figures)) if json_ else print_figures(figures)


def _matching(tasks: list[Row], start: str, dataset: Path) -> list[Row]:
    found = [row for row in tasks if row["id"].startswith(start)]
    if not found:
        raise UsageError(f"no task of {dataset} has an id that begins with {start!r}; see some with --random 5")
    return found


def _drawn(tasks: list[Row], count: int, seed: int) -> list[Row]:
    return random.Random(seed).sample(tasks, min(count, len(tasks)))


def _split_of(reading: Reading, row: Row) -> str:
    return next(split for split, part in reading.rows.splits.items() if any(other["id"] == row["id"] for other in part))
