"""The verb that removes what need not be kept: prune."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from toolscale.cli.output import as_json, bytes_text, echo_json, say
from toolscale.errors import UsageError

if TYPE_CHECKING:
    from toolscale.pipeline.pruning import PrunedRun


@click.command()
@click.argument("data")
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="N",
    help="How many of the newest complete runs stay.  [default: TOOLSCALE_KEEP]",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing: say what would go.")
@as_json
def prune(data: str, keep: int | None, dry_run: bool, json_: bool) -> None:
    """Remove old runs of DATA, the folder or URL that TOOLSCALE_DATA names, but for the newest.

    What was published, what is being made, published or trained on, and what is no run of ToolScale stays.
    """
    from toolscale.pipeline.pruning import NEWEST, keep_told, prune_runs

    wanted = keep_told() if keep is None else keep
    if wanted is None:
        raise UsageError("--keep is missing, and TOOLSCALE_KEEP is not set; say how many of the newest runs stay")
    goes = "would go" if dry_run else "removed"

    def tell(run: PrunedRun) -> None:
        if not json_ and run.kept != NEWEST:
            say(f"{'stays' if run.kept else goes:<10}{run.kept or bytes_text(run.bytes)}: {run.name}")

    runs = prune_runs(data, wanted, dry_run=dry_run, told=tell)
    gone = [run for run in runs if not run.kept]
    size = sum(run.bytes for run in gone)
    if json_:
        return echo_json(
            {"data": data, "keep": wanted, "dry_run": dry_run, "bytes": size, "runs": [asdict(run) for run in runs]}
        )
    say(f"{data}: {len(gone)} runs {goes} ({bytes_text(size)}), {len(runs) - len(gone)} stay")
