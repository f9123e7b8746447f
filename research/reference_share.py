"""How much of the reference solutions a policy did: of the golden calls of all tasks, those that it made with the same
arguments, and of the values that the golden forms give, those that its own forms give.

It tells policies apart where most solutions are wrong somewhere. It is no grade: what is right may be done in other
ways too.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from eval.statistics import wilson
from toolscale.canonical import canonical_json
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.figures import DatasetRows
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.manifest import world_folder
from toolscale.environment.environment import load_environment
from toolscale.errors import UsageError
from toolscale.records import GoldenCall, Rollout, Task, ToolCall

SHORT = 12
"""So many letters of a task's id end the id of an offer of it (toolscale/rollout/offering.py)."""
DONE = "done"
"""The field that every form has. It is left out: its value is nearly always the same."""

ALIKE = 1e-12
"""An interval that is narrower has no width but for rounding."""

Counts = tuple[int, int]
"""How many were done, of how many."""
Sums = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""The same for each cluster of tasks, a row each."""


@dataclass(frozen=True)
class Share:
    """A share of all tasks together, or a difference of two, with its 95 % interval, clustered by intent."""

    value: float
    low: float
    high: float


def reference_shares(rollouts: Path, golden: Path, dataset: Path) -> dict[str, dict[str, float]]:
    """Return the shares of golden `calls`, of those among them that change something (`changes`), and of golden
    `values`, and how many other changes a task had (`strays`), for a file of rollouts that `python -m eval` left.
    `dataset` has their tasks; `golden`: the rollouts of the policy that recites the references of these, in forms."""
    counts, intents = _counted(rollouts, golden, dataset)
    groups = list(intents.values())
    return {
        name: asdict((_ratio if name == "strays" else _share)(_sums(each, groups))) for name, each in counts.items()
    }


def reference_differences(rollouts: Path, other: Path, golden: Path, dataset: Path) -> dict[str, dict[str, float]]:
    """Return by how much the shares of one policy are above those of another on the same tasks, and its share of tasks
    that are `right` too, with 95 % intervals of the differences task by task: what is hard for both makes them no
    wider. UsageError if the tasks are others."""
    counts, intents = _counted(rollouts, golden, dataset)
    others, same = _counted(other, golden, dataset)
    if list(intents.items()) != list(same.items()):
        raise UsageError(f"{other}: has other tasks than {rollouts}, or in another order; play both on the same ones")
    counts["right"], others["right"] = _right(rollouts), _right(other)
    differences = {
        name: [(one[0] - two[0], one[1]) for one, two in zip(each, others[name], strict=True)]
        for name, each in counts.items()
    }
    groups = list(intents.values())
    return {
        name: asdict((_ratio if name == "strays" else _difference)(_sums(each, groups)))
        for name, each in differences.items()
    }


def right_of_unread(rollouts: Path, dataset: Path, trained: Path) -> dict[str, int]:
    """Return how many `tasks` have other golden calls than every task of the training split of `trained`, whatever
    their order, and how many of these were `right`."""
    read = {_all_calls(task) for rows in _domains(trained) for task in map(task_of, rows.splits["train"])}
    tasks = _tasks_of(dataset)
    right = [bool(each.right) for each in _rollouts_of(rollouts) if _all_calls(tasks[_short(each.task_id)]) not in read]
    return {"tasks": len(right), "right": sum(right)}


def _counted(rollouts: Path, golden: Path, dataset: Path) -> tuple[dict[str, list[Counts]], dict[str, str]]:
    """What was done of each task, and its intent by the id of the rollout's task."""
    tasks = _tasks_of(dataset)
    writing = {domain: _changing(dataset, domain) for domain in {task.domain for task in tasks.values()}}
    references = {each.task_id: each for each in _rollouts_of(golden)}
    played = [(each, tasks[_short(each.task_id)]) for each in _rollouts_of(rollouts)]
    counts = {
        "calls": [made(rollout.calls, task) for rollout, task in played],
        "changes": [made(rollout.calls, task, writing[task.domain]) for rollout, task in played],
        "strays": [(strays(rollout.calls, task, writing[task.domain]), 1) for rollout, task in played],
        "values": [told(rollout.answer, str(references[rollout.task_id].answer)) for rollout, _ in played],
    }
    return counts, {rollout.task_id: task.candidate.intent_id for rollout, task in played}


def _domains(dataset: Path) -> Iterable[DatasetRows]:
    return read_dataset(dataset).domains.values()


def _tasks_of(dataset: Path) -> dict[str, Task]:
    """Those of all splits, by the beginning of their id."""
    return {row["id"][:SHORT]: task_of(row) for rows in _domains(dataset) for row in rows.tasks}


def _short(offer: str) -> str:
    """The beginning of the id of a task, from that of an offer of it."""
    return offer.rpartition("-")[2]


def _all_calls(task: Task) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(map(_plain, task.golden_calls)))


def _right(rollouts: Path) -> list[Counts]:
    return [(int(each.right), 1) for each in _rollouts_of(rollouts)]


def _changing(dataset: Path, domain: str) -> frozenset[str]:
    """The tools that change something."""
    tools = load_environment(world_folder(dataset, domain)).tools
    return frozenset(name for name, tool in tools.items() if tool.mutates_state)


def made(calls: Iterable[ToolCall], task: Task, tools: Collection[str] | None = None) -> Counts:
    """Return how many of the golden calls of a task were made, and how many there are; `tools`: of these alone. A call
    that a task makes twice must be made twice."""
    wanted, done = _counters(calls, task, tools)
    return (wanted & done).total(), wanted.total()


def strays(calls: Iterable[ToolCall], task: Task, tools: Collection[str]) -> int:
    """Return how many calls of these tools were made that are no golden ones."""
    wanted, done = _counters(calls, task, tools)
    return (done - wanted).total()


def _counters(
    calls: Iterable[ToolCall], task: Task, tools: Collection[str] | None
) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """How often each call is wanted, and how often it was made."""
    wanted, done = (
        Counter(_plain(call) for call in each if tools is None or call.name in tools)
        for each in (task.golden_calls, calls)
    )
    return wanted, done


def told(answer: str | None, golden: str) -> Counts:
    """Return how many of the values of a golden form another form gives, and how many there are. What is empty there is
    no value, and the order of a list does not matter."""
    wanted, given = _values(json.loads(golden)), _values(_form(answer))
    return sum(given.get(name) == value for name, value in wanted.items()), len(wanted)


def _form(answer: str | None) -> dict[str, Any]:
    """A form that was filled in; empty where the answer is none, or words."""
    try:
        found = json.loads(answer or "{}")
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _values(form: dict[str, Any]) -> dict[str, str]:
    ordered = {
        name: sorted(value, key=canonical_json) if isinstance(value, list) else value for name, value in form.items()
    }
    return {name: canonical_json(value) for name, value in ordered.items() if name != DONE and value not in (None, [])}


def _share(sums: Sums) -> Share:
    """A share from 0 to 1. All and nothing have Wilson's interval over clusters, as every other one has no width."""
    found = _ratio(sums)
    if found.value in (0.0, 1.0):
        return Share(found.value, *wilson(round(found.value * len(sums)), len(sums)))
    return Share(found.value, max(0.0, found.low), min(1.0, found.high))


def _difference(sums: Sums) -> Share:
    """A difference of two shares, from -1 to 1. Where all clusters differ by the same v the interval would have no
    width: at most the share w of them differs by something else, Wilson's upper end for none, so the mean lies from
    v - w(1 + v) to v + w(1 - v)."""
    found = _ratio(sums)
    if found.high - found.low < ALIKE:
        value, most = found.value, wilson(0, len(sums))[1]
        return Share(value, value - most * (1 + value), value + most * (1 - value))
    return Share(found.value, max(-1.0, found.low), min(1.0, found.high))


def _ratio(sums: Sums) -> Share:
    """The ratio of two sums over clusters: t with C - 1 degrees of freedom and the error of a ratio estimate (Cochran,
    Sampling Techniques, 1977, chapter 6). Without width where there is one cluster."""
    value, count = _value(sums), len(sums)
    if count == 1:
        return Share(value, value, value)
    off = sums[:, 0] - value * sums[:, 1]
    error = np.sqrt(count / (count - 1) * (off**2).sum()) / sums[:, 1].sum()
    half = float(stats.t.ppf(0.975, count - 1) * error)
    return Share(value, value - half, value + half)


def _value(sums: Sums) -> float:
    return float(sums[:, 0].sum() / sums[:, 1].sum())


def _sums(counts: Sequence[Counts], clusters: Sequence[str]) -> Sums:
    """Of each cluster, in the order of their names, what was done and what there was. Clusters in which there is
    nothing to do are left out."""
    names = sorted({cluster for (_, wanted), cluster in zip(counts, clusters, strict=True) if wanted})
    sums = np.zeros((len(names), 2))
    for count, cluster in zip(counts, clusters, strict=True):
        if cluster in names:
            sums[names.index(cluster)] += count
    return sums


def _rollouts_of(path: Path) -> list[Rollout]:
    """The last rollout of each key, in the order in which keys first came: what failed is played again."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    last = {line["key"]: line["rollout"] for line in lines}
    return [Rollout.model_validate(rollout) for rollout in last.values()]


def _plain(call: GoldenCall | ToolCall) -> tuple[str, str]:
    return call.name, canonical_json(call.arguments)
