"""Defects that a task has only beside others: done before, or in the words of others."""

from __future__ import annotations

import random
from collections.abc import Iterator

from toolscale.config import SKELETON_LIMIT
from toolscale.records import Candidate
from toolscale.tasks.phrase import put_into_words
from toolscale.tasks.record import Rejection
from toolscale.verify.defects.planting import Defect, Ground, Planted, words_of

PLACES = (
    "at the station",
    "in the kitchen",
    "on the terrace",
    "between two meetings",
    "in the waiting room",
    "on my way home",
)
COPIED = (
    (
        "I am writing this {place} while the children are asleep and the rain has not stopped since we came back "
        "from the lake, so bear with me."
    ),
    (
        "Somebody told me {place} that one only has to ask, and since I have never done so before I thought that "
        "I might as well try it now."
    ),
    (
        "It is rather loud {place} and my old glasses are still being repaired, which is why this may sound "
        "a little shorter than it should."
    ),
)
TRIES = 60

SPARE = 2
"""How many more tasks are put before it than the gate needs: a task that is rejected for another reason is not
remembered."""


def _others(ground: Ground, candidate: Candidate) -> Iterator[Candidate]:
    """Other cases of the same plan."""
    size = len(ground.source.streams)
    turn = candidate.number // size
    place = candidate.number % size
    drawn = (
        ground.source.draw_evolved(candidate.seed, other * size + place, candidate.evolutions)
        for other in range(turn + 1, turn + TRIES)
    )
    yield from (other for other in drawn if other is not None)


def _in_words(ground: Ground, candidate: Candidate, turn: int, seed: int) -> Candidate:
    """The candidate with its case put into words anew."""
    plan = ground.plan_of(candidate)
    rows = {
        name: [ground.table(role.table)[tuple(key)] for key in candidate.bindings[name]]
        for name, role in plan.roles.items()
    }
    words = put_into_words(plan, ground.environment, rows, candidate.say, turn, random.Random(seed))
    return candidate.model_copy(update={"request": words.request, "skeleton": words.skeleton, "persona": words.persona})


def duplicate_task(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The same thing was asked for before, in other words."""
    other = _in_words(ground, candidate, rng.randrange(100), rng.randrange(10**6))
    return (
        Planted(other, f"candidate {candidate.number} in other words", before=(candidate,))
        if other.request != candidate.request
        else None
    )


def worn_words(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """So many tasks before it have the same words around other facts."""
    turn, seed = rng.randrange(100), rng.randrange(10**6)
    before = [_in_words(ground, other, turn, seed) for other in _unlike(ground, candidate, SKELETON_LIMIT + SPARE)]
    mine = _in_words(ground, candidate, turn, seed)
    if len(before) < SKELETON_LIMIT + SPARE:
        return None
    return Planted(mine, f"{len(before)} tasks with the same words before it", before=tuple(before))


def _unlike(ground: Ground, candidate: Candidate, count: int) -> list[Candidate]:
    """So many other cases of the same plan, at most, that do other things than this one and than each other."""
    deeds, found = {_deed(ground, candidate)}, list[Candidate]()
    for other in _others(ground, candidate):
        deed = _deed(ground, other)
        if deed is not None and deed not in deeds:
            deeds.add(deed)
            found.append(other)
        if len(found) == count:
            break
    return found


def _deed(ground: Ground, candidate: Candidate) -> str | None:
    """What is done and told for a candidate, None if it cannot be recorded."""
    try:
        made = ground.record(ground.plan_of(candidate), candidate)
    except Rejection:
        return None
    return repr(([(recorded.call.name, recorded.call.arguments) for recorded in made.calls], made.facts))


def copied_passage(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A long passage stands in another task word for word."""
    passage = rng.choice(COPIED).format(place=rng.choice(PLACES))
    others = _unlike(ground, candidate, 1 + SPARE)

    def copying(each: Candidate) -> Candidate:
        return each.model_copy(
            update={"request": f"{each.request} {passage}", "skeleton": f"{each.skeleton} {passage}"}
        )

    return Planted(copying(candidate), f"it copies {passage!r}", before=tuple(map(copying, others))) if others else None


DEFECTS = tuple(
    Defect(plant.__name__, "company", words_of(plant), plant) for plant in (duplicate_task, worn_words, copied_passage)
)
