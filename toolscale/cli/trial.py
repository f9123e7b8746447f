"""The verb that puts the judge on trial: selftest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from toolscale.cli.output import as_json, echo_json, progress_bar

if TYPE_CHECKING:
    from toolscale.verify.selftest import KindRow, Outcome, SelfTest
    from toolscale.verify.weakened import WeakenedResult


@click.command()
@click.argument("domain")
@click.option("--per-kind", default=10, show_default=True, type=click.IntRange(1), help="Defects planted of each kind.")
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Of the candidates, and of what is done to them.",
)
@click.option("--kinds", metavar="A,B", help="Only these kinds of defects.  [default: all]")
@click.option(
    "--tasks",
    default=40,
    show_default=True,
    type=click.IntRange(0),
    help="Tasks that verifiers with a check less grade; 0: none.",
)
@as_json
@click.pass_context
def selftest(
    context: click.Context, domain: str, per_kind: int, seed: int, kinds: str | None, tasks: int, json_: bool
) -> None:
    """Judge the judge of DOMAIN (a name or a folder): plant defects in good candidates and count which gates find them.

    Then take one check of the verifier away at a time and count what slips through. Exits 1 and names the first
    threshold that was missed: defects that were let pass, good candidates that were rejected, a trajectory that the
    verifier graded wrongly, a check that is not missed.
    """
    from toolscale.cli.tallies import print_selftest, print_weakened
    from toolscale.config import POPULATION_SEED
    from toolscale.environment.environment import load_environment
    from toolscale.environment.population import populate
    from toolscale.verify.selftest import run_selftest
    from toolscale.verify.weakened import measure

    environment = load_environment(domain)
    rows = populate(environment, seed=POPULATION_SEED)
    chosen = tuple(kind.strip() for kind in kinds.split(",")) if kinds else ()
    with progress_bar() as progress:
        found = run_selftest(environment, rows, per_kind=per_kind, seed=seed, kinds=chosen, progress=progress)
        if tasks:
            progress("verifiers weakened by hand", 0, 1)
        weakened = measure(environment, rows, tasks=tasks, seed=seed) if tasks else ()
    missed = [*found.missed(), *_unnoticed(weakened)]
    if json_:
        echo_json(_as_json(found, missed) | {"weakened": [asdict(result) for result in weakened]})
    else:
        print_selftest(found)
        print_weakened(weakened)
    for line in missed[:1]:
        click.echo(f"toolscale: {line}", err=True)
    context.exit(1 if missed else 0)


def _unnoticed(results: Sequence[WeakenedResult]) -> Iterator[str]:
    """Yield what the full verifier, the first, graded wrongly, and the checks whose loss does not show."""
    if results and (results[0].wrong_killed < 1 or results[0].right_accepted < 1):
        yield "the full verifier grades a trajectory wrongly"
    for result in results[1:]:
        if not result.visibly_weaker:
            yield f"the verifier {result.name!r} is not visibly weaker"


def _as_json(found: SelfTest, missed: list[str]) -> dict[str, Any]:
    rejected = [_outcome(outcome) for outcome in found.good_rejected]
    good = {
        "judged": found.good,
        "rejected": len(rejected),
        "wrongly": len(found.wrongly),
        "collided": len(found.collided),
        "findings": rejected,
    }
    counts = {"domain": found.domain, "seed": found.seed, "planted": found.planted, "rejected": found.rejected}
    return counts | {"missed": missed, "kinds": [_kind(row) for row in found.kinds], "good": good}


def _kind(row: KindRow) -> dict[str, Any]:
    counts = {
        "planted": row.planted,
        "rejected": row.rejected,
        "share": row.share,
        "not_applicable": row.not_applicable,
    }
    let_pass = [_outcome(outcome) for outcome in row.outcomes if not outcome.findings]
    known = {"kind": row.kind, "level": row.level, "words": row.words, "open": row.open}
    return known | counts | {"gates": row.gates, "alone": row.alone, "let_pass": let_pass}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {"candidate": outcome.number, "what": outcome.what, "findings": outcome.findings}
