"""How the dataset of one run differs from that of another: what `toolscale diff` prints, for a page."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolscale.dataset.comparing.comparison import compare_places
from toolscale.dataset.places import open_place, url_of
from toolscale.errors import StorageError, ToolScaleError
from toolscale.records import Comparison
from toolscale_ui.data_folder import DataFile, DataFolder
from toolscale_ui.rejects import DAG_ID
from toolscale_ui.run_file import RunFile, run_of

MOST_CHOICES = 200
"""So many runs are offered, the newest. An address may name an older one."""

MOST_KEPT = 16
"""Comparisons that are kept as they were made."""


@dataclass(frozen=True)
class Choice:
    """A run that can be compared: it has a dataset."""

    folder: str
    run: RunFile

    @property
    def when(self) -> str:
        """The night that it stands for, or when it was triggered by hand, ISO 8601."""
        return self.run.night or self.run.started


@dataclass(frozen=True)
class Diff:
    """What is compared, and the outcome: a comparison, or in words why there is none."""

    before: Choice
    after: Choice
    comparison: Comparison | None
    problem: str = ""


class Diffs:
    """All comparisons of two runs below a data folder. Threads may share it: one comparison is made at a time, since it
    reads two whole datasets."""

    def __init__(self, folder: DataFolder):
        self.folder = folder
        self._lock = threading.Lock()
        self._compared = lru_cache(MOST_KEPT)(self._compare_now)

    def choices(self) -> Sequence[Choice]:
        """Return the runs that have a dataset, newest first."""
        listing = self.folder.listing()
        found = self.folder.parsed(listing["run"].values(), run_of)
        choices = [
            Choice(path.split("/")[1], run)
            for path, run in found.items()
            if isinstance(run, RunFile)
            and run.dag_id == DAG_ID
            and path.replace("run.json", "dataset/manifest.json") in listing["combined"]
        ]
        return sorted(choices, key=lambda choice: (choice.when, choice.folder), reverse=True)

    def diff(self, before: str, after: str) -> Diff | None:
        """Compare two runs, given by the names of their folders. If `after` is empty, it is the newest run; if `before`
        is empty, it is the run before `after`, one with the same domains if there is one.

        None if there are no two runs. KeyError if there is no dataset of that name.
        """
        choices = self.choices()
        if len(choices) < 2:
            return None
        by_folder = {choice.folder: choice for choice in choices}
        new = by_folder[after] if after else choices[0]
        old = by_folder[before] if before else _before(new, choices)
        found = self._compare(old.folder, new.folder)
        return Diff(old, new, None, found) if isinstance(found, str) else Diff(old, new, found)

    def _compare(self, before: str, after: str) -> Comparison | str:
        combined = self.folder.listing()["combined"]
        with self._lock:
            return self._compared(*(combined[f"runs/{folder}/dataset/manifest.json"] for folder in (before, after)))

    def _compare_now(self, before: DataFile, after: DataFile) -> Comparison | str:
        """Return the comparison, or why there is none. StorageError, which is not kept: it may be there in a moment."""
        root = open_place(self.folder.url)
        try:
            return compare_places(*(url_of((root / file.path).parent) for file in (before, after)))
        except StorageError:
            raise
        except ToolScaleError as error:
            return str(error)


def _before(new: Choice, choices: Sequence[Choice]) -> Choice:
    """Return the next older run, of the same domains if there is one; of the oldest, the one after it."""
    older = choices[choices.index(new) + 1 :]
    alike = (choice for choice in older if sorted(choice.run.domains) == sorted(new.run.domains))
    return next(alike, None) or (older[0] if older else choices[-2])
