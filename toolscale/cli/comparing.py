"""The verb that compares two datasets: diff."""

from __future__ import annotations

import click

from toolscale.cli.output import as_json, echo_json


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@as_json
def diff(before: str, after: str, json_: bool) -> None:
    """Say how the dataset B differs from A, each a folder or a URL: tasks, failed gates, figures of quality,
    environment.

    Tasks are paired by their content, and then by the candidate that they were made of: such a pair is a task that
    changed.
    """
    from toolscale.cli.tallies import print_comparison
    from toolscale.dataset.comparing.comparison import compare_places

    comparison = compare_places(before, after)
    echo_json(comparison.model_dump(mode="json")) if json_ else print_comparison(comparison)
