"""Defects of dialogues: what is held back is told at once, never, wrongly, or for another question."""

from __future__ import annotations

import random

from toolscale.records import Candidate, Reply
from toolscale.verify.defects.planting import Defect, Ground, Planted, words_of

_EVASIONS = ("You know that already.", "The usual one.", "As always.", "Whatever you think is best.")


def _dialogue(ground: Ground, candidate: Candidate) -> Candidate | None:
    """The same candidate as a dialogue."""
    made = ground.source.draw_evolved(candidate.seed, candidate.number, candidate.evolutions, "dialogue")
    return made if made is not None and made.held else None


def _with(candidate: Candidate, old: Reply, *new: Reply) -> Candidate:
    kept = [each for reply in candidate.replies for each in (new if reply == old else (reply,))]
    return candidate.model_copy(update={"replies": tuple(kept)})


def told_at_once(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request already says what is to be told only when asked."""
    made = _dialogue(ground, candidate)
    if made is None:
        return None
    reply = rng.choice(made.held)
    text = f"{made.request} {reply.says}"
    return Planted(made.model_copy(update={"request": text}), f"the request also says {reply.says!r}")


def never_told(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Something is held back, and the person has no answer for whoever asks."""
    made = _dialogue(ground, candidate)
    if made is None:
        return None
    reply = rng.choice(made.held)
    return Planted(_with(made, reply), f"nobody can be asked for {reply.about}")


def evaded(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The person answers without telling what was asked for."""
    made = _dialogue(ground, candidate)
    if made is None:
        return None
    reply, words = rng.choice(made.held), rng.choice(_EVASIONS)
    evading = reply.model_copy(update={"says": words})
    return Planted(_with(made, reply, evading), f"asked for {reply.about}, they say {words!r}")


def told_for_another(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The person tells another thing than was asked for."""
    made = _dialogue(ground, candidate)
    if made is None or len(made.replies) < 2:
        return None
    one = rng.choice(made.held)
    other = rng.choice([reply for reply in made.replies if reply != one])
    if one.says == other.says:
        return None
    first, second = one.model_copy(update={"says": other.says}), other.model_copy(update={"says": one.says})
    changed = {one: first, other: second}
    replies = tuple(changed.get(reply, reply) for reply in made.replies)
    return Planted(made.model_copy(update={"replies": replies}), f"{one.about} and {other.about} are exchanged")


def nothing_held(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """A dialogue in which nothing is held back, although the request does not say all."""
    made = _dialogue(ground, candidate)
    if made is None:
        return None
    replies = tuple(reply.model_copy(update={"held": False}) for reply in made.replies)
    return Planted(made.model_copy(update={"replies": replies}), "nothing is held back")


DEFECTS = tuple(
    Defect(plant.__name__, "request", words_of(plant), plant)
    for plant in (told_at_once, never_told, evaded, told_for_another, nothing_held)
)
