"""Defects that only harder tasks can have: slips of an evolution, for the case of the good candidate and in its
words."""

from __future__ import annotations

import random
import re

from toolscale.records import Candidate, IfStep, PlanStep, Tell
from toolscale.tasks.names import matter_of, step_names
from toolscale.verify.defects.planting import OPEN, Defect, Ground, Planted, pick, twist, words_of


def condition_turned(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The test of a condition is reversed: what is asked for only if it holds is done if it does not."""
    intent = ground.plan_of(candidate).intent
    if not any(line.startswith("constrain ") for line in candidate.evolutions):
        return None
    step = next(step for step in intent.do if isinstance(step, IfStep))
    turned = f"NOT ({step.if_})"
    changed = tuple(each.model_copy(update={"if_": turned}) if each is step else each for each in intent.do)
    return twist(ground, candidate, intent.model_copy(update={"do": changed}), f"it is done if {turned}")


def withheld_told(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """What is private, and nobody else's business, is to be told."""
    intent = ground.plan_of(candidate).intent
    if not any(fact.withheld for fact in ground.recording(candidate).facts):
        return None
    tells = tuple(tell.model_copy(update={"withheld": False}) for tell in intent.tell)
    return twist(ground, candidate, intent.model_copy(update={"tell": tells}), "what is private is to be told")


def labels_exchanged(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """Two facts of one kind stand under each other's label."""
    tells = ground.plan_of(candidate).intent.tell
    labelled = [
        (number, tell)
        for number, tell in enumerate(tells)
        if tell.about and not tell.each and not tell.withheld and tell.kind != "bool"
    ]
    pairs = [
        (one, other) for one in labelled for other in labelled if one[0] < other[0] and _exchangeable(one[1], other[1])
    ]
    pair = pick(rng, pairs)
    if pair is None:
        return None
    (one, first), (other, second) = pair
    changed = list(tells)
    changed[one], changed[other] = (
        first.model_copy(update={"about": second.about}),
        second.model_copy(update={"about": first.about}),
    )
    bent = ground.plan_of(candidate).intent.model_copy(update={"tell": tuple(changed)})
    return twist(ground, candidate, bent, f"{first.is_} is told of {second.about}, {second.is_} of {first.about}")


def _exchangeable(one: Tell, other: Tell) -> bool:
    return one.kind == other.kind and one.about != other.about


def second_matter_dropped(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The request asks for one more thing, which the plan neither does nor tells."""
    intent = ground.plan_of(candidate).intent
    composed = [line.split()[1] for line in candidate.evolutions if line.startswith("compose ")]
    suffixes = [found for name in (*intent.roles, *intent.slots, *step_names(intent.do)) if (found := matter_of(name))]
    if not composed or not suffixes:
        return None
    suffix = max(suffixes)
    own = {name for name in (*intent.roles, *step_names(intent.do), *intent.slots) if name.endswith(suffix)}

    def of_it(text: str | None) -> bool:
        return text is not None and re.search(rf"\b(?:{'|'.join(own)})\b", text) is not None

    def kept(steps: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
        return tuple(step for step in steps if not of_it(step.model_dump_json()))

    tells = tuple(tell for tell in intent.tell if not any(map(of_it, (tell.is_, tell.about, tell.each))))
    # The roles and slots stay: the words, which are about them, could not be made without.
    refused = tuple(part for part in intent.refused if not of_it(part.model_dump_json()))
    left = intent.model_copy(update={"outcome": "fulfil", "do": kept(intent.do), "tell": tells, "refused": refused})
    return twist(ground, candidate, left, f"{composed[-1]} is left out")


def refused_part_done(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The part of a request that a rule forbids is done with the rest."""
    intent = ground.plan_of(candidate).intent
    if intent.outcome != "fulfil" or not intent.refused:
        return None
    done = tuple(step for part in intent.refused for step in part.do)
    bent = intent.model_copy(update={"do": (*intent.do, *done), "refused": ()})
    return twist(ground, candidate, bent, f"it is done in spite of {intent.refused[0].rule}")


DEFECTS = tuple(
    Defect(plant.__name__, "plan", words_of(plant), plant, OPEN.get(plant.__name__, ""))
    for plant in (
        condition_turned,
        withheld_told,
        labels_exchanged,
        second_matter_dropped,
        refused_part_done,
    )
)
