"""Defects that only harder tasks can have: slips of an evolution, for the case of the good candidate and in its
words."""

from __future__ import annotations

import random
import re
from typing import Any

from toolscale.records import Candidate, IfStep, Intent, PlanStep, Tell
from toolscale.tasks.evolution.renaming import rename_expression, rename_steps, rename_tell
from toolscale.tasks.names import matter_of, step_names
from toolscale.verify.defects.planting import OPEN, Defect, Ground, Planted, pick, twist, words_of


def taken_back_used(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The plan uses the value or row that was taken back."""
    return _taken_back(ground, candidate, rng, exchanged=False)


def correction_reversed(ground: Ground, candidate: Candidate, rng: random.Random) -> Planted | None:
    """The plan takes what the person wants for taken back, and uses what was taken back."""
    return _taken_back(ground, candidate, rng, exchanged=True)


def _taken_back(ground: Ground, candidate: Candidate, rng: random.Random, *, exchanged: bool) -> Planted | None:
    intent = ground.plan_of(candidate).intent
    said_first = [(name, _corrected(name, intent.slots)) for name, slot in intent.slots.items() if slot.taken_back]
    said_first += [(name, _corrected(name, intent.roles)) for name, role in intent.roles.items() if role.only_said]
    pair = pick(rng, [pair for pair in said_first if pair[1] is not None])
    if pair is None:
        return None
    was, name = pair
    if name in intent.slots:
        changed = _renamed(intent, {}, {name: was})
        slots = {**intent.slots, name: intent.slots[was], was: intent.slots[name]}
        changed = changed.model_copy(update={"slots": slots if exchanged else intent.slots})
    else:
        changed = _renamed(intent, {name: was}, {})
        roles = {
            **intent.roles,
            **{each: intent.roles[each].model_copy(update={"only_said": each == name}) for each in (name, was)},
        }
        changed = changed.model_copy(update={"roles": roles if exchanged else intent.roles})
    # What is done depends on it through a look-up alone.
    if (changed.do, changed.tell, changed.roles) == (intent.do, intent.tell, intent.roles):
        return None
    return twist(ground, candidate, changed, f"{was} is used for {name}")


def _corrected(was: str, names: Any) -> str | None:
    """What was said instead of what was taken back: `amount` for `was_amount`, None for what is only mentioned."""
    name = was.removeprefix("was_")
    return next((each for each in (name, re.sub(r"_\d+$", "", name)) if each != was and each in names), None)


def _renamed(intent: Intent, names: dict[str, str], slots: dict[str, str]) -> Intent:
    """The intent with other names in all that is done and told."""
    refused = tuple(
        part.model_copy(
            update={
                "do": rename_steps(part.do, names, slots),
                "about": part.about and rename_expression(part.about, names, slots),
            }
        )
        for part in intent.refused
    )
    tells = tuple(rename_tell(tell, names, slots) for tell in intent.tell)
    return intent.model_copy(update={"do": rename_steps(intent.do, names, slots), "tell": tells, "refused": refused})


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
        taken_back_used,
        correction_reversed,
        condition_turned,
        withheld_told,
        labels_exchanged,
        second_matter_dropped,
        refused_part_done,
    )
)
