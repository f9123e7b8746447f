"""Defects of the case: the candidate is bound to other rows, to rows that are not there, or to a value that a tool
refuses."""

from __future__ import annotations

import random

from toolscale.language.render import render
from toolscale.records import Candidate
from toolscale.tasks.record import Rejection
from toolscale.verify.defects.planting import Defect, Ground, Planted, pick, shuffled, spoken, words_of


def _bound(candidate: Candidate, role: str, keys: tuple[tuple[str | int, ...], ...], what: str) -> Planted:
    return Planted(candidate.model_copy(update={"bindings": {**candidate.bindings, role: keys}}), what)


def wrong_case_row(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The candidate is about another row than the plan finds; of a set, one is missing or too many."""
    plan, recording = ground.plan_of(candidate), ground.recording(candidate)
    free = [
        role
        for name, role in plan.roles.items()
        if name in recording.chosen and not role.said and role.role.take != "any"
    ]
    for role in shuffled(rng, free):
        keys = candidate.bindings[role.name]
        others = [key for key in ground.table(role.table) if key not in keys]
        if role.role.take == "all" and len(keys) > 1 and rng.random() < 0.5:
            left_out = rng.choice(keys)
            return _bound(
                candidate, role.name, tuple(key for key in keys if key != left_out), f"{role.name} without {left_out}"
            )
        if others:
            other = rng.choice(others)
            return _bound(
                candidate, role.name, (*keys, other) if role.role.take == "all" else (other,), f"{role.name} is {other}"
            )
    return None


def missing_row(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The candidate is about a row that the database does not have."""
    role = pick(
        rng, [name for name, role in ground.plan_of(candidate).roles.items() if role.said and not role.role.only_said]
    )
    if role is None:
        return None
    (key, *_) = candidate.bindings[role]
    nobody = tuple(
        part + rng.randrange(10**6, 10**7) if isinstance(part, int) else f"{part}_{rng.randrange(10**6)}"
        for part in key
    )
    return _bound(candidate, role, (nobody,), f"{role} is {nobody}")


def lost_slot(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A value that the user invents is missing from the record."""
    slot = pick(rng, [*candidate.say])
    if slot is None:
        return None
    return Planted(
        candidate.model_copy(update={"say": {name: value for name, value in candidate.say.items() if name != slot}}),
        f"no {slot}",
    )


def refused_call(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request asks, in plain words, for what a tool refuses: an amount that is not there."""
    plan = ground.plan_of(candidate)
    if plan.intent.outcome != "fulfil":
        return None
    for said in shuffled(
        rng, [value for value in spoken(ground, candidate) if value.kind == "money" and value.name in candidate.say]
    ):
        value = int(said.value) * rng.randrange(20, 3000) + rng.randrange(100)
        changed = candidate.model_copy(update={"say": {**candidate.say, said.name: value}})
        changed = said.replaced(changed, render(value, said.form, ground.today))
        if _is_refused(ground, changed):
            return Planted(changed, f"{said.name} is {value}")
    return None


def _is_refused(ground: Ground, candidate: Candidate) -> bool:
    """Whether a tool, called as the plan says, answers with an error."""
    try:
        ground.record(ground.plan_of(candidate), candidate)
    except Rejection as rejection:
        return rejection.gate == "replay"  # the recorder's word for a call that failed
    return False


DEFECTS = tuple(
    Defect(plant.__name__, "case", words_of(plant), plant)
    for plant in (wrong_case_row, missing_row, lost_slot, refused_call)
)
