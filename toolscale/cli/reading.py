"""The verbs that read a dataset: verify, show, rejects, stats."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolscale.cli.measuring import measure, print_check, print_quality, quality_json, with_against
from toolscale.cli.output import as_json, echo_json, progress_bar, say, say_cents, with_key
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.dataset.columns import Row
    from toolscale.dataset.describing.reading import Reading

dataset_argument = click.argument("dataset", type=click.Path(path_type=Path))
MOST_SHOWN = 20
"""Tasks that a search shows, unless it is told how many."""


def _known_gate(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no gate. Their names stand among the records, and to import those takes long."""
    from toolscale.records import GATES

    return value and click.Choice(GATES).convert(value, parameter, context)


of_domain = click.option("--domain", metavar="DOMAIN", help="Only this domain of the dataset.  [default: all of them]")


@click.command()
@dataset_argument
@click.option("--workers", type=click.IntRange(1), help="Processes.  [default: as many as are worth their start]")
@with_key
@as_json
@click.pass_context
def verify(context: click.Context, dataset: Path, workers: int | None, key: str | None, json_: bool) -> None:
    """Draw and judge all of DATASET again, from its folder alone. Exits 1 and names each row or file that does not
    hold, or is missing."""
    from toolscale.dataset.checking.recheck import verify_dataset
    from toolscale.dataset.checking.signing import public_key
    from toolscale.exports.published import check_exports

    trusted = public_key(key) if key else None
    with progress_bar() as progress:
        verification = verify_dataset(
            dataset, workers=workers, key=trusted, progress=lambda done, total: progress("judging rows", done, total)
        )
    if not verification.findings:
        verification = replace(verification, findings=tuple(check_exports(dataset)))
    if json_:
        echo_json(asdict(verification) | {"holds": not verification.findings})
    else:
        for finding in verification.findings:
            say(str(finding))
        rows = (
            f"{verification.tasks} tasks, {verification.rejects} rejects "
            f"and {verification.others} other numbers drawn and judged again"
        )
        click.echo(
            f"{dataset}: {rows}; "
            + (f"{len(verification.findings)} findings" if verification.findings else "everything holds")
        )
    context.exit(1 if verification.findings else 0)


@click.command()
@dataset_argument
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--random", "sample", type=click.IntRange(1), metavar="N", help="Show N tasks drawn at random.")
@click.option("--seed", default=0, show_default=True, help="Of the draw.")
@click.option(
    "--search",
    metavar="TEXT",
    help="Only tasks whose request holds all words of TEXT, whatever their case; the first 20 unless drawn.",
)
@of_domain
@as_json
def show(
    dataset: Path,
    task_id: str | None,
    sample: int | None,
    seed: int,
    search: str | None,
    domain: str | None,
    json_: bool,
) -> None:
    """Print the task ID (or the first letters of its id) of DATASET for a person to read: request, calls with results,
    row changes as a diff."""
    from toolscale.cli.screen import print_task
    from toolscale.dataset.columns import check_task
    from toolscale.dataset.describing.reading import read_dataset
    from toolscale.dataset.describing.search import holds_all, words_of

    words = () if search is None else words_of(search)
    reading = read_dataset(dataset, domain)
    named = _matching(reading.rows.tasks, task_id, dataset) if task_id else reading.rows.tasks
    found = [row for row in named if holds_all(words, row["request"])]
    if task_id or (words and not sample):
        tasks = found[:MOST_SHOWN] if words else found
    else:
        tasks = _drawn(found, sample or 1, seed)
    for row in tasks:
        check_task(row)
    if json_:
        return echo_json(tasks)
    for row in tasks:
        print_task(row, _split_of(reading, row))
    if words:
        say(
            f"{len(tasks)} of {len(found)} tasks with the words {' '.join(words)}"
            + ("; --random N draws others" if len(tasks) < len(found) else "")
        )


@click.command()
@dataset_argument
@click.option("--gate", callback=_known_gate, metavar="GATE", help="Only those that failed this gate.")
@click.option(
    "--search",
    metavar="TEXT",
    help="Only those whose request and findings hold all words of TEXT, whatever their case.",
)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many at most are listed.")
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all of them as a table, .csv or .parquet, instead of a list.",
)
@of_domain
@as_json
def rejects(
    dataset: Path,
    gate: str | None,
    search: str | None,
    limit: int,
    export: Path | None,
    domain: str | None,
    json_: bool,
) -> None:
    """List the rejected candidates of DATASET with the gates that they failed and the command that reproduces each."""
    from toolscale.dataset.describing.export import check_export
    from toolscale.dataset.describing.reading import read_dataset
    from toolscale.dataset.describing.search import holds_all, words_of

    words = () if search is None else words_of(search)
    if export is not None:
        check_export(export, dataset)
    rows = read_dataset(dataset, domain).rows.rejects
    of_gate = [row for row in rows if gate is None or any(failed["gate"] == gate for failed in row["failed"])]
    found = [
        row for row in of_gate if holds_all(words, row["request"], *(failed["finding"] for failed in row["failed"]))
    ]
    of_which = (f" that failed {gate}" if gate else "") + (f" with the words {' '.join(words)}" if words else "")
    if export is not None:
        return _exported(found, export, of_which, json_)
    _listed(found, limit, of_which, json_)


@click.command()
@dataset_argument
@of_domain
@click.option("--quality", is_flag=True, help="Also measure variety, repetition and coverage, by domain.")
@with_against
@click.option("--check", is_flag=True, help="Measure, and exit 1 with a line for each figure that is out of its bound.")
@as_json
@click.pass_context
def stats(
    context: click.Context,
    dataset: Path,
    domain: str | None,
    quality: bool,
    against: tuple[str, ...],
    check: bool,
    json_: bool,
) -> None:
    """Count what is in DATASET: candidates and gates, calls, tools, tiers, mutants; with --quality, how varied its
    tasks are, and what of the domain they touch."""
    from toolscale.cli.tallies import print_figures
    from toolscale.dataset.describing.reading import read_dataset

    reading = read_dataset(dataset, domain)
    figures = reading.figures
    if not (quality or against or check):
        return echo_json(asdict(figures)) if json_ else print_figures(figures)
    measurement, found = measure(reading, against)
    if json_:
        echo_json(asdict(figures) | quality_json(measurement, found))
    else:
        if quality or against:
            print_figures(figures)
        print_quality(measurement)
        if check:
            print_check(found)
    context.exit(1 if check and not found.passed else 0)


def _exported(rows: list[Row], file: Path, of_which: str, json_: bool) -> None:
    from toolscale.dataset.describing.export import export_rejects

    export_rejects(rows, file)
    if json_:
        return echo_json({"file": str(file), "rejects": len(rows)})
    say(f"{file}: {len(rows)} rejects{of_which}")


def _listed(rows: list[Row], limit: int, of_which: str, json_: bool) -> None:
    from toolscale.cli.screen import print_reject
    from toolscale.dataset.columns import check_reject

    for row in rows[:limit]:
        check_reject(row)
    if json_:
        return echo_json(rows[:limit])
    for row in rows[:limit]:
        print_reject(row)
    say_cents(failed["finding"] for row in rows[:limit] for failed in row["failed"])
    say(f"{min(limit, len(rows))} of {len(rows)} rejects{of_which}")


def _matching(tasks: list[Row], start: str, dataset: Path) -> list[Row]:
    found = [row for row in tasks if row["id"].startswith(start)]
    if not found:
        raise UsageError(f"no task of {dataset} has an id that begins with {start!r}; see some with --random 5")
    return found


def _drawn(tasks: list[Row], count: int, seed: int) -> list[Row]:
    return random.Random(seed).sample(tasks, min(count, len(tasks)))


def _split_of(reading: Reading, row: Row) -> str:
    return next(split for split, part in reading.rows.splits.items() if any(other["id"] == row["id"] for other in part))
