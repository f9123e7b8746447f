"""The figures of a dataset, counted from its rows: what the card, the manifest and `stats` say."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale.dataset.columns import Row
from toolscale.environment.environment import Environment
from toolscale.records import GATES, QUIET, is_evolved

SPLITS = ("train", "test")


@dataclass(frozen=True)
class DatasetRows:
    """All rows of one domain, or of several one after the other: split -> tasks, and the rejects, each in the order of
    the candidates' numbers."""

    splits: Mapping[str, Sequence[Row]]
    rejects: Sequence[Row]

    @property
    def tasks(self) -> list[Row]:
        """The tasks of all splits."""
        return [row for split in self.splits.values() for row in split]


@dataclass(frozen=True)
class Figures:
    """What can be counted."""

    counts: dict[str, Any]
    gates: dict[str, dict[str, int]]
    """Gate -> status -> candidates, over accepted and rejected ones."""
    pass_rates: dict[str, float]
    """Gate -> share of all judged candidates that did not fail it."""
    reasons: dict[str, dict[str, Any]]
    """Gate -> rejects that failed it, those that failed nothing else, and one finding."""
    calls: dict[int, int]
    """Golden calls -> tasks."""
    tools: dict[str, int]
    """Tool -> golden calls, most used first."""
    tiers: dict[str, int]
    outcomes: dict[str, int]
    mutants: dict[str, float]
    """Killed mutants: fewest, median and total."""
    evolutions: dict[str, int]
    """Operator of evolution -> tasks in whose chain it occurs; `none` for plain ones."""
    shape: dict[str, float]
    """Mean golden calls of all tasks and of the hard tier; shares of tasks that are evolved, that write twice or more,
    that refuse or hand over."""


def count_figures(rows: DatasetRows, *, asked: int, over_quota: int, no_case: int, drawn: int) -> Figures:
    """Count everything.

    The four numbers are what rows cannot tell: tasks asked for, accepted candidates that no quota wanted, numbers
    without a case, and all numbers that were drawn.
    """
    tasks, rejects = rows.tasks, rows.rejects
    gates = {gate: Counter[str]() for gate in GATES}
    for row in (*tasks, *rejects):
        for result in row["verdict"]:
            gates[result["gate"]][result["status"]] += 1
    judged = len(tasks) + len(rejects) + over_quota
    killed = [row["mutants_killed"] for row in tasks] or [0]
    return Figures(
        counts={
            "asked": asked,
            "candidates": judged,
            "accepted": len(tasks),
            "rejected": len(rejects),
            "over_quota": over_quota,
            "no_case": no_case,
            "drawn": drawn,
            "splits": {split: len(part) for split, part in rows.splits.items()},
            "intents": _intents(rows),
        },
        gates={gate: dict(sorted(statuses.items())) for gate, statuses in gates.items() if statuses},
        pass_rates={
            gate: 1 - statuses["fail"] / max(judged, 1)
            for gate, statuses in gates.items()
            if statuses["pass"] + statuses["fail"]
        },
        reasons=_reasons(rejects),
        calls=dict(sorted(Counter(len(row["golden_calls"]) for row in tasks).items())),
        tools=_most_common(call["name"] for row in tasks for call in row["golden_calls"]),
        tiers={tier: sum(row["difficulty"]["tier"] == tier for row in tasks) for tier in ("easy", "medium", "hard")},
        outcomes=_most_common(row["outcome"] for row in tasks),
        mutants={"fewest": min(killed), "median": statistics.median(killed), "total": sum(killed)},
        evolutions=_most_common(
            name
            for row in tasks
            for name in ({line.partition(" ")[0] for line in row["evolutions"]} - {QUIET} or {"none"})
        ),
        shape=_shape(tasks),
    )


def _shape(tasks: Sequence[Row]) -> dict[str, float]:
    hard = [row for row in tasks if row["difficulty"]["tier"] == "hard"]
    count = max(len(tasks), 1)
    return {
        "mean calls": round(sum(len(row["golden_calls"]) for row in tasks) / count, 2),
        "mean calls of hard ones": round(sum(len(row["golden_calls"]) for row in hard) / max(len(hard), 1), 2),
        "evolved": round(sum(is_evolved(row["evolutions"]) for row in tasks) / count, 4),
        "two writes or more": round(sum(row["difficulty"]["writes"] >= 2 for row in tasks) / count, 4),
        "refused or handed over": round(sum(row["outcome"] != "fulfil" for row in tasks) / count, 4),
        "dialogues": round(sum(row["turns"] == "dialogue" for row in tasks) / count, 4),
    }


def typical_task(rows: DatasetRows) -> Row | None:
    """Return the task that the card shows: of those that write and say all at once, the first one with the most usual
    number of calls."""
    whole = [row for row in rows.splits["train"] if row["turns"] != "dialogue"]
    writing = [row for row in whole if row["difficulty"]["writes"]] or rows.tasks
    usual = statistics.mode(len(row["golden_calls"]) for row in writing) if writing else 0
    return next((row for row in writing if len(row["golden_calls"]) == usual), None)


def without_task(environment: Environment, counts: Mapping[str, Any]) -> list[str]:
    """Return each intent that has no task: no candidate of it was judged, or all were rejected. `counts` are those of
    the domain alone."""
    found = []
    for intent in environment.spec.intents.intents:
        judged = counts["intents"].get(intent.id, {"accepted": 0, "rejected": 0})
        if not judged["accepted"]:
            found.append(
                f"{intent.id} ({judged['rejected']} rejected)" if judged["rejected"] else f"{intent.id} (no seat)"
            )
    return found


def _intents(rows: DatasetRows) -> dict[str, dict[str, Any]]:
    many = len({row["domain"] for row in (*rows.tasks, *rows.rejects)}) > 1

    def name(row: Row) -> str:
        return f"{row['domain']}.{row['intent_id']}" if many else str(row["intent_id"])

    splits = {name(row): split for split, part in rows.splits.items() for row in part}
    accepted = Counter(name(row) for row in rows.tasks)
    rejected = Counter(name(row) for row in rows.rejects)
    return {
        intent: {"split": splits.get(intent), "accepted": accepted[intent], "rejected": rejected[intent]}
        for intent in sorted(accepted | rejected)
    }


def _reasons(rejects: Iterable[Row]) -> dict[str, dict[str, Any]]:
    reasons: dict[str, dict[str, Any]] = {}
    for row in rejects:
        for failed in row["failed"]:
            reason = reasons.setdefault(
                failed["gate"], {"rejects": 0, "alone": 0, "finding": failed["finding"], "number": row["number"]}
            )
            reason["rejects"] += 1
            reason["alone"] += len(row["failed"]) == 1
    return dict(sorted(reasons.items(), key=lambda item: (-item[1]["rejects"], item[0])))


def _most_common(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
