"""Who needs a run now, so that nobody removes it meanwhile: a file `<who>.held.json` in the folder of the run, which
says until when.

Whoever needs a run says so before reading from it, and takes it back at the end. Whoever is killed in between, or whose
question nobody answers, holds the run no longer than was said.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolscale.dataset.columns import UNREADABLE
from toolscale.dataset.places import open_place
from toolscale.dataset.runs import Run, run_of
from toolscale.dataset.storage import read_file, storage_errors, write_file
from toolscale.errors import StorageError

HELD = ".held.json"
ANNOUNCED = timedelta(days=1)
"""So long a dataset that was just made is kept for those who follow it: publishing and training are triggered at once,
but may wait for a slot."""

PUBLISHING = timedelta(days=2)
"""A person has twenty hours to answer; then there is the push, with its retries."""

TRAINING = timedelta(days=10)
"""A training may take seven days, and is tried again."""

EVALUATING = timedelta(days=3)
"""An evaluation waits for a GPU as a training does, takes twelve hours at most, and is tried again."""


def hold(dataset_url: str, who: str, how_long: timedelta, now: datetime | None = None) -> None:
    """Keep the run of a dataset from being removed. Nothing happens if it is in no run: only runs are removed."""
    if (run := run_of(open_place(dataset_url))) is not None:
        until = (now or datetime.now(UTC)) + how_long
        write_file(run.products / f"{who}{HELD}", json.dumps({"until": until.isoformat(timespec="seconds")}).encode())


def release(dataset_url: str, who: str) -> None:
    """Take back what `hold` said; nothing happens if it was not said."""
    if (run := run_of(open_place(dataset_url))) is not None:
        with storage_errors("remove", path := run.products / f"{who}{HELD}"):
            path.unlink(missing_ok=True)


def holders_of(run: Run, now: datetime) -> list[str]:
    """Return who needs a run now. A file that cannot be understood holds it: better a run too many."""
    with storage_errors("list", run.products):
        files = (
            sorted(path for path in run.products.iterdir() if path.name.endswith(HELD)) if run.products.exists() else []
        )
    return [path.name.removesuffix(HELD) for path in files if _holds(path, now)]


def _holds(path: Path, now: datetime) -> bool:
    try:
        return bool(datetime.fromisoformat(json.loads(read_file(path))["until"]) > now)
    except UNREADABLE:
        return True
    except StorageError:
        if path.exists():
            raise
        return False  # it was taken back while we looked
