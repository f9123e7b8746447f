"""`changes.json`: which tasks differ from those of the version that was published before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from toolscale.dataset.arrow import TASK_SCHEMA
from toolscale.dataset.checking.integrity import Finding
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.reading import Reading
from toolscale.dataset.manifest import MANIFEST, tag_of, world_folder
from toolscale.dataset.storage import read_file
from toolscale.dataset.world import ADMISSION
from toolscale.environment.registry import FILES, POLICY_TEXT
from toolscale.errors import DatasetError
from toolscale.records import (
    GATES,
    Admission,
    ChangedDomain,
    ChangedTask,
    Changes,
    DomainChanges,
    Manifest,
    Regraded,
    RegradedTasks,
    Release,
)

CHANGES = "changes.json"
TOOLS_OF, POLICY_OF = {"toolset.yaml"}, {"policy.md", "rules.yaml"}


def compare_domains(now: Reading, before: Reading) -> dict[str, ChangedDomain]:
    """Return how each domain of either dataset changed."""
    return {domain: _compare(domain, now, before) for domain in sorted(now.domains.keys() | before.domains.keys())}


def render_changes(changes: Changes) -> bytes:
    """Return the content of `changes.json`."""
    return (json.dumps(changes.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()


def read_changes(folder: Path) -> Changes:
    """Return what `changes.json` says. DatasetError if it cannot be read."""
    try:
        return Changes.model_validate_json(read_file(folder / CHANGES))
    except ValidationError as error:
        raise DatasetError(
            f"{folder / CHANGES} does not say what changed: {error.errors()[0]['msg'].lower()}"
        ) from error


def summary_of(changes: Changes) -> Release:
    """Return what the manifest and the card say of the changes: counts instead of ids."""
    domains = {domain: count_changes(change) for domain, change in changes.domains.items()}
    return Release(
        previous=changes.previous, grading=changes.grading, previous_grading=changes.previous_grading, domains=domains
    )


def count_changes(change: ChangedDomain) -> DomainChanges:
    """Return how a domain changed in counts instead of ids."""
    files = set(change.files)
    kept = change.status == "kept"
    return DomainChanges(
        status=change.status,
        environment=bool(files) or change.database or not kept,
        tools=bool(files & TOOLS_OF) or not kept,
        policy=bool(files & POLICY_OF) or not kept,
        database=change.database,
        files=change.files,
        added=len(change.added),
        removed=len(change.removed),
        changed=len(change.changed),
        unchanged=change.unchanged,
        columns=dict(sorted(Counter(name for task in change.changed for name in task.columns).items())),
        regraded=None if change.regraded is None else _count(change.regraded),
    )


def check_changes(folder: Path, manifest: Manifest, ids: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """Yield what in `changes.json` contradicts the manifest or the ids of the tasks: domain -> ids.

    The version before is not in the folder: which tasks it had, and what differed in them, is attested.
    """
    listed = any(entry.path == CHANGES for entry in manifest.files)
    if listed != (manifest.release is not None):
        yield Finding(
            CHANGES, "schema", "the file and the release in the manifest belong together: one of them is missing"
        )
    if manifest.release is None or not listed:
        return
    try:
        changes = read_changes(folder)
    except DatasetError as error:
        yield Finding(CHANGES, "schema", str(error))
        return
    yield from (Finding(CHANGES, "schema", problem) for problem in _false_frame(changes, manifest))
    if changes.tag != tag_of(manifest):
        yield Finding(CHANGES, "schema", f"the tag is {changes.tag}; the files make it {tag_of(manifest)}")
    if summary_of(changes) != manifest.release:
        yield Finding(CHANGES, "schema", "the manifest counts other changes")
    if changes.previous is not None and not ids.keys() <= changes.domains.keys():
        yield Finding(CHANGES, "schema", f"it says nothing of {', '.join(sorted(ids.keys() - changes.domains.keys()))}")
    for domain, change in changes.domains.items():
        yield from (
            Finding(CHANGES, "schema", f"{domain}: {problem}") for problem in _contradictions(change, ids.get(domain))
        )


def _false_frame(changes: Changes, manifest: Manifest) -> Iterator[str]:
    """Yield what is false whatever the tasks are: a wrong version of the grading, a first version that names one before
    it, names of columns, gates or files that do not exist."""
    for domain, part in manifest.domains.items():
        if (graded := part.versions.get("grading")) != changes.grading:
            yield f"the grading is {changes.grading}; {MANIFEST} says that {domain} was graded under {graded or 'none'}"
    if (changes.previous is None) != (changes.previous_grading is None) or (
        changes.previous is None and changes.domains
    ):
        yield "a version that follows another tells of its tag and grading, a first version of nothing"
    for domain, change in changes.domains.items():
        columns = {name for task in change.changed for name in task.columns} - set(TASK_SCHEMA.names)
        gates = (
            {name for task in change.regraded.failed for name in task.gates} - set(GATES) if change.regraded else set()
        )
        files = set(change.files) - {*FILES, POLICY_TEXT}
        if unknown := sorted(columns | gates | files):
            yield f"{domain}: {unknown[0]!r} is no column, gate or file of an environment"


def _contradictions(change: ChangedDomain, present: Collection[str] | None) -> Iterator[str]:
    ids = present or ()
    there = [*change.added, *(task.id for task in change.changed)]
    if (change.status == "gone") != (present is None):
        yield f"it is said to be {change.status}, and is {'not ' if present is None else ''}there"
    yield from (f"task {name} is said to be added or changed, but is not there" for name in there if name not in ids)
    yield from (f"task {name} is said to be removed, but is there" for name in change.removed if name in ids)
    if len(set(there)) != len(there) or len(there) + change.unchanged != len(ids):
        yield f"{len(there)} added or changed tasks and {change.unchanged} others are not the {len(ids)} that are there"


def _compare(domain: str, now: Reading, before: Reading) -> ChangedDomain:
    if domain not in now.domains or domain not in before.domains:
        known = now if domain in now.domains else before
        ids = tuple(sorted(row["id"] for row in known.domains[domain].tasks))
        new = known is now
        return ChangedDomain(
            status="new" if new else "gone",
            files=(),
            database=True,
            added=ids if new else (),
            removed=() if new else ids,
            changed=(),
            unchanged=0,
        )
    pairs, added, removed = _pair(now.domains[domain].tasks, before.domains[domain].tasks)
    changed = [
        ChangedTask(id=row["id"], was=old["id"], columns=tuple(name for name in row if row[name] != old[name]))
        for row, old in pairs
        if row != old
    ]
    tables = [reading.manifest.domains[domain].tables for reading in (now, before)]
    return ChangedDomain(
        status="kept",
        files=_changed_files(domain, now, before),
        database=tables[0] != tables[1],
        added=tuple(sorted(row["id"] for row in added)),
        removed=tuple(sorted(row["id"] for row in removed)),
        changed=tuple(sorted(changed, key=lambda task: task.id)),
        unchanged=len(pairs) - len(changed),
    )


def _pair(now: Sequence[Row], before: Sequence[Row]) -> tuple[list[tuple[Row, Row]], list[Row], list[Row]]:
    """Pair tasks of two versions: those of the same content first, then those of the same candidate. Return the pairs,
    and what is left of each."""
    pairs: list[tuple[Row, Row]] = []
    for identity in (_content, _candidate):
        old = {identity(row): row for row in before}
        matched = [(row, old.pop(identity(row))) for row in now if identity(row) in old]
        pairs += matched
        taken, left = {row["id"] for row, _ in matched}, {row["id"] for _, row in matched}
        now, before = [row for row in now if row["id"] not in taken], [row for row in before if row["id"] not in left]
    return pairs, list(now), list(before)


def _content(row: Row) -> Hashable:
    return str(row["id"])


def _candidate(row: Row) -> Hashable:
    return row["provenance"]["seed"], row["provenance"]["candidate"], row["intent_id"]


def _changed_files(domain: str, now: Reading, before: Reading) -> tuple[str, ...]:
    ours, theirs = (_environment_files(reading.folder, domain) for reading in (now, before))
    return tuple(sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)))


def _environment_files(folder: Path, domain: str) -> dict[str, str]:
    """File of the environment -> hash of its content: layout and comments do not count. Names are told in the card:
    only those we know."""
    path = world_folder(folder, domain) / ADMISSION
    try:
        files = Admission.model_validate_json(read_file(path)).files
        return {name: value for name, value in files.items() if name in FILES or name == POLICY_TEXT}
    except ValidationError as error:
        raise DatasetError(
            f"{path} is not an admission record: {error.errors()[0]['msg'].lower()}; pull the dataset again"
        ) from error


def _count(tasks: RegradedTasks) -> Regraded:
    passed, failed, unjudged = len(tasks.passed), len(tasks.failed), len(tasks.unjudged)
    gates = Counter(gate for task in tasks.failed for gate in task.gates)
    return Regraded(
        tasks=passed + failed + unjudged,
        passed=passed,
        failed=failed,
        gates=dict(sorted(gates.items())),
        unjudged=unjudged,
    )
