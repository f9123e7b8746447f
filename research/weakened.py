"""`python -m research.weakened`: how much weaker the verifier is without each of its checks; exit status 1 if the whole
verifier is wrong about a trajectory, or if the loss of a check does not show.

python -m research.weakened [--domain finance] [--tasks 300] [--seed 1] [--write]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from research.tables import replace_section, table
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.verify.weakened import WeakenedResult, measure

PAGE = Path(__file__).parents[1] / "docs" / "measurements" / "verifier.md"
SECTION = "weakened verifiers"
"""Of the page, which `--write` replaces."""
HEADS = ("verifier", "what it compares", ">wrong killed", ">idle agents killed", ">right accepted")


def percent(share: float) -> str:
    """Return a share with one decimal, rounded down: only all is 100 %."""
    return f"{math.floor(share * 1000) / 10:.1f} %" if share < 1 else "100 %"


def section(domain: str, tasks: int, seed: int, results: Sequence[WeakenedResult]) -> str:
    """Return what stands in the section."""
    draw = results[0]
    counts = f"{draw.wrong:,} wrong trajectories, {draw.idle:,} of them idle agents, and {draw.right:,} right ones"
    rows = [
        (each.name, each.what, *map(percent, (each.wrong_killed, each.idle_killed, each.right_accepted)))
        for each in results
    ]
    return f"{domain}, {tasks} accepted tasks of seed {seed}: {counts}.\n\n{table(HEADS, rows)}"


@click.command()
@click.option("--domain", default="finance", show_default=True)
@click.option("--tasks", default=300, show_default=True, help="Accepted tasks whose trajectories are graded.")
@click.option(
    "--seed", default=1, show_default=True, help="Seed of the candidates, and of the mutants; datasets are made with 0."
)
@click.option("--write", is_flag=True, help="Put the table into docs/measurements/verifier.md.")
def main(domain: str, tasks: int, seed: int, write: bool) -> None:
    """Print the table and exit 1 if the verifier is wrong about a trajectory, or a weakened one is not visibly
    weaker."""
    environment = load_environment(domain)
    full, *weakened = measure(environment, populate(environment), tasks=tasks, seed=seed)
    made = section(domain, tasks, seed, (full, *weakened))
    click.echo(made)
    if write:
        PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8"), SECTION, made), encoding="utf-8")
    unnoticed = [result.name for result in weakened if not result.visibly_weaker]
    if full.wrong_killed < 1 or full.right_accepted < 1:
        click.echo("the full verifier judges a trajectory wrongly", err=True)
    if unnoticed:
        click.echo(f"not visibly weaker on these mutants: {', '.join(unnoticed)}", err=True)
    sys.exit(1 if unnoticed or full.wrong_killed < 1 or full.right_accepted < 1 else 0)


if __name__ == "__main__":
    main()
