"""Reading probes: what the base model learns before any reward. Which expert is strongest here, cheapest, fastest; how good is this one; what kind of
question is this; how much does the user care for speed. None of them weighs one thing against another: that is left to the reward.

Experts are random: every level of every fact is as likely, so there is no expert to be remembered and no fact that follows from another.

Answers about who is most are graded: an expert that is nearly as strong is named nearly as often, one that is far weaker almost never. So how far
apart experts are is read too, and not only who comes first.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolscale.preferences import preference
from toolscale.questions import question
from toolscale.records import CATEGORIES
from training.tiny.words import (
    ALIASES, ASSISTANT, BEGIN, CODE, END, ERROR, LAST, LEVELS, QUOTED, RESULT, TOOL, USER, fact,
)  # fmt: skip

QUESTION_CATEGORIES = tuple(name for name in CATEGORIES if name != "tools")
DIMENSION_WORDS = {"outcome": "accuracy", "cost": "cost", "latency": "speed"}
WEIGHTS = ("none!", "little!", "some!", "quite!", "much!", "most!")
WHOLE = 0.6
"""How often a probe stands after a question and a wish, as in a rollout."""
THIRDS = ("low", "middle", "high")
NEEDS = {"python": CODE, "local_search": QUOTED}
"""Without it a tool has nothing to work on."""
KINDS = ("strongest", "cheapest", "fastest", "dearest", "slowest", "name", "read", "kind", "weight", "act")
"""`act` is the form of a rollout, with an action drawn blindly: it teaches the form and no preference."""

GRADES: dict[str, Callable[[int, int], float]] = {
    "strongest": lambda level, most: 1.0 * level,
    "cheapest": lambda level, most: -0.7 * level,
    "fastest": lambda level, most: -0.7 * level,
    "dearest": lambda level, most: 8 * 10 ** ((level - most) / 4),
    "slowest": lambda level, most: 8 * 2 ** ((level - most) / 2),
}
"""(level, highest level here) -> logarithm of how often an expert is named. The dearest and the slowest go by dollars and seconds, of which levels
are the logarithms (toolscale/models/cards.py)."""

Words = list[str]
Answer = Mapping[str, float]
"""Word -> how often it is the answer."""


@dataclass(frozen=True)
class Probe:
    """Words after the cards, and what is asked: (place in the words, word that comes next)."""

    kind: str
    words: Words
    targets: tuple[tuple[int, Answer], ...]


@dataclass(frozen=True)
class Sheet:
    """Cards, and probes that are asked about them. A probe sees the cards and itself."""

    cards: Words
    probes: tuple[Probe, ...]


class Texts:
    """Questions and wishes in words, made once. `read` makes the words of a text."""

    def __init__(self, read: Callable[[str], Words], split: Any, count: int, seed: int) -> None:
        self.questions = {
            name: [read(question(number, seed, split, (name,)).text) for number in range(count)] for name in QUESTION_CATEGORIES
        }
        wishes = (preference(number, seed, split, wish_share=0.0) for number in range(count))
        self.wishes = [(read(wish.instruction), {"outcome": wish.outcome, "cost": wish.cost, "latency": wish.latency}) for wish in wishes]


Facts = dict[str, dict[str, int]]
"""Alias -> kind of fact -> level."""


def draw_sheet(rng: random.Random, texts: Texts, shares: dict[str, float], plain: float, count: int) -> Sheet:
    """Draw cards and probes. `shares`: kind -> weight. `plain`: how often a category is named, instead of a question being asked."""
    aliases = sorted(rng.sample(ALIASES, rng.randint(2, len(ALIASES))))
    facts = {alias: {kind: rng.randrange(levels) for kind, levels in LEVELS.items()} for alias in aliases}
    cards = [fact(alias, kind, facts[alias][kind]) for alias in aliases for kind in (*CATEGORIES, "price", "latency")]
    probes: list[Probe] = []
    while len(probes) < count:
        kind = rng.choices(KINDS, [shares.get(name, 0.0) for name in KINDS])[0]
        probe = _draw(rng, texts, kind, facts, plain)
        if probe is not None:
            probes.append(probe)
    return Sheet([BEGIN, *cards], tuple(probes))


def _draw(rng: random.Random, texts: Texts, kind: str, facts: Facts, plain: float) -> Probe | None:
    category = rng.choice(CATEGORIES)
    whole = rng.random() < WHOLE
    asking = kind in ("strongest", "kind", "act") or whole
    named = category == "tools" or not asking or rng.random() < plain
    said = [f"{category}!"] if named else rng.choice(texts.questions[category])
    wish, weights = rng.choice(texts.wishes)
    tools = [name for name in ("python", "local_search") if rng.random() < 0.6]
    if kind == "act":
        return _act(rng, [*tools, USER, *said, *wish, ASSISTANT], [*facts, *(name for name in tools if NEEDS[name] in said), LAST])
    if kind == "weight":
        dimension = rng.choice(list(weights))
        asked, answer = ["weight", DIMENSION_WORDS[dimension]], {WEIGHTS[round(weights[dimension] * 5)]: 1.0}
    else:
        found = _asked(rng, kind, facts, category)
        if found is None:
            return None
        asked, answer = found
    body = [*said, *wish] if kind == "weight" or whole else said
    words = [*tools, USER, *body, *asked, ASSISTANT]
    return Probe(kind, words, ((len(words) - 1, answer),))


def _asked(rng: random.Random, kind: str, facts: Facts, category: str) -> tuple[Words, Answer] | None:
    """The words of a probe and its answer; None where two experts are level at the top, so that there is no first."""
    alias = rng.choice(list(facts))
    if kind == "kind":
        return ["kind"], {f"{category}!": 1.0}
    if kind == "name":
        return ["name", alias], {alias: 1.0}
    if kind == "read":
        which, word = rng.choice(((category, "good"), ("price", "price"), ("latency", "latency")))
        return [word, alias], {THIRDS[facts[alias][which] * 3 // LEVELS[which]]: 1.0}
    which = {"strongest": category, "cheapest": "price", "dearest": "price"}.get(kind, "latency")
    answer = graded(kind, {name: facts[name][which] for name in facts})
    first, second = sorted(answer.values(), reverse=True)[:2]
    return None if first == second else ([kind], answer)


def graded(kind: str, levels: Mapping[str, int]) -> Answer:
    """Return how often each expert is named, in proportion to the exponential of its grade. `levels`: alias -> level."""
    most = max(levels.values())
    grades = {alias: GRADES[kind](level, most) for alias, level in levels.items()}
    best = max(grades.values())
    shares = {alias: math.exp(grade - best) for alias, grade in grades.items()}
    whole = sum(shares.values())
    return {alias: share / whole for alias, share in shares.items()}


def _act(rng: random.Random, words: Words, actions: Words) -> Probe:
    """The form of a rollout: an action, the end of the turn, and after a tool its result as the answer; after an error another action."""
    action = rng.choice(actions)
    targets: list[tuple[int, Answer]] = [(len(words) - 1, {action: 1.0}), (len(words), {END: 1.0})]
    words = [*words, action]
    if action not in ALIASES or rng.random() < 0.3:
        said = ERROR if rng.random() < 0.2 else RESULT
        then = LAST if said == RESULT and action not in ALIASES else rng.choice(actions)
        words = [*words, END, TOOL, said, ASSISTANT]
        targets += [(len(words) - 1, {then: 1.0}), (len(words), {END: 1.0})]
        words = [*words, then]
    return Probe("act", words, tuple(targets))
