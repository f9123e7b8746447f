"""What was published of a data root: `published/<name>.json` there holds what was told of the last push of a run, or of a dataset beside `runs`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolscale.dataset.columns import UNREADABLE
from toolscale.dataset.places import look_anew, open_place
from toolscale.dataset.runs import Run, run_of
from toolscale.dataset.storage import read_file, storage_errors, write_file

FOLDER = "published"


def note_published(dataset_url: str, facts: Mapping[str, Any]) -> Path | None:
    """Write down that a dataset was published, with what `push_dataset` told of it, and return where. None, and nothing is written, if it lies
    under no data root: nobody removes it, and no page lists it."""
    dataset = open_place(dataset_url)
    run = run_of(dataset)
    place = dataset.resolve()
    if run is None:
        with storage_errors("read", place):
            if not (place.parent / "runs").exists():
                return None
    root, name = (run.root, run.name) if run else (place.parent, place.name)
    return write_file(root / FOLDER / f"{name}.json", (json.dumps(dict(facts), indent=1, ensure_ascii=False) + "\n").encode())


def published_under(root: str | Path) -> dict[str, dict[str, Any]]:
    """Return the name of each run (or dataset folder) below a data root that was published -> what was told of its last push.

    A record that cannot be read counts as well, with nothing told: it says that there was a push.
    """
    folder = look_anew(open_place(root)) / FOLDER
    with storage_errors("list", folder):
        files = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".") if folder.exists() else []
    return {path.stem: _facts(read_file(path)) for path in files}


def was_published(run: Run) -> bool:
    """Return whether there was a push of a run, or of a domain of it."""
    record = run.root / FOLDER / f"{run.name}.json"
    with storage_errors("read", record):
        return record.exists()


def _facts(content: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(content))
    except UNREADABLE:
        return {}
