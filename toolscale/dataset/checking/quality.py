"""Whether a dataset is good enough to go on: a few figures, counted from its rows, each with the least or most that is
wanted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolscale.config import (
    LEAST_ACCEPTED,
    LEAST_FOUND,
    LEAST_KILL_RATE,
    LEAST_KILLED,
    MOST_DUPLICATES,
    MOST_NEAR_DUPLICATES,
    MOST_SAME_CHANGES,
    MOST_SELF_BLEU,
    SELF_BLEU_TEXTS,
)
from toolscale.dataset.checking.measuring import Measurement
from toolscale.dataset.columns import Row
from toolscale.dataset.describing.figures import DatasetRows
from toolscale.dataset.describing.reading import Reading, read_dataset
from toolscale.dataset.describing.repeats import count_duplicates
from toolscale.dataset.describing.variety import self_bleu
from toolscale.errors import UsageError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is wanted of a dataset."""

    accepted_share: float = LEAST_ACCEPTED
    found_share: float = LEAST_FOUND
    kill_rate: float = LEAST_KILL_RATE
    duplicates: int = MOST_DUPLICATES
    fewest_killed: int = LEAST_KILLED
    self_bleu: float = MOST_SELF_BLEU
    same_changes: int = MOST_SAME_CHANGES
    near_duplicates: float = MOST_NEAR_DUPLICATES

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


WORDS = {
    "accepted_share": "the share of candidates that were accepted, those aside that only repeat another",
    "found_share": "of the tasks that were asked for, the share that was found",
    "kill_rate": "of the wrong trajectories that were tried, the share that scored 0",
    "duplicates": "tasks that repeat an earlier one",
    "fewest_killed": "wrong trajectories that were caught in the task with the fewest",
    "self_bleu": f"how much {SELF_BLEU_TEXTS} requests repeat each other's words; not counted where there are fewer",
    "same_changes": "tasks that change rows just as an earlier one and tell the same facts",
    "near_duplicates": "share of requests that are nearly the same as an earlier one",
}
"""Figure -> what it counts. The last two take more than the rows; the gate of a run leaves them to
`toolscale stats --check`."""

AT_MOST = {"duplicates", "self_bleu", "same_changes", "near_duplicates"}
"""Those that should be low; all others should be high."""


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
    """Count the rows of a dataset and compare the figures with what is wanted of them, domain by domain: those that
    take neither an environment nor embeddings. DatasetError if it cannot be read."""
    reading = read_dataset(folder)
    found = {
        domain: count_quality(rows, reading.manifest.domains[domain].tasks) | _words(rows)
        for domain, rows in reading.domains.items()
    }
    return _compared(found, thresholds)


def check_measurement(reading: Reading, measurement: Measurement, thresholds: Thresholds | None = None) -> Quality:
    """Do the same with all figures that have a threshold, as far as they were measured."""
    found = {}
    for part in measurement.parts:
        rows, asked = reading.domains[part.name], reading.manifest.domains[part.name].tasks
        told = {"near_duplicates": part.texts.near_duplicates}
        if part.texts.count >= SELF_BLEU_TEXTS:
            told["self_bleu"] = part.texts.self_bleu
        if part.deeds is not None:
            told["same_changes"] = part.deeds.same_changes
        known = {name: figure for name, figure in told.items() if figure is not None}
        found[part.name] = count_quality(rows, asked) | known
    return _compared(found, thresholds)


def count_quality(rows: DatasetRows, asked: int) -> dict[str, float]:
    """Return the figures of one domain. `asked`: how many of its tasks were asked for."""
    tasks, rejects = rows.tasks, rows.rejects
    wrong = sum(any(failed["gate"] != "novel" for failed in row["failed"]) for row in rejects)
    killed, survivors = sum(row["mutants_killed"] for row in tasks), sum(map(_has_survivor, rejects))
    return {
        "accepted_share": _share(len(tasks), len(tasks) + wrong),
        "found_share": _share(len(tasks), asked),
        "kill_rate": _share(killed, killed + survivors),
        "duplicates": count_duplicates(tasks),
        "fewest_killed": min((row["mutants_killed"] for row in tasks), default=0),
    }


def _words(rows: DatasetRows) -> dict[str, float]:
    """Return self-BLEU; nothing where there are too few requests to hold it against the bound."""
    tasks = rows.tasks
    found = self_bleu([(row["id"], row["request"]) for row in tasks]) if len(tasks) >= SELF_BLEU_TEXTS else None
    return {} if found is None else {"self_bleu": found}


def _compared(found: Mapping[str, Mapping[str, float]], thresholds: Thresholds | None) -> Quality:
    """Compare figures, domain -> figure -> value, with what is wanted."""
    wanted = asdict(thresholds or Thresholds())
    reasons = [(domain, reason) for domain, figures in found.items() for reason in _shortfalls(figures, wanted)]
    told = (f"{domain}: {reason}" if len(found) > 1 else reason for domain, reason in reasons)
    worst = {
        name: _worst(name, values)
        for name in WORDS
        if (values := [figures[name] for figures in found.values() if name in figures])
    }
    return Quality(worst, {name: wanted[name] for name in worst}, tuple(told))


def _shortfalls(figures: Mapping[str, float], wanted: Mapping[str, float]) -> Iterator[str]:
    for name, figure in figures.items():
        bound = wanted[name]
        if _worst(name, [figure, bound]) != bound:
            limit = "at most" if name in AT_MOST else "at least"
            yield f"{name} is {figure:g}, {limit} {bound:g} is wanted ({WORDS[name]})"


def _worst(name: str, figures: Sequence[float]) -> float:
    return max(figures) if name in AT_MOST else min(figures)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _has_survivor(row: Row) -> bool:
    """Whether a wrong trajectory scored 1. A candidate of which too few could be tried fails the same gate, without a
    survivor."""
    if row["survivor"] is None or json.loads(row["survivor"])["operator"] == "other_reading":
        return False
    return any(failed["gate"] == "mutants_killed" for failed in row["failed"])
