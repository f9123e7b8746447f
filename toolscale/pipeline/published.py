"""Where the dataset of a run was published: `runs/<run>/published/<repo>.json`, a file for each repository of the Hub
that holds it.

Asset events say it too, but they are Airflow's, and go with its database.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolscale.dataset.places import look_anew
from toolscale.dataset.runs import PUBLISHED, Run, run_of
from toolscale.dataset.storage import storage_errors, write_file

RECORDED = ("repo", "url", "tag", "commit", "sha256")


def note_published(dataset: Path, told: Mapping[str, Any]) -> None:
    """Write down what was told of a push. Nothing is written if the dataset is not from a run: then it lies in
    somebody's own folder."""
    if run := run_of(dataset):
        record = {name: told[name] for name in RECORDED} | {
            "dataset": dataset.resolve().relative_to(run.products).as_posix()
        }
        write_file(run.published(told["repo"]), (json.dumps(record, indent=1) + "\n").encode())


def was_published(run: Run) -> bool:
    """Return whether there was a push of a run, or of a domain of it, whatever its record says."""
    folder = look_anew(run.products) / PUBLISHED
    with storage_errors("list", folder):
        return folder.exists() and any(path.suffix == ".json" for path in folder.iterdir())
