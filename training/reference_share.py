"""How much of the reference solutions a policy did: of the golden calls of all tasks, those that it made with the same
arguments.

It tells policies apart where most solutions are wrong somewhere. It is no grade: what is right may be done in other
ways too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from toolscale.canonical import canonical_json
from toolscale.dataset.columns import task_of
from toolscale.dataset.making.folder import read_dataset
from toolscale.records import GoldenCall, Rollout, Task, ToolCall

SHORT = 12
"""So many letters of a task's id end the id of an offer of it (toolscale/rollout/offering.py)."""


def share_made(rollouts: Path, dataset: Path) -> float:
    """Return the share of golden calls that were made, over all rollouts of a file of `python -m eval` on tasks of a
    dataset."""
    domains = read_dataset(dataset).domains.values()
    tasks = {row["id"][:SHORT]: task_of(row) for rows in domains for row in rows.tasks}
    lines = rollouts.read_text(encoding="utf-8").splitlines()
    played = [Rollout.model_validate(json.loads(line)["rollout"]) for line in lines]
    counts = [made(rollout.calls, tasks[rollout.task_id.rpartition("-")[2]]) for rollout in played]
    return sum(done for done, _ in counts) / sum(wanted for _, wanted in counts)


def made(calls: Iterable[ToolCall], task: Task) -> tuple[int, int]:
    """Return how many of the golden calls of a task were made, and how many there are. A call that a task makes twice
    must be made twice."""
    wanted, done = Counter(map(_plain, task.golden_calls)), Counter(map(_plain, calls))
    return (wanted & done).total(), wanted.total()


def _plain(call: GoldenCall | ToolCall) -> tuple[str, str]:
    return call.name, canonical_json(call.arguments)
