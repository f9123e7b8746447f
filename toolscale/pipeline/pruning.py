"""Retention: of the complete runs below a data root the newest stay, and of the others those that were published or
that somebody needs.

A run that is not complete is never removed: it is being made, or has failed and can be cleared. Nor is anything that no
run of ours has written.

On a disk a run is renamed into `.removed/` and deleted there: it is whole, or gone. On an object store, where nothing
can be renamed, a note in `.removed/` names it, `run.json` goes first, by which it is no run any more, and the note
last. What a killed process left there goes with the next call. Two calls at once do no harm: what one has taken, the
other does not find.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from toolscale.dataset.manifest import MANIFEST
from toolscale.dataset.places import files_in, is_local, look_anew, open_place
from toolscale.dataset.runs import RUN, Order, Run, runs_under
from toolscale.dataset.storage import file_hash, make_folder, read_file, storage_errors, write_file
from toolscale.errors import StorageError, UsageError
from toolscale.pipeline.holds import holders_of
from toolscale.pipeline.published import was_published

KEEP = "TOOLSCALE_KEEP"
REMOVED = ".removed"
NEWEST = "it is one of the newest"
TAKEN = re.compile(r"[A-Za-z0-9-]{0,81}[0-9a-f]{8}(?:\.[0-9a-f]{32})?")
"""A name in `.removed/`: that of a run, and on a disk also a unique number. Files with other names are not ours."""

HASH = re.compile(rb"[0-9a-f]{64}")
"""What a note holds: the hash of the `run.json` of the run that is being removed."""


@dataclass(frozen=True, slots=True)
class PrunedRun:
    """A run that was looked at."""

    name: str
    run_id: str
    bytes: int
    """0 of a run that stays: it is not measured."""
    kept: str
    """Why it stays; empty if it goes."""


def keep_told() -> int | None:
    """Return how many runs TOOLSCALE_KEEP says to keep; None if it is not set. UsageError if it is no number from 1."""
    told = os.environ.get(KEEP, "").strip()
    if told and not re.fullmatch(r"0*[1-9][0-9]{0,8}", told):
        raise UsageError(f"{KEEP} is {told!r}; give the number of runs to keep, at least 1, or nothing to keep all")
    return int(told) if told else None


def prune_runs(
    root_url: str,
    keep: int,
    *,
    dry_run: bool = False,
    now: datetime | None = None,
    told: Callable[[PrunedRun], None] = lambda run: None,
) -> list[PrunedRun]:
    """Remove the runs that need not be kept, or with `dry_run` only say which, and return what became of each, newest
    first.

    `told` is called as soon as something became of a run. UsageError if `keep` is less than 1, or no runs were ever
    kept in this place.
    """
    root, moment = open_place(root_url), now or datetime.now(UTC)
    if keep < 1:
        raise UsageError(f"--keep is {keep}; at least 1 run stays")
    with storage_errors("read", root):
        if not (root / "runs").is_dir():
            raise UsageError(f"{root_url} holds no folder `runs`; give the place that TOOLSCALE_DATA names")
    if not dry_run:
        _finish(root)
    runs = sorted(
        runs_under(root), key=lambda found: (datetime.fromisoformat(found[1].started), found[0].name), reverse=True
    )
    left, looked_at = keep, list[PrunedRun]()
    for run, order in runs:
        found = _look_at(run, order, moment, newest=left > 0)
        if found is None or not (found.kept or dry_run or _remove(run)):
            continue  # whoever else prunes was faster
        left -= found.kept == NEWEST
        looked_at.append(found)
        told(found)
    return looked_at


def _look_at(run: Run, order: Order, now: datetime, *, newest: bool) -> PrunedRun | None:
    """Return what is to become of a run; None if it is there no more."""
    try:
        reason = _unfinished(run) or (NEWEST if newest else _needed(run, now))
        found = PrunedRun(run.name, order.run_id, 0 if reason else _size(run.products), reason)
    except StorageError:
        if _is_there(run):
            raise
        return None
    return found if _is_there(run) else None


def _is_there(run: Run) -> bool:
    with storage_errors("read", look_anew(run.products)):
        return (run.products / RUN).exists()


def _unfinished(run: Run) -> str:
    with storage_errors("read", look_anew(run.products)):
        complete = (run.dataset() / MANIFEST).exists() and not run.scratch.exists()
    return "" if complete else "it is not complete"


def _needed(run: Run, now: datetime) -> str:
    if was_published(run):
        return "it was published"
    return f"it is held for {', '.join(holders)}" if (holders := holders_of(run, now)) else ""


def _size(folder: Path) -> int:
    """Return the bytes of all files of a run, links counted as links."""
    if not is_local(folder):
        with storage_errors("list", folder):
            return int(folder.fs.du(folder.path))  # type: ignore[attr-defined]
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # whoever else prunes was faster
                found += Path(place, name).lstat().st_size
    return found


def _remove(run: Run) -> bool:
    """Remove a run. Return whether it was still there."""
    trash = run.root / REMOVED
    if is_local(run.root):
        taken = make_folder(trash) / f"{run.name}.{uuid4().hex}"
        with storage_errors("remove", run.products):
            try:
                run.products.rename(taken)
            except FileNotFoundError:
                return False
        _delete(taken)
        return True
    if (order := _hash_of_order(run)) is None:
        return False
    _clear(run, write_file(trash / run.name, order))
    return True


def _hash_of_order(run: Run) -> bytes | None:
    """Return the hash of the `run.json` of a run; None if it is there no more."""
    try:
        return file_hash(run.products / RUN).encode()
    except StorageError:
        if _is_there(run):
            raise
        return None


def _finish(root: Path) -> None:
    """Remove what killed processes left of runs that they were removing."""
    trash = look_anew(root) / REMOVED
    with storage_errors("list", trash):
        paths = [path for path in sorted(trash.iterdir()) if TAKEN.fullmatch(path.name)] if trash.exists() else []
    for path in paths:
        if is_local(root):
            _delete(path)
            continue
        try:
            _finish_run(Run(root, path.name), path)
        except StorageError:
            if look_anew(path).exists():
                raise  # else whoever else prunes was faster


def _finish_run(run: Run, note: Path) -> None:
    """Remove what a note on an object store says to remove."""
    told = read_file(note)
    if not HASH.fullmatch(told):
        return
    order = _hash_of_order(run)
    if order is None:
        _clear(run, note)
    elif order != told:  # the run was ordered again: it is another one
        with storage_errors("remove", note):
            note.unlink(missing_ok=True)


def _delete(folder: Path) -> None:
    with storage_errors("remove", folder):
        shutil.rmtree(folder, onerror=_unless_gone)


def _unless_gone(act: Any, path: str, failure: tuple[type[BaseException], BaseException, Any]) -> None:
    if not isinstance(failure[1], FileNotFoundError):  # whoever else prunes was faster
        raise failure[1]


def _clear(run: Run, note: Path) -> None:
    """Remove the objects of a run: first what says that there is a run, then what says that its datasets are complete,
    and last the note."""
    paths = sorted(files_in(run.products), key=lambda path: (path != RUN, not path.endswith(f"/{MANIFEST}"), path))
    with storage_errors("remove", run.products):
        for place in (*(run.products / path for path in paths), note):
            with suppress(FileNotFoundError):
                place.unlink()
