"""Reading probes: what the base model learns before any reward. Which expert is strongest here, cheapest, fastest; how
good is this one; what kind of question is this; how much does the user care for speed. None of them weighs one thing
against another: that is left to the reward.

Experts are random: every level of every fact is as likely, so there is no expert to be remembered and no fact that
follows from another.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolscale.preferences.drawing import preference
from toolscale.questions.generate import question, two_step_question
from toolscale.records import CATEGORIES
from training.tiny.words import (
    ALIASES,
    ASSISTANT,
    BEGIN,
    CODE,
    END,
    ERROR,
    LAST,
    LEVELS,
    NUMBER,
    QUOTED,
    RESULT,
    TOOL,
    UNKNOWN,
    USER,
    fact,
)

QUESTION_CATEGORIES = tuple(name for name in CATEGORIES if name != "tools")
DIMENSION_WORDS = {"outcome": "accuracy", "cost": "cost", "latency": "speed"}
WEIGHTS = ("none!", "little!", "some!", "quite!", "much!", "most!")
THIRDS = ("low", "middle", "high")
NEEDS = {"python": CODE, "local_search": QUOTED}
"""Basic tool -> the word that a question must have for it. Without that word the tool has nothing to work on."""
KEPT = frozenset((CODE, QUOTED, NUMBER))
KINDS = ("strongest", "cheapest", "fastest", "name", "read", "kind", "weight", "act")
"""`act` is the form of a rollout, with an action drawn blindly: it teaches the form and no preference."""

Words = list[str]


@dataclass(frozen=True)
class Probe:
    """Words after the cards, and what is asked: (place in the words, word that comes next)."""

    kind: str
    words: Words
    targets: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Sheet:
    """Cards, and probes that are asked about them. A probe sees the cards and itself."""

    cards: Words
    probes: tuple[Probe, ...]


class Texts:
    """Questions and wishes in words, made once. `read` makes the words of a text. `dropped`: so often a word of a
    question is made unknown, so that questions are read by what is known of them. `two_steps`: half of the probes of
    the form are about questions of two steps."""

    def __init__(
        self,
        read: Callable[[str], Words],
        split: Any,
        count: int,
        seed: int,
        dropped: float = 0.0,
        two_steps: bool = False,
    ) -> None:
        rng = random.Random(f"dropped:{seed}")
        self.questions = {
            name: [
                drop_words(rng, read(question(number, seed, split, (name,)).text), dropped) for number in range(count)
            ]
            for name in QUESTION_CATEGORIES
        }
        self.chains = [
            drop_words(rng, read(two_step_question(number, seed, split).text), dropped)
            for number in range(count if two_steps else 0)
        ]
        wishes = (preference(number, seed, split, wish_share=0.0, words="plain") for number in range(count))
        self.wishes = [
            (read(wish.instruction), {"outcome": wish.outcome, "cost": wish.cost, "latency": wish.latency})
            for wish in wishes
        ]


def drop_words(rng: random.Random, words: Words, share: float) -> Words:
    """Make each word unknown with this probability, except those that stand for code, quotations and numbers; of
    several unknown words in a row one is left."""
    found: Words = []
    for word in words:
        if word not in KEPT and rng.random() < share:
            word = UNKNOWN
        if word != UNKNOWN or found[-1:] not in ([UNKNOWN], [NUMBER]):
            found.append(word)
    return found


Facts = dict[str, dict[str, int]]
"""Alias -> kind of fact -> level."""


def draw_sheet(rng: random.Random, texts: Texts, shares: dict[str, float], plain: float, count: int) -> Sheet:
    """Draw cards and probes. `shares`: kind -> weight. `plain`: how often a category is named, instead of a question
    being asked."""
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
    asking = kind in ("strongest", "kind", "act") or rng.random() < 0.15
    named = category == "tools" or not asking or rng.random() < plain
    said = [f"{category}!"] if named else rng.choice(texts.questions[category])
    wish, weights = rng.choice(texts.wishes)
    tools = [name for name in ("python", "local_search") if rng.random() < 0.6]
    if kind == "act":
        if texts.chains and rng.random() < 0.5:
            said = rng.choice(texts.chains)
        return _act(
            rng,
            [*tools, USER, *said, *wish, ASSISTANT],
            [*facts, *(name for name in tools if NEEDS[name] in said), LAST],
        )
    if kind == "weight":
        dimension = rng.choice(list(weights))
        asked, answer = ["weight", DIMENSION_WORDS[dimension]], WEIGHTS[round(weights[dimension] * 5)]
    else:
        found = _asked(rng, kind, facts, category)
        if found is None:
            return None
        asked, answer = found
    body = [*said, *wish] if kind == "weight" or rng.random() < 0.25 else said
    words = [*tools, USER, *body, *asked, ASSISTANT]
    return Probe(kind, words, ((len(words) - 1, answer),))


def _asked(rng: random.Random, kind: str, facts: Facts, category: str) -> tuple[Words, str] | None:
    """The words of a probe and its answer; None where two experts are level, so that there is none."""
    alias = rng.choice(list(facts))
    if kind == "kind":
        return ["kind"], f"{category}!"
    if kind == "name":
        return ["name", alias], alias
    if kind == "read":
        which, word = rng.choice(((category, "good"), ("price", "price"), ("latency", "latency")))
        return [word, alias], THIRDS[facts[alias][which] * 3 // LEVELS[which]]
    which, sign = {"strongest": (category, -1), "cheapest": ("price", 1), "fastest": ("latency", 1)}[kind]
    ranked = sorted(facts, key=lambda name: sign * facts[name][which])
    return None if facts[ranked[0]][which] == facts[ranked[1]][which] else ([kind], ranked[0])


def _act(rng: random.Random, words: Words, actions: Words) -> Probe:
    """The form of a rollout: an action, the end of the turn, and after a tool its result as the answer; after an error
    another action. What search found can go into code that the question has, or be the answer."""
    action = rng.choice(actions)
    targets = [(len(words) - 1, action), (len(words), END)]
    words = [*words, action]
    if action not in ALIASES or rng.random() < 0.3:
        said = ERROR if rng.random() < 0.2 else RESULT
        chained = action == "local_search" and "python" in actions
        then = LAST if said == RESULT and action not in ALIASES else rng.choice(actions)
        if said == RESULT and chained and rng.random() < 0.5:
            then = "python"
        words = [*words, END, TOOL, said, ASSISTANT]
        targets += [(len(words) - 1, then), (len(words), END)]
        words = [*words, then]
        if said == RESULT and chained and then == "python":
            words = [*words, END, TOOL, RESULT, ASSISTANT]
            targets += [(len(words) - 1, LAST), (len(words), END)]
            words = [*words, LAST]
    return Probe("act", words, tuple(targets))
