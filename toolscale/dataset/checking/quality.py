"""Whether a dataset is good enough to go on: a few figures, counted from its rows, each with the least or most that is
wanted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolscale.canonical import canonical_json
from toolscale.config import LEAST_ACCEPTED, LEAST_FOUND, LEAST_KILL_RATE, LEAST_KILLED, MOST_DUPLICATES
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.figures import DatasetRows
from toolscale.dataset.making.folder import read_dataset
from toolscale.errors import UsageError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is wanted of a dataset."""

    accepted_share: float = LEAST_ACCEPTED
    found_share: float = LEAST_FOUND
    kill_rate: float = LEAST_KILL_RATE
    duplicates: int = MOST_DUPLICATES
    fewest_killed: int = LEAST_KILLED

    @classmethod
    def of(cls, said: Any) -> Thresholds:
        """Return the usual thresholds but for those that are `said`: figure -> what is wanted. UsageError for anything
        else."""
        if not isinstance(said, Mapping):
            raise UsageError(f"the thresholds are {said!r}; say them by name, such as {{'accepted_share': 0.5}}")
        for name, wanted in said.items():
            if name not in WORDS:
                raise UsageError(f"there is no threshold {name!r}; the thresholds are {', '.join(WORDS)}")
            if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 <= wanted < math.inf:
                raise UsageError(f"the threshold {name} is {wanted!r}; it is a number from 0 on")
        return cls(**said)

    def as_dict(self) -> dict[str, float]:
        """Name of a figure -> what is wanted of it."""
        return {name: getattr(self, name) for name in WORDS}


WORDS = {
    "accepted_share": "the share of candidates that were accepted, those aside that only repeat another",
    "found_share": "of the tasks that were asked for, the share that was found",
    "kill_rate": "of the wrong trajectories that were tried, the share that scored 0",
    "duplicates": "tasks that repeat an earlier one",
    "fewest_killed": "wrong trajectories that were caught in the task with the fewest",
}
"""Figure -> what it counts. All but `duplicates` should be high."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What was found. Of several domains every figure is that of the worst one, and each reason begins with its
    domain."""

    figures: dict[str, float]
    thresholds: dict[str, float]
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every figure is as wanted."""
        return not self.reasons

    def render(self) -> bytes:
        """Return the content of `quality.json`."""
        content = {
            "passed": self.passed,
            "figures": self.figures,
            "thresholds": self.thresholds,
            "reasons": list(self.reasons),
        }
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def check_quality(folder: Path, thresholds: Thresholds | None = None) -> Quality:
    """Count the rows of a dataset and compare the figures with what is wanted of them, domain by domain. DatasetError
    if it cannot be read."""
    reading, wanted = read_dataset(folder), (thresholds or Thresholds()).as_dict()
    found = {
        domain: count_quality(rows, reading.manifest.domains[domain].tasks) for domain, rows in reading.domains.items()
    }
    reasons = [(domain, reason) for domain, figures in found.items() for reason in _shortfalls(figures, wanted)]
    told = (f"{domain}: {reason}" if len(found) > 1 else reason for domain, reason in reasons)
    worst = {name: _worst(name, [figures[name] for figures in found.values()]) for name in WORDS}
    return Quality(worst, wanted, tuple(told))


def count_quality(rows: DatasetRows, asked: int) -> dict[str, float]:
    """Return the figures of one domain. `asked`: how many of its tasks were asked for."""
    tasks, rejects = rows.tasks, rows.rejects
    wrong = sum(any(failed["gate"] != "novel" for failed in row["failed"]) for row in rejects)
    killed, survivors = sum(row["mutants_killed"] for row in tasks), sum(map(_has_survivor, rejects))
    return {
        "accepted_share": _share(len(tasks), len(tasks) + wrong),
        "found_share": _share(len(tasks), asked),
        "kill_rate": _share(killed, killed + survivors),
        "duplicates": _duplicates(tasks),
        "fewest_killed": min((row["mutants_killed"] for row in tasks), default=0),
    }


def _shortfalls(figures: Mapping[str, float], wanted: Mapping[str, float]) -> Iterator[str]:
    for name, figure in figures.items():
        bound = wanted[name]
        if _worst(name, [figure, bound]) != bound:
            limit = "at most" if name == "duplicates" else "at least"
            yield f"{name} is {figure:g}, {limit} {bound:g} is wanted ({WORDS[name]})"


def _worst(name: str, figures: Sequence[float]) -> float:
    return max(figures) if name == "duplicates" else min(figures)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _has_survivor(row: Row) -> bool:
    """Whether a wrong trajectory scored 1. A candidate of which too few could be tried fails the same gate, without a
    survivor."""
    if row["survivor"] is None or json.loads(row["survivor"])["operator"] == "other_reading":
        return False
    return any(failed["gate"] == "mutants_killed" for failed in row["failed"])


def _duplicates(tasks: Sequence[Row]) -> int:
    """Count the tasks whose request, or whose calls, row changes and facts together, are those of an earlier one."""
    requests, contents, repeated = set[str](), set[str](), 0
    for row in tasks:
        calls = [[call["name"], call["arguments"]] for call in row["golden_calls"]]
        request, content = (
            " ".join(row["request"].split()),
            canonical_json([calls, row["row_changes"], row["communicate"]]),
        )
        repeated += request in requests or content in contents
        requests.add(request)
        contents.add(content)
    return repeated
