"""How two datasets differ: in tasks, failed gates and figures, whoever shows it."""

from __future__ import annotations

from toolscale.records.base import Record
from toolscale.records.release import ChangedDomain, DomainChanges, Grading, Tag


class ComparedFigure(Record):
    """A figure of the dataset before and of the one after; None where a dataset does not have it."""

    before: float | None
    after: float | None
    difference: float | None


class ComparedTasks(Record):
    """What became of the tasks of a group, such as an intent."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    unchanged: int = 0


class ComparedDomain(Record):
    """How one domain differs."""

    changes: DomainChanges
    """Tasks and environment, in counts."""
    tasks: ChangedDomain
    """The tasks, by their ids."""
    intents: dict[str, ComparedTasks]
    outcomes: dict[str, ComparedTasks]
    """Each task is counted under its outcome of now; one that was removed, under the one that it had."""
    counts: dict[str, ComparedFigure]
    """Tasks that were asked for, and candidates that were accepted and rejected."""
    gates: dict[str, ComparedFigure]
    """Gate -> candidates that failed it; gates that none failed are left out."""
    quality: dict[str, ComparedFigure]
    """The figures of the quality gate."""


class Comparison(Record):
    """How a dataset differs from one before it."""

    before: Tag
    after: Tag
    grading_before: Grading
    grading_after: Grading
    """If it differs from `grading_before`, figures are not comparable."""
    domains: dict[str, ComparedDomain]
