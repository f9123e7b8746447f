"""Every run with what an operator looks for the morning after: what came out, how that differs from the nights before,
and where it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from toolscale.dataset.runs import FINISHED
from toolscale_ui.changes import (
    ACCEPTED,
    GATE,
    KILLED,
    TASKS,
    Figure,
    changes_of,
    nights_before,
)
from toolscale_ui.data_folder import DataFile, DataFolder, Listing
from toolscale_ui.drift import MOST_NIGHTS, Change
from toolscale_ui.lineage import (
    MOST_TEXT,
    Push,
    Training,
    evaluation_of,
    push_of,
    pushes_by_run,
    trained_on_of,
    trainings_by_dataset,
)
from toolscale_ui.outcome import Judged, Made, ended_of, judged_of, made_of, moment_of, quality_of, together
from toolscale_ui.rejects import DAG_ID
from toolscale_ui.run_file import RunFile, run_of

Value = TypeVar("Value")

PAGE_NIGHTS = 30
"""Nights of one page."""
LOOK_BACK = 3 * MOST_NIGHTS
"""So many nights older than a page are read, to find those that the page is compared with: some may have asked for
something else."""
MOST_DOMAINS = 50
MOST_BYTES = {"combined": 8 << 20, "manifest": 8 << 20}
MOST_OTHER_BYTES = 1 << 20
"""A file that is larger is not read: the pipeline writes a few kilobytes."""
TEXTS = ("trained_on", "report")
"""Kinds of files that are parsed into a text. For all other kinds a text says why the file cannot be read."""


@dataclass(frozen=True)
class Night:
    """A run with all that is known of it."""

    folder: str
    run: RunFile
    made: Made | None = None
    judged: Judged | None = None
    ended: datetime | None = None
    pushes: Sequence[Push] = ()
    trainings: Sequence[Training] = ()
    combined: bool = False
    """Whether there is a dataset of the whole run."""
    changes: Mapping[str, Change] = field(default_factory=dict)

    @property
    def when(self) -> datetime | None:
        """The night that it stands for, or when it was triggered by hand."""
        return moment_of(self.run.night or self.run.started)

    @property
    def series(self) -> tuple[Any, ...] | None:
        """What it asked for. A run by hand is compared with none: its seed is the same every time, and what it asks for
        is somebody's choice."""
        return self.made.asked if self.made and self.run.night else None

    @property
    def failed(self) -> Mapping[str, int]:
        """Gate -> candidates that it rejected, the most first."""
        return self.made.failed if self.made else {}

    @property
    def state(self) -> str:
        """How far it came: passed, failed, not judged, ended, in progress."""
        if self.judged and not self.judged.passed:
            return "failed"
        if self.combined:
            return "passed" if self.judged else "not judged"
        return "ended" if self.ended else "in progress"

    @property
    def duration(self) -> timedelta | None:
        """From its start to its end, as far as both are told."""
        started = moment_of(self.run.started)
        return self.ended - started if self.ended and started and self.ended >= started else None

    def value(self, figure: Figure) -> float | None:
        """Return a figure, or None if it is not known."""
        if figure is ACCEPTED or figure is KILLED:
            return getattr(self.judged, figure.name) if self.judged else None
        if not self.made:
            return None
        if figure is TASKS:
            return self.made.tasks
        return (
            self.made.failed.get(figure.name.removeprefix(GATE), 0) / self.made.candidates
            if self.made.candidates
            else None
        )


@dataclass(frozen=True)
class NightsPage:
    """What is shown."""

    nights: Sequence[Night]
    total: int
    page: int
    problems: Mapping[str, str]
    """Path -> why it cannot be read: of all runs, and of what the page reads."""

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.total // PAGE_NIGHTS))


class Nights:
    """All nights below a data folder. Threads may share it: it keeps nothing."""

    def __init__(self, folder: DataFolder):
        self.folder = folder

    def page(self, number: int) -> NightsPage:
        """Return one page, newest first; the last one if there are fewer."""
        reading = _Reading(self.folder)
        runs = reading.runs()
        number = min(number, max(1, -(-len(runs) // PAGE_NIGHTS)))
        end = number * PAGE_NIGHTS
        shown = runs[end - PAGE_NIGHTS : end]
        found = reading.nights([*shown, *[night for night in runs[end:] if night.run.night][:LOOK_BACK]])
        nights = found[: len(shown)]
        nights = [replace(night, changes=changes_of(night, nights_before(night, found))) for night in nights]
        return NightsPage(nights, len(runs), number, reading.problems)


class _Reading:
    """What is read for one page, and what could not be."""

    def __init__(self, folder: DataFolder):
        self._folder, self._listing = folder, folder.listing()
        self.problems: dict[str, str] = {}

    def runs(self) -> list[Night]:
        """Return all runs of our DAG, newest first, with nothing but what they say themselves."""
        listing = self._listing
        told = self._parsed("run", listing["run"].values(), run_of)
        there = {path.split("/")[1] for path in listing["run"]}
        for kind in ("rejects", "manifest", "combined"):
            for path in listing[kind]:
                if (folder := path.split("/")[1]) not in there:
                    self.problems[f"runs/{folder}/run.json"] = "it is missing, so that nobody knows which run this was"
        ours = [
            Night(path.split("/")[1], _cut(run))
            for path, run in told.items()
            if isinstance(run, RunFile) and run.dag_id == DAG_ID
        ]
        return sorted(
            ours,
            key=lambda night: (night.when or datetime.min.replace(tzinfo=UTC), night.run.started, night.folder),
            reverse=True,
        )

    def nights(self, runs: Sequence[Night]) -> list[Night]:
        """Return runs with all that is known of them."""
        listing, folders = self._listing, {night.folder for night in runs}
        of = {
            kind: _by_run(listing, kind, folders)
            for kind in ("combined", "manifest", "quality", "finished", "published")
        }
        alone = [file for folder, files in of["manifest"].items() if folder not in of["combined"] for file in files]
        made = self._parsed("combined", _all(of["combined"]), made_of) | self._parsed("manifest", alone, made_of)
        judged = self._parsed("quality", _all(of["quality"]), quality_of)
        for path, quality in judged.items():
            if not quality.figures:
                self.problems[path] = quality.reasons[0][:MOST_TEXT]
        ended = self._parsed("finished", _all(of["finished"]), ended_of)
        pushes = pushes_by_run(self._parsed("published", _all(of["published"]), push_of))
        trained_on, reports = (
            self._parsed(kind, listing[kind].values(), parse)
            for kind, parse in (("trained_on", trained_on_of), ("report", evaluation_of))
        )
        trainings = trainings_by_dataset(trained_on, reports, listing["trained"])
        found = []
        for night in runs:
            combined = of["combined"].get(night.folder, [])
            known = [made[file.path] for file in combined or of["manifest"].get(night.folder, []) if file.path in made]
            whole = together([one for one in known if isinstance(one, Made)])
            qualities = [judged[file.path] for file in of["quality"].get(night.folder, []) if file.path in judged]
            last = ended.get(f"runs/{night.folder}/{FINISHED}")
            found.append(
                replace(
                    night,
                    made=whole,
                    judged=judged_of(qualities),
                    ended=last if isinstance(last, datetime) else None,
                    pushes=pushes.get(night.folder, ()),
                    combined=bool(combined),
                    trainings=trainings.get(whole.sha256, ()) if whole else (),
                )
            )
        return found

    def _parsed(self, kind: str, files: Any, parse: Callable[[bytes], Value]) -> dict[str, Value]:
        most, wanted = MOST_BYTES.get(kind, MOST_OTHER_BYTES), list[DataFile]()
        for file in files:
            if file.size > most:
                self.problems[file.path] = f"it has more than {most:,} bytes, which the pipeline does not write"
            else:
                wanted.append(file)
        found = self._folder.parsed(wanted, parse)
        if kind not in TEXTS:
            self.problems |= {path: told for path, told in found.items() if isinstance(told, str)}
        return found


def _cut(run: RunFile) -> RunFile:
    """Return a run whose texts are no longer than any that Airflow writes."""
    return replace(
        run,
        run_id=run.run_id[:MOST_TEXT],
        started=run.started[:MOST_TEXT],
        night=run.night[:MOST_TEXT],
        domains=[domain[:MOST_TEXT] for domain in run.domains[:MOST_DOMAINS]],
    )


def _by_run(listing: Listing, kind: str, folders: set[str]) -> dict[str, list[DataFile]]:
    found: dict[str, list[DataFile]] = {}
    for path, file in sorted(listing[kind].items()):
        if (folder := path.split("/")[1]) in folders:
            found.setdefault(folder, []).append(file)
    return found


def _all(by_run: Mapping[str, Sequence[DataFile]]) -> list[DataFile]:
    return [file for files in by_run.values() for file in files]
