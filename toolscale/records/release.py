"""What changed between two published versions of a dataset: in words of the manifest (counts), and of `changes.json`
(ids)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from toolscale.records.base import Record

Tag = Annotated[str, Field(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+-[0-9a-f]{8}$")]
Grading = Annotated[str, Field(pattern=r"^([0-9]{1,6}|unknown)$")]
Status = Literal["new", "kept", "gone"]


class Regraded(Record):
    """What today's judge says of the tasks of the previous version of one domain."""

    tasks: int
    passed: int
    """Tasks that pass every gate today."""
    failed: int
    gates: dict[str, int]
    """Gate -> tasks that fail it today; one can fail several."""
    unjudged: int
    """Tasks that could not be judged; `changes.json` says why."""


class DomainChanges(Record):
    """How one domain changed, in counts."""

    status: Status
    environment: bool
    """Whether anything of the environment changed; `files` names what."""
    tools: bool
    policy: bool
    database: bool
    files: tuple[str, ...]
    """Files of the environment whose content changed."""
    added: int
    removed: int
    changed: int
    """Tasks that are the same candidate as before, with other content."""
    unchanged: int
    columns: dict[str, int]
    """Column -> changed tasks in which it differs."""
    regraded: Regraded | None = None
    """There if the previous version was graded otherwise."""


class Release(Record):
    """What changed since the version that was published before."""

    previous: Tag | None
    """The tag of that version; None: this is the first one."""
    grading: Grading
    previous_grading: Grading | None
    """If it differs from `grading`, scores are not comparable across the two versions."""
    domains: dict[str, DomainChanges]
    """Empty for a first version."""


class ChangedTask(Record):
    """A task that is the same candidate as before, with other content. Its id is a hash of its content: mostly it is
    another one."""

    id: str
    was: str
    columns: tuple[str, ...]


class FailedTask(Record):
    """A task of the previous version that fails today."""

    id: str
    gates: dict[str, str]
    """Gate -> what it finds."""


class UnjudgedTask(Record):
    """A task of the previous version that could not be judged today."""

    id: str
    reason: str


class RegradedTasks(Record):
    """What today's judge says of every task of the previous version of one domain."""

    passed: tuple[str, ...]
    failed: tuple[FailedTask, ...]
    unjudged: tuple[UnjudgedTask, ...]


class ChangedDomain(Record):
    """How one domain changed, by the ids of its tasks, each list sorted."""

    status: Status
    files: tuple[str, ...]
    database: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedTask, ...]
    unchanged: int
    regraded: RegradedTasks | None = None


class Changes(Record):
    """`changes.json` of a published version."""

    tag: Tag
    """Of the version that this file lies in."""
    previous: Tag | None
    grading: Grading
    previous_grading: Grading | None
    domains: dict[str, ChangedDomain]
