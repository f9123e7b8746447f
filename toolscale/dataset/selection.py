"""From judged candidates to the tasks of a dataset: novelty and quotas, in the order of the candidates' numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolscale.records import GateResult, Judged
from toolscale.verify.novel import Novelty


@dataclass(frozen=True)
class Selection:
    """What becomes of the judged candidates, each group in number order."""

    accepted: tuple[Judged, ...]
    rejected: tuple[Judged, ...]
    over_quota: int
    """Candidates up to the cut that passed every gate, but whose intent had its share."""
    cut: int
    """One more than the number of the last accepted task: candidates from here on are not counted."""


def apply_novelty(judged: Iterable[Judged]) -> list[Judged]:
    """Return the candidates in number order, each with the gate `novel` judged against all before it."""
    novelty = Novelty()
    return [with_gate(candidate, novelty.check(candidate)) for candidate in sorted(judged, key=lambda item: item.candidate.number)]


def with_gate(judged: Judged, result: GateResult) -> Judged:
    """Return the candidate with one gate judged (again); the gates keep their order."""
    gates = judged.verdict.gates
    if any(gate.gate == result.gate for gate in gates):
        gates = tuple(result if gate.gate == result.gate else gate for gate in gates)
    else:
        gates = (*gates, result)
    task = judged.task and judged.task.model_copy(update={"verdict": {gate.gate: f"{gate.status}: {gate.finding}" for gate in gates}})
    return judged.model_copy(update={"verdict": judged.verdict.model_copy(update={"gates": gates}), "task": task})


def share_out(tasks: int, available: Mapping[str, int | None]) -> dict[str, int]:
    """Share tasks out over intents, evenly in the order given; an intent that has fewer (None: no end) passes the rest on to the others."""
    shares = dict.fromkeys(available, 0)
    open_intents = [intent for intent, most in available.items() if most is None or most > 0]
    while tasks and open_intents:
        for intent in open_intents[:tasks]:
            shares[intent] += 1
        tasks -= min(tasks, len(open_intents))
        open_intents = [intent for intent in open_intents if (most := available[intent]) is None or most > shares[intent]]
    return shares


def count_accepted(judged: Iterable[Judged], intents: Sequence[str]) -> dict[str, int]:
    """Return intent -> how many of its candidates passed every gate."""
    counts = dict.fromkeys(intents, 0)
    for candidate in judged:
        counts[candidate.candidate.intent_id] += candidate.verdict.accepted
    return counts


def select(judged: Sequence[Judged], intents: Sequence[str], tasks: int) -> Selection:
    """Choose `tasks` of the candidates (novelty already judged), evenly over the intents, lowest numbers first."""
    left = share_out(tasks, count_accepted(judged, intents))
    accepted: list[Judged] = []
    for candidate in judged:
        if candidate.verdict.accepted and left[candidate.candidate.intent_id]:
            left[candidate.candidate.intent_id] -= 1
            accepted.append(candidate)
    cut = 1 + accepted[-1].candidate.number if accepted else 1 + max((item.candidate.number for item in judged), default=-1)
    before = [candidate for candidate in judged if candidate.candidate.number < cut]
    rejected = tuple(candidate for candidate in before if not candidate.verdict.accepted)
    return Selection(tuple(accepted), rejected, len(before) - len(rejected) - len(accepted), cut)
