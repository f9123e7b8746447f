"""Where a dataset went: the versions of it on the Hub, and the trainings that it was given to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_TEXT = 250
"""Letters of a name that are shown: Airflow's longest run id. What is longer was not written by the pipeline."""
NAME = re.compile(r"[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}")
ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]{1,200}(:[0-9]{1,5})?(/[A-Za-z0-9_.-]{1,100}){1,6}")
"""Where a repository is: no user, no query, nothing that has to be escaped."""
TAG = re.compile(r"v[0-9]{1,6}(\.[0-9]{1,6}){2}-[0-9a-f]{8}")
COMMIT = re.compile(r"[0-9a-f]{40}")
HASH = re.compile(r"[0-9a-f]{64}")
DATASET = re.compile(r"([a-z][a-z0-9_-]{0,99}/)?dataset")
RECORD = {"repo": NAME, "url": ADDRESS, "tag": TAG, "commit": COMMIT, "dataset": DATASET, "sha256": HASH}
"""What the record of a push holds."""


@dataclass(frozen=True)
class Push:
    """A version of a dataset on the Hub."""

    repo: str
    url: str
    tag: str
    commit: str
    dataset: str
    """Its folder within the folder of the run: `dataset`, or `<domain>/dataset`."""
    sha256: str
    """The hash of its manifest."""

    @property
    def domain(self) -> str:
        """The domain whose dataset it is; nothing if it is that of the whole run."""
        return self.dataset.partition("/")[0] if "/" in self.dataset else ""


@dataclass(frozen=True)
class Training:
    """A training: its folder in `training/`, whether it is done, and what its evaluation says."""

    name: str
    done: bool
    evaluation: str


def push_of(content: bytes) -> Push | str:
    """Return what the record of a push says, or in words why it is not such a record. Every value must match its
    pattern in RECORD, since some of them become parts of addresses."""
    about = _object(content)
    wrong = [
        name
        for name, pattern in RECORD.items()
        if not (isinstance(about.get(name), str) and pattern.fullmatch(about[name]))
    ]
    return f"not the record of a push: {', '.join(wrong)}" if wrong else Push(**{name: about[name] for name in RECORD})


def trained_on_of(content: bytes) -> str:
    """Return the hash of the manifest that a training was given; nothing if it had no dataset or the file says none."""
    told = _object(content).get("sha256")
    return told if isinstance(told, str) and HASH.fullmatch(told) else ""


def evaluation_of(content: bytes) -> str:
    """Return what a report says of the trained model, in words."""
    try:
        report = json.loads(content)
        if not report:
            return "this kind of model is not measured"
        if "check" not in report:
            return "of another kind, see report.json"
        (row,) = [row for row in report["questions"]["policies"] if row["policy"] == "trained"]
        best, way, passed = 100 * float(row["best"]), 100 * float(row["share"]), report["check"]["passed"] is True
        return (
            f"best choice in {best:.1f} %, {way:.1f} % of the way to the best, check {'passed' if passed else 'failed'}"
        )[:MOST_TEXT]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return "cannot be read"


def trainings_by_dataset(
    trained_on: Mapping[str, str], reports: Mapping[str, str], done: Iterable[str]
) -> dict[str, list[Training]]:
    """Return hash of a manifest -> the trainings that were given that dataset, by name. The keys are paths
    `training/<name>/<file>`."""
    finished, told = (
        {path.split("/")[1] for path in done},
        {path.split("/")[1]: words for path, words in reports.items()},
    )
    found: dict[str, list[Training]] = {}
    for path, sha256 in sorted(trained_on.items()):
        name = path.split("/")[1]
        if sha256:
            found.setdefault(sha256, []).append(Training(name, name in finished, told.get(name, "")))
    return found


def pushes_by_run(records: Mapping[str, Push | str]) -> dict[str, Sequence[Push]]:
    """Return folder of a run -> what was published of it, by repository. The keys are paths
    `runs/<run>/published/<file>`."""
    found: dict[str, list[Push]] = {}
    for path, push in sorted(records.items()):
        if isinstance(push, Push):
            found.setdefault(path.split("/")[1], []).append(push)
    return {run: sorted(pushes, key=lambda push: (push.repo, push.dataset)) for run, pushes in found.items()}


def _object(content: bytes) -> dict[str, Any]:
    try:
        about = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}
