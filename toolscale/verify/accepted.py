"""The task that a candidate becomes once it is accepted: what a solver is given, what is right, and how hard it is."""

from __future__ import annotations

from typing import Any

from toolscale.canonical import CANONICAL_VERSION, canonical_json, content_hash
from toolscale.config import GRADING_VERSION
from toolscale.records import Difficulty, Provenance, Scenario, Solved, Task, Verdict
from toolscale.sandbox.base import to_row_changes
from toolscale.tasks.record import Recording
from toolscale.verify.subject import Subject

HARD_CALLS = 7
"""A hard task has at least so many golden calls, and at least two of them write. A task that is neither easy nor hard
is `medium`."""


def accepted_task(subject: Subject, verdict: Verdict, initial_state_hash: str, solved: Solved | None = None) -> Task:
    """Return the task that a candidate becomes, all of whose gates have passed."""
    candidate, recording = subject.candidate, subject.recording
    calls = tuple(recorded.call for recorded in recording.calls)
    changes = to_row_changes(subject.environment.schema, subject.net)
    content = {
        "domain": candidate.domain,
        "intent_id": candidate.intent_id,
        "request": candidate.request,
        "environment_hash": subject.environment.hash,
        "golden_calls": [[call.name, call.arguments, call.result] for call in calls],
        "row_changes": [change.model_dump(mode="json") for change in changes],
        "communicate": [fact.model_dump(mode="json") for fact in recording.facts],
        "initial_state_hash": initial_state_hash,
        "evolutions": list(candidate.evolutions),
        "turns": candidate.turns,
        "answer": candidate.answer,
        **({"replies": [reply.model_dump() for reply in candidate.replies]} if candidate.replies else {}),
        **({"added": candidate.model_dump(mode="json", include={"added"})["added"]} if candidate.added else {}),
    }
    return Task(
        id=content_hash(content)[:32],
        domain=candidate.domain,
        intent_id=candidate.intent_id,
        evolutions=candidate.evolutions,
        outcome=subject.plan.intent.outcome,
        request=candidate.request,
        turns=candidate.turns,
        answer=candidate.answer,
        scenario=_scenario(subject),
        golden_calls=calls,
        communicate=tuple(recording.facts),
        form=subject.brief.form.parameters if candidate.answer == "form" else None,
        row_changes=changes,
        touched=tuple((table, canonical_json(list(key))) for table, key in subject.touched),
        difficulty=_difficulty(recording),
        environment_hash=subject.environment.hash,
        initial_state_hash=initial_state_hash,
        verdict={gate.gate: f"{gate.status}: {gate.finding}" for gate in verdict.gates},
        mutants_killed=verdict.mutants_killed,
        provenance=_provenance(subject),
        candidate=candidate,
        solved=solved,
    )


def _provenance(subject: Subject) -> Provenance:
    candidate, proposer = subject.candidate, _proposer(subject)
    return Provenance(
        generator="plans",
        seed=candidate.seed,
        candidate=candidate.number,
        versions={
            "judge": str(GRADING_VERSION),
            "canonical": str(CANONICAL_VERSION),
            "environment": subject.environment.spec.world.version,
            **({"proposed_by": proposer} if proposer else {}),
        },
    )


def _proposer(subject: Subject) -> str:
    """Return the model that proposed the intent of a task, or one that is joined to it; empty if people wrote all."""
    lines = [line.split(" ") for line in subject.candidate.evolutions]
    joined = [names[0] for operator, *names in lines if operator == "compose"]
    by = {each.id: each.proposed_by for each in subject.environment.spec.intents.intents if each.proposed_by}
    return next(filter(None, (by.get(name, "") for name in (subject.candidate.intent_id, *joined))), "")


def _scenario(subject: Subject) -> Scenario:
    known: dict[str, Any] = dict(subject.candidate.say)
    for role, columns in subject.inputs.said.items():
        known |= {f"{role}.{column}": value for column, value in columns.items()}
    unknown: dict[str, Any] = {}
    for role, rows in subject.recording.chosen.items():
        keys: list[Any] = [row[column] for row in rows for column in subject.plan.roles[role].key]
        unknown[role] = keys if subject.plan.roles[role].role.take == "all" else keys[0] if len(keys) == 1 else keys
    persona = subject.candidate.persona
    text = subject.environment.spec.language.personas[persona].text if persona else None
    held = [reply.about.rpartition(".")[2].replace("_", " ") for reply in subject.candidate.held]
    instructions = f"Tell only when asked: {', '.join(held)}." if held else None
    return Scenario(known=known, unknown=unknown, persona=text, instructions=instructions)


def _difficulty(recording: Recording) -> Difficulty:
    calls, writes = len(recording.calls), len(recording.writes)
    branches = len(recording.branches)
    hops = max((recorded.depth for recorded in recording.calls), default=0)
    tier: Any = (
        "hard"
        if writes >= 2 and calls >= HARD_CALLS
        else "easy"
        if writes <= 1 and calls <= 4 and not branches
        else "medium"
    )
    return Difficulty(calls=calls, reads=calls - writes, writes=writes, hops=hops, branches=branches, tier=tier)
