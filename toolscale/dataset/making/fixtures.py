"""The fixtures of a domain: made when a dataset is written, and made and run again when it is verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from toolscale.dataset.columns import Row, candidate_of
from toolscale.environment.environment import Environment
from toolscale.records import Fixture, Grade
from toolscale.sandbox.base import Rows
from toolscale.verify.fixtures import fixtures_of
from toolscale.verify.graded import grade_subject
from toolscale.verify.judge import Judge
from toolscale.verify.mutants import MutantMaker


@contextmanager
def _judge(environment: Environment, database: Rows) -> Iterator[Judge]:
    judge = Judge(environment, database, audit_share=0, replica=False)
    try:
        yield judge
    finally:
        judge.close()


def make_fixtures(environment: Environment, database: Rows, rows: Iterable[Row]) -> list[Fixture]:
    """Return the fixtures of tasks, in their order."""
    maker = MutantMaker(environment, database)
    with _judge(environment, database) as judge:
        return [
            fixture
            for row in rows
            for fixture in fixtures_of(judge.subject(candidate_of(row)), judge, maker, row["id"])
        ]


def run_fixtures(
    environment: Environment, database: Rows, rows: Iterable[Row], fixtures: Sequence[Fixture]
) -> list[Grade]:
    """Return the grades of fixtures of tasks that are among `rows`, in their order."""
    by_id, grades = {row["id"]: row for row in rows}, list[Grade]()
    with _judge(environment, database) as judge:
        for task, group in groupby(fixtures, lambda fixture: fixture.task):
            subject = judge.subject(candidate_of(by_id[task]))
            grades += [grade_subject(subject, each.calls, each.answer) for each in group]
    return grades
