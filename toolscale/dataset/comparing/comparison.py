"""How a dataset differs from another one: computed once, shown by the command line, by pages, and to whoever
approves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from toolscale.dataset.checking.changes import compare_domains, count_changes
from toolscale.dataset.checking.quality import count_quality
from toolscale.dataset.columns import UNREADABLE, Row
from toolscale.dataset.describing.figures import DatasetRows
from toolscale.dataset.describing.reading import Reading, figures_of, read_dataset
from toolscale.dataset.manifest import MANIFEST, tag_of
from toolscale.dataset.places import is_local, local_copy, open_place
from toolscale.dataset.storage import storage_errors
from toolscale.errors import DatasetError
from toolscale.records import (
    ChangedDomain,
    ComparedDomain,
    ComparedFigure,
    ComparedTasks,
    Comparison,
    DomainChanges,
    Manifest,
    Part,
)
from toolscale.text_files import printable

_Figures = Mapping[str, Mapping[str, float]]
"""Kind of figures -> name -> figure."""


def compare_places(before: str | Path, after: str | Path) -> Comparison:
    """Compare two dataset folders, each given by its path or URL. DatasetError if one is no dataset or cannot be
    read."""
    old, new = (_dataset_at(url) for url in (before, after))
    with local_copy(old) as one, local_copy(new) as other:
        return compare_datasets(read_dataset(one), read_dataset(other))


def compare_datasets(before: Reading, after: Reading) -> Comparison:
    """Return how `after` differs from `before`. DatasetError if rows cannot be counted."""
    found = compare_domains(after, before)
    return Comparison(
        before=tag_of(before.manifest),
        after=tag_of(after.manifest),
        grading_before=_grading(before.manifest),
        grading_after=_grading(after.manifest),
        domains={domain: _compare(domain, change, before, after) for domain, change in found.items()},
    )


def outline(comparison: Comparison) -> list[str]:
    """Return the comparison in short: a line for each domain, with the tasks, the parts of the environment and the
    figures that changed."""
    lines = [f"{domain}: {'; '.join(_said(found))}" for domain, found in comparison.domains.items()]
    if comparison.grading_before != comparison.grading_after:
        lines.append(
            f"graded under version {comparison.grading_after}, before under {comparison.grading_before}: "
            "figures are not comparable"
        )
    return lines


def environment_words(changes: DomainChanges) -> str:
    """Return which parts of the environment changed, in words."""
    if changes.status != "kept":
        return "the domain is new" if changes.status == "new" else "the domain is gone"
    parts = [name for name in ("tools", "policy", "database") if getattr(changes, name)]
    if not changes.environment:
        return "environment as before"
    files = f" ({', '.join(changes.files)})" if changes.files else ""
    return f"environment changed: {', '.join(parts) or 'neither tools, policy nor database'}{files}"


def changed_groups(groups: Mapping[str, ComparedTasks]) -> tuple[dict[str, ComparedTasks], int]:
    """Return the groups in which something changed, and how many others there are."""
    changed = {name: tasks for name, tasks in groups.items() if tasks.added or tasks.removed or tasks.changed}
    return changed, len(groups) - len(changed)


def _said(found: ComparedDomain) -> Iterator[str]:
    changes = found.changes
    yield (
        f"{changes.added:,} tasks added, {changes.removed:,} removed, "
        f"{changes.changed:,} changed, {changes.unchanged:,} unchanged"
    )
    yield environment_words(changes)
    for name, figure in found.quality.items():
        if figure.difference:
            yield f"{name} {figure.before:g} -> {figure.after:g} ({figure.difference:+g})"


def _dataset_at(url: str | Path) -> Path:
    """Return the place. A remote one is looked at before it is copied: a message about a copy would name a folder that
    nobody knows."""
    place = open_place(url)
    if not is_local(place):
        with storage_errors("read", place):
            there = (place / MANIFEST).exists()
        if not there:
            raise DatasetError(
                f"{place} has no {MANIFEST}: it is no dataset, or was never finished; give the URL of a dataset"
            )
    return place


def _grading(manifest: Manifest) -> str:
    graded = manifest.versions.get("grading", "")
    return graded if re.fullmatch("[0-9]{1,6}", graded) else "unknown"  # it is shown, whoever wrote that manifest


def _compare(domain: str, change: ChangedDomain, before: Reading, after: Reading) -> ComparedDomain:
    old, new = (_counted(reading, domain) for reading in (before, after))
    tasks = [reading.domains[domain].tasks if domain in reading.domains else [] for reading in (before, after)]
    return ComparedDomain(
        changes=count_changes(change),
        tasks=change,
        counts=_pairs(old, new, "counts"),
        gates=_pairs(old, new, "gates"),
        quality=_pairs(old, new, "quality"),
        intents=_groups("intent_id", change, *tasks),
        outcomes=_groups("outcome", change, *tasks),
    )


def _counted(reading: Reading, domain: str) -> _Figures | None:
    """Count a domain, from its rows: a manifest may say anything. None if the dataset does not have it."""
    if domain not in reading.domains:
        return None
    rows, part = reading.domains[domain], reading.manifest.domains[domain]
    statuses = figures_of(rows, [part]).gates
    failed = {gate: count for gate in statuses if (count := statuses[gate].get("fail"))}
    counts = {"asked": part.tasks, "accepted": len(rows.tasks), "rejected": len(rows.rejects)}
    return {"counts": counts, "gates": failed, "quality": _quality(rows, part, f"{reading.folder}: {domain}")}


def _quality(rows: DatasetRows, part: Part, place: str) -> dict[str, float]:
    try:
        return count_quality(rows, part.tasks)
    except UNREADABLE as error:
        what = f"{type(error).__name__}: {printable(str(error))}"
        raise DatasetError(f"{place}: the rows cannot be counted: {what}; `toolscale verify` names them") from error


def _pairs(before: _Figures | None, after: _Figures | None, kind: str) -> dict[str, ComparedFigure]:
    """Pair the figures of a kind by their names. A figure that only one of the two datasets has is 0 in the other. If a
    dataset does not have the domain at all, its figures are None."""
    sides = [None if side is None else side[kind] for side in (before, after)]
    found = {}
    for name in dict.fromkeys(name for side in sides for name in side or ()):
        old, new = (None if side is None else side.get(name, 0) for side in sides)
        found[name] = ComparedFigure(
            before=old, after=new, difference=None if old is None or new is None else round(new - old, 4)
        )
    return found


def _groups(
    column: str, change: ChangedDomain, before: Sequence[Row], after: Sequence[Row]
) -> dict[str, ComparedTasks]:
    """Count what became of the tasks of each value of a column."""
    added, removed, changed = set(change.added), set(change.removed), {task.id for task in change.changed}
    kinds = [
        (row[column], "added" if row["id"] in added else "changed" if row["id"] in changed else "unchanged")
        for row in after
    ]
    kinds += [(row[column], "removed") for row in before if row["id"] in removed]
    counts = Counter(kinds)
    return {
        name: ComparedTasks(**{kind: counts[name, kind] for kind in ComparedTasks.model_fields})
        for name in sorted({name for name, _ in kinds})
    }
