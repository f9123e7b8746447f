"""Defects that a task has only beside others: done before, or in the words of others."""

from __future__ import annotations

import random
from collections.abc import Iterator

from toolscale.config import SKELETON_LIMIT
from toolscale.records import Candidate
from toolscale.tasks.phrase import put_into_words
from toolscale.verify.defects.planting import Defect, Ground, Planted

PLACES = ("at the station", "in the kitchen", "on the terrace", "between two meetings", "in the waiting room", "on my way home")
COPIED = (
    "I am writing this {place} while the children are asleep and the rain has not stopped since we came back from the lake, so bear with me.",
    "Somebody told me {place} that one only has to ask, and since I have never done so before I thought that I might as well try it now.",
    "It is rather loud {place} and my old glasses are still being repaired, which is why this may sound a little shorter than it should.",
)
TRIES = 60


def _others(ground: Ground, candidate: Candidate) -> Iterator[Candidate]:
    """Other candidates of the same intent."""
    size, turn = len(ground.source.intents), candidate.number // len(ground.source.intents)
    place = candidate.number % size
    drawn = (ground.source.draw(candidate.seed, other * size + place) for other in range(turn + 1, turn + TRIES))
    yield from (other for other in drawn if other is not None)


def _in_words(ground: Ground, candidate: Candidate, turn: int, seed: int) -> Candidate:
    """The candidate with its case put into words anew."""
    plan = ground.plan_of(candidate)
    rows = {name: [ground.table(role.table)[tuple(key)] for key in candidate.bindings[name]] for name, role in plan.roles.items()}
    request, skeleton = put_into_words(plan, ground.environment, rows, candidate.say, turn, random.Random(seed))
    return candidate.model_copy(update={"request": request, "skeleton": skeleton})


def duplicate_task(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The same thing was asked for before, in other words."""
    other = _in_words(ground, candidate, rng.randrange(100), rng.randrange(10**6))
    return Planted(other, f"candidate {candidate.number} in other words", before=(candidate,)) if other.request != candidate.request else None


def worn_words(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """So many tasks before it have the same words around other facts."""
    turn, seed = rng.randrange(100), rng.randrange(10**6)
    before: list[Candidate] = []
    deeds = {_deed(ground, candidate)}
    for other in _others(ground, candidate):
        deed = _deed(ground, other)
        if deed not in deeds and len(before) < SKELETON_LIMIT:
            deeds.add(deed)
            before.append(_in_words(ground, other, turn, seed))
    if len(before) < SKELETON_LIMIT:
        return None
    mine = _in_words(ground, candidate, turn, seed)
    return Planted(mine, f"{SKELETON_LIMIT} tasks with the same words before it", before=tuple(before))


def _deed(ground: Ground, candidate: Candidate) -> str:
    return repr((candidate.bindings, candidate.say))


def copied_passage(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A long passage stands in another task word for word."""
    passage = rng.choice(COPIED).format(place=rng.choice(PLACES))
    other = next((other for other in _others(ground, candidate) if _deed(ground, other) != _deed(ground, candidate)), None)
    if other is None:
        return None
    both = [
        each.model_copy(update={"request": f"{each.request} {passage}", "skeleton": f"{each.skeleton} {passage}"}) for each in (other, candidate)
    ]  # fmt: skip
    return Planted(both[1], f"it copies {passage!r}", before=(both[0],))


DEFECTS = tuple(
    Defect(plant.__name__, "company", (plant.__doc__ or "").split("\n")[0], plant) for plant in (duplicate_task, worn_words, copied_passage)
)
