"""From judged candidates to the tasks of a dataset: novelty and quotas, in the order of the candidates' numbers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, TypeVar, get_args

from toolscale.config import REFUSAL_SHARE
from toolscale.records import GateResult, Judged
from toolscale.tasks.binding import Stream
from toolscale.verify.novel import Novelty

Name = TypeVar("Name", int, str)
Outcome = Literal["accepted", "rejected", "over_quota", "not_counted", "no_case"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""`accepted`: a task. `rejected`: a candidate that failed. `over_quota`: one that passed, but whose stream had its
share. `not_counted`: one that failed, after the last task. `no_case`: a number without a case."""


@dataclass(frozen=True)
class Selection:
    """What becomes of the numbers that were drawn, each group in their order."""

    accepted: tuple[Judged, ...]
    rejected: tuple[Judged, ...]
    outcomes: tuple[tuple[int, Outcome], ...]
    """Every number that was drawn, and what became of it."""


def apply_novelty(judged: Iterable[Judged]) -> list[Judged]:
    """Return the candidates in number order, each with the gate `novel` judged against all before it."""
    novelty = Novelty()
    return [
        with_gate(candidate, novelty.check(candidate))
        for candidate in sorted(judged, key=lambda item: item.candidate.number)
    ]


def with_gate(judged: Judged, result: GateResult) -> Judged:
    """Return the candidate with one gate judged (again); the gates keep their order."""
    gates = judged.verdict.gates
    if any(gate.gate == result.gate for gate in gates):
        gates = tuple(result if gate.gate == result.gate else gate for gate in gates)
    else:
        gates = (*gates, result)
    task = judged.task and judged.task.model_copy(
        update={"verdict": {gate.gate: f"{gate.status}: {gate.finding}" for gate in gates}}
    )
    return judged.model_copy(update={"verdict": judged.verdict.model_copy(update={"gates": gates}), "task": task})


EVERY_GROUP = 10
"""Tasks for each group of streams from which on every group has one."""

Weights = tuple[Mapping[str, float], ...]
"""Groups of streams, each stream -> the share of all tasks that it should give."""


def weights_of(streams: Sequence[Stream], evolved: float, toward: Mapping[str, float] | None = None) -> Weights:
    """Return what each stream should give: `evolved` of the tasks are evolved, REFUSAL_SHARE of each kind are refused
    or handed over, by the weights of the streams that are. Streams of one kind and outcome are a group, so that a small
    dataset has each outcome. `toward`: stream -> how often it is wanted beside 1; 0 is never."""
    groups: dict[tuple[bool, str], dict[str, float]] = {}
    totals: dict[tuple[bool, bool], float] = {}
    wanted = {each.name: each.weight * (1.0 if toward is None else toward.get(each.name, 1.0)) for each in streams}
    for stream in streams:
        side = stream.kind != "plain", stream.outcome == "fulfil"
        totals[side] = totals.get(side, 0.0) + wanted[stream.name]
    for stream in streams:
        is_evolved, fulfils = side = stream.kind != "plain", stream.outcome == "fulfil"
        share = (evolved if is_evolved else 1 - evolved) * (1 - REFUSAL_SHARE if fulfils else REFUSAL_SHARE)
        groups.setdefault((is_evolved, stream.outcome), {})[stream.name] = (
            share * wanted[stream.name] / (totals[side] or 1.0)
        )
    return tuple(groups.values())


def share_out(tasks: int, weights: Weights, available: Mapping[str, int | None]) -> dict[str, int]:
    """Share tasks out over groups, then in each group over its streams. A group or stream that has fewer candidates
    (`available`; None: no limit) passes the rest on to the others.

    Groups come first: many small streams together get some tasks, even where no single one of them would get any. From
    EVERY_GROUP tasks for each group on, every group gets one.
    """
    rooms = {place: _room(group, available) for place, group in enumerate(weights)}
    least = 1 if tasks >= EVERY_GROUP * len(weights) else 0
    seats = _seat(tasks, {place: sum(group.values()) for place, group in enumerate(weights)}, rooms, least)
    return {
        name: share
        for place, group in enumerate(weights)
        for name, share in _seat(seats[place], group, available).items()
    }


def _room(group: Mapping[str, float], available: Mapping[str, int | None]) -> int | None:
    rooms = [available.get(name) for name, weight in group.items() if weight > 0]
    known = [room for room in rooms if room is not None]
    return sum(known) if len(known) == len(rooms) else None


def _seat(
    tasks: int, weights: Mapping[Name, float], available: Mapping[Name, int | None], least: int = 0
) -> dict[Name, int]:
    """Give seats as in Sainte-Laguë's method: the next to the one with the greatest weight / (2 * seats + 1), the first
    of equal ones; `least` go to each beforehand."""
    shares = dict.fromkeys(weights, 0)
    heap = [
        (-inf if least else -weight, place, name) for place, (name, weight) in enumerate(weights.items()) if weight > 0
    ]
    heapq.heapify(heap)
    while tasks and heap:
        _, place, name = heapq.heappop(heap)
        most = available.get(name)
        if most is not None and shares[name] >= most:
            continue
        shares[name] += 1
        tasks -= 1
        weight = inf if shares[name] < least else weights[name] / (2 * shares[name] + 1)
        heapq.heappush(heap, (-weight, place, name))
    return shares


def count_accepted(judged: Iterable[Judged]) -> Counter[str]:
    """Return stream -> how many of its candidates passed every gate."""
    return Counter(item.candidate.stream for item in judged if item.verdict.accepted)


def select(judged: Sequence[Judged], weights: Weights, tasks: int, no_case: Iterable[int] = ()) -> Selection:
    """Choose `tasks` of the candidates (novelty already judged) by the weights of their streams, lowest numbers first.

    `no_case`: the numbers that were drawn and had no case.
    """
    counts = count_accepted(judged)
    left = share_out(tasks, weights, {name: counts[name] for group in weights for name in group})
    accepted: list[Judged] = []
    for candidate in judged:
        stream = candidate.candidate.stream
        if candidate.verdict.accepted and left.get(stream):
            left[stream] -= 1
            accepted.append(candidate)
    cut = (
        1 + accepted[-1].candidate.number
        if accepted
        else 1 + max((item.candidate.number for item in judged), default=-1)
    )
    rejected = [item for item in judged if item.candidate.number < cut and not item.verdict.accepted]
    chosen = {candidate.candidate.number for candidate in accepted}

    def outcome(candidate: Judged) -> Outcome:
        if candidate.verdict.accepted:
            return "accepted" if candidate.candidate.number in chosen else "over_quota"
        return "rejected" if candidate.candidate.number < cut else "not_counted"

    outcomes: dict[int, Outcome] = dict.fromkeys(no_case, "no_case")
    outcomes |= {candidate.candidate.number: outcome(candidate) for candidate in judged}
    return Selection(tuple(accepted), tuple(rejected), tuple(sorted(outcomes.items())))
