"""Reasoning: puzzles with exactly one solution, found by trying all; and questions about dates and directions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import FIRST_NAMES, Drawn, QuestionTemplate, integer, word

Clue = tuple[str, Callable[[Sequence[int]], bool]]
"""A sentence, and whether an arrangement agrees with it. An arrangement: the place of each thing, counted from 0."""

ORDINALS = ("first", "second", "third", "fourth", "fifth")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DIRECTIONS = ("north", "east", "south", "west")
DRINKS = ("tea", "coffee", "milk", "juice")
PETS = ("cat", "dog", "horse", "fish")
_ORDERS = tuple(itertools.permutations(range(5)))
_PAIRS = tuple((one, other) for one in itertools.permutations(range(4)) for other in itertools.permutations(range(4)))


def enough(
    rng: random.Random, clues: Sequence[Clue], worlds: Sequence[Sequence[int]], asked: Callable[[Sequence[int]], int]
) -> list[str] | None:
    """Return sentences of clues that together leave one answer to what is asked; each of them ruled something out when
    it was added. None if all clues leave several answers."""
    left, told = list(worlds), []
    for sentence, holds in rng.sample(clues, len(clues)):
        fewer = [world for world in left if holds(world)]
        if len(fewer) < len(left):
            left = fewer
            told.append(sentence)
        if len({asked(world) for world in left}) == 1:
            return told
    return None


def _race(rng: random.Random) -> Drawn:
    names = rng.sample(FIRST_NAMES, 5)
    truth = rng.choice(_ORDERS)
    clues: list[Clue] = []
    for a, b in itertools.permutations(range(5), 2):
        if truth[a] + 1 == truth[b]:
            clues.append((f"{names[b]} came in right after {names[a]}.", lambda w, a=a, b=b: w[a] + 1 == w[b]))  # type: ignore[misc]
        elif truth[a] < truth[b]:
            clues.append((f"{names[a]} was faster than {names[b]}.", lambda w, a=a, b=b: w[a] < w[b]))  # type: ignore[misc]
    for a in range(5):
        other = rng.choice([place for place in range(5) if place != truth[a]])
        clues.append((f"{names[a]} was not {ORDINALS[other]}.", lambda w, a=a, o=other: w[a] != o))  # type: ignore[misc]
    place = rng.randrange(5)
    told = enough(rng, clues, _ORDERS, lambda world: world.index(place)) or []
    winner = names[truth.index(place)]
    return word({"names": listed(names), "clues": " ".join(told), "place": ORDINALS[place]}, winner, names)


def _houses(rng: random.Random) -> Drawn:
    names = rng.sample(FIRST_NAMES, 4)
    truth = rng.choice(_PAIRS)
    world = (*truth[0], *truth[1])
    clues: list[Clue] = []
    for a in range(4):
        clues.append((f"{names[a]} drinks {DRINKS[world[a]]}.", lambda w, a=a: w[a] == world[a]))  # type: ignore[misc]
        drink, pet = (rng.choice([thing for thing in range(4) if thing != world[place]]) for place in (a, 4 + a))
        clues.append((f"{names[a]} does not drink {DRINKS[drink]}.", lambda w, a=a, d=drink: w[a] != d))  # type: ignore[misc]
        clues.append((f"{names[a]} does not own the {PETS[pet]}.", lambda w, a=a, p=pet: w[4 + a] != p))  # type: ignore[misc]
        clues.append(
            (
                f"Whoever drinks {DRINKS[world[a]]} owns the {PETS[world[4 + a]]}.",
                lambda w, d=world[a], p=world[4 + a]: w[4 + w.index(d, 0, 4)] == p,  # type: ignore[misc]
            )
        )
    pet = rng.randrange(4)
    told = enough(rng, clues, _WORLDS, lambda w: w.index(pet, 4) - 4) or []
    return word(
        {"names": listed(names), "clues": " ".join(told), "pet": PETS[pet]}, names[world.index(pet, 4) - 4], names
    )


_WORLDS = tuple((*one, *other) for one, other in _PAIRS)


def _knights(rng: random.Random) -> Drawn:
    names = rng.sample(FIRST_NAMES, 3)
    worlds = list(itertools.product((0, 1), repeat=3))
    while True:
        said: list[str] = []
        left = worlds
        for speaker in range(3):
            sentence, true = _statement(rng, names, speaker)
            said.append(f'{names[speaker]} says: "{sentence}"')
            left = [w for w in left if bool(w[speaker]) == true(w)]
        if len(left) == 1 and sum(left[0]) in (1, 2):
            break
    truth, odd = left[0], sum(left[0]) == 1
    answer = names[truth.index(1 if odd else 0)]
    return word({"names": listed(names), "clues": " ".join(said), "sort": "honest" if odd else "a liar"}, answer, names)


def _statement(rng: random.Random, names: Sequence[str], speaker: int) -> tuple[str, Callable[[Sequence[int]], bool]]:
    other, third = rng.sample([place for place in range(3) if place != speaker], 2)
    return rng.choice(
        (
            (f"{names[other]} is lying.", lambda w: not w[other]),
            (f"{names[other]} and {names[third]} are both lying.", lambda w: not w[other] and not w[third]),
            (f"{names[other]} and I are of the same kind.", lambda w: w[other] == w[speaker]),
            ("At least two of us are lying.", lambda w: sum(w) <= 1),
            (f"{names[other]} is lying, or {names[third]} is, or both are.", lambda w: not (w[other] and w[third])),
        )
    )


def _guests(rng: random.Random) -> Drawn:
    names = rng.sample(FIRST_NAMES, 5)
    a, b, c, d, e = rng.sample(range(5), 5)
    rules: list[Clue] = [
        (f"If {names[a]} comes, {names[b]} comes too.", lambda w: not w[a] or bool(w[b])),
        (f"{names[b]} and {names[c]} do not both come.", lambda w: not (w[b] and w[c])),
        (f"At least one of {names[c]} and {names[d]} comes.", lambda w: bool(w[c] or w[d])),
        (f"{names[e]} comes only if {names[d]} does not come.", lambda w: not (w[e] and w[d])),
        (f"{names[a]} or {names[e]} comes, but not both.", lambda w: w[a] != w[e]),
    ]
    kept = rng.sample(rules, rng.randint(3, 4))
    while rules[2] not in kept and rules[4] not in kept:  # nobody at all would agree with the others: is that a group?
        kept = rng.sample(rules, 3)
    many = sum(all(holds(world) for _, holds in kept) for world in itertools.product((0, 1), repeat=5))
    return integer(rng, {"names": listed(names), "clues": " ".join(sentence for sentence, _ in kept)}, many)


def _weekday(rng: random.Random) -> Drawn:
    start = date(rng.randint(1950, 2049), 1, 1) + timedelta(days=rng.randrange(365))
    days = rng.randint(30, 900)
    slots = {
        "day": f"{start.day} {MONTHS[start.month - 1]} {start.year}",
        "weekday": WEEKDAYS[start.weekday()],
        "days": days,
    }
    return word(
        slots,
        WEEKDAYS[(start.weekday() + days) % 7],
        [WEEKDAYS[(start.weekday() + days + off) % 7] for off in (1, 6, 2, 5)],
    )


def _turns(rng: random.Random) -> Drawn:
    facing = start = rng.randrange(4)
    steps = []
    for _ in range(rng.randint(4, 7)):
        sentence, quarter = rng.choice((("turns left", -1), ("turns right", 1), ("turns around", 2)))
        steps.append(sentence)
        facing = (facing + quarter) % 4
    slots = {"name": rng.choice(FIRST_NAMES), "start": DIRECTIONS[start], "steps": listed(steps, ", then ")}
    return word(slots, DIRECTIONS[facing], [DIRECTIONS[(facing + off) % 4] for off in (2, 1, 3)])


def _swaps(rng: random.Random) -> Drawn:
    names = rng.sample(FIRST_NAMES, 4)
    holder = list(range(4))
    pets = rng.sample(DRINKS, 4)
    steps = []
    pairs = list(itertools.combinations(range(4), 2))
    for one, other in rng.sample(pairs, rng.randint(4, 6)):
        holder[one], holder[other] = holder[other], holder[one]
        steps.append(f"{names[one]} and {names[other]} swap cups.")
    asked = rng.randrange(4)
    slots = {
        "cups": listed([f"{name} has {pet}" for name, pet in zip(names, pets, strict=True)]),
        "steps": " ".join(steps),
        "drink": pets[asked],
    }
    return word(slots, names[holder.index(asked)], names)


def listed(parts: Sequence[str], joint: str = " and ") -> str:
    """Return `a, b and c`."""
    return ", ".join(parts[:-1]) + joint + parts[-1]


_RACE = ("came in right after. was faster than. was not and", *ORDINALS)
_HOUSE = ("drinks does not drink own the whoever owns and", *DRINKS, *PETS)
_LIARS = ("says is lying are both lying and I are of the same kind. At least two of us are lying. or honest a liar",)
_PARTY = (
    "If comes, comes too. and do not both come. At least one of comes only if does not come. or comes, but not both.",
)
TEMPLATES = (
    QuestionTemplate("race", phrasings_of("reasoning/race"), _race, _RACE),
    QuestionTemplate("houses", phrasings_of("reasoning/houses"), _houses, _HOUSE),
    QuestionTemplate("knights", phrasings_of("reasoning/knights"), _knights, _LIARS),
    QuestionTemplate("guests", phrasings_of("reasoning/guests"), _guests, _PARTY),
    QuestionTemplate("weekday", phrasings_of("reasoning/weekday"), _weekday, (*WEEKDAYS, *MONTHS)),
    QuestionTemplate("turns", phrasings_of("reasoning/turns"), _turns, ("turns left right around then", *DIRECTIONS)),
    QuestionTemplate("swaps", phrasings_of("reasoning/swaps"), _swaps, ("and swap cups. has", *DRINKS)),
)
