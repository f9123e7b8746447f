"""Whether every fixture of a dataset gets the score that it must get, and is what follows from its task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from toolscale.config import POPULATION_SEED
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.columns import Row
from toolscale.dataset.fixtures import fixtures_file, read_fixtures, render_fixtures, sample, sampled
from toolscale.dataset.making.fixtures import make_fixtures, run_fixtures
from toolscale.dataset.storage import read_file
from toolscale.environment.environment import Environment
from toolscale.environment.population import populate
from toolscale.errors import DatasetError, SandboxError
from toolscale.records import Fixture
from toolscale.sandbox.base import Rows

MOST_TOLD = 20
"""So many false fixtures are told one by one."""


def check_fixtures(
    folder: Path, environment: Environment, database: Rows, scale: int, tasks: Sequence[Row]
) -> Iterator[Finding]:
    """Run all fixtures of a domain, those that are `reseeded` on rows that are populated anew; yield each that gets
    another score than it says. Then make them again: a file that lacks a kind, or whose sample was chosen otherwise, is
    not what ToolScale writes. A dataset that was made before there were fixtures has none."""
    place = fixtures_file(environment.domain)
    if not (folder / place).is_file():
        return
    try:
        fixtures = read_fixtures(folder, environment.domain)
    except DatasetError as error:
        yield Finding(place, "schema", str(error))
        return
    by_id = {row["id"]: row for row in tasks}
    chosen = sampled(fixtures)
    if chosen != sample(by_id, len(chosen)):
        yield Finding(place, "schema", f"its {len(chosen)} tasks are not those that a sample of so many has")
        return
    try:
        false = list(_run(environment, database, scale, by_id, fixtures))
    except SandboxError as error:
        yield Finding(place, "schema", f"its solutions cannot be played: {error}")
        return
    yield from (Finding(f"{place} line {number}", "schema", problem) for number, problem in false[:MOST_TOLD])
    if len(false) > MOST_TOLD:
        yield Finding(place, "schema", f"{len(false) - MOST_TOLD} more fixtures get another score than they say")
    anew = render_fixtures(make_fixtures(environment, database, [by_id[task] for task in chosen]))
    if not false and read_file(folder / place) != anew:
        yield Finding(place, "schema", "the file is not what follows from the tasks")


def _run(
    environment: Environment, database: Rows, scale: int, tasks: Mapping[str, Row], fixtures: Sequence[Fixture]
) -> Iterator[tuple[int, str]]:
    """Yield (line, what is wrong) of each fixture that is not graded as it says."""
    worlds = {False: database, True: populate(environment, POPULATION_SEED, scale)}
    for anew, rows in worlds.items():
        lines = [(number, each) for number, each in enumerate(fixtures, 1) if (each.kind == "reseeded") == anew]
        grades = run_fixtures(environment, rows, tasks.values(), [each for _, each in lines])
        for (number, each), grade in zip(lines, grades, strict=True):
            if (grade.score, grade.finding) != (each.score, each.finding):
                name = " ".join(filter(None, (each.kind, each.operator)))
                wanted, got = f"{each.score} ({each.finding})", f"{grade.score} ({grade.finding})"
                yield number, f"{name} of {each.task} must score {wanted}; it scores {got}"
