"""Lookup: facts of the small library of CORPUS_SEED. What to search for stands between quotation marks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from toolscale.questions.corpus import entries
from toolscale.questions.templates import Drawn, QuestionTemplate, integer, word


def _fact(sort: str, attribute: str) -> Callable[[random.Random], Drawn]:
    def draw(rng: random.Random) -> Drawn:
        siblings = entries(sort)
        one = rng.choice(siblings)
        answer = one.value(attribute)
        others = [other.value(attribute) for other in rng.sample(siblings, 5) if other is not one][:4]
        if answer.isdigit():
            return replace(integer(rng, {"term": one.title}, int(answer)), wrong=tuple(others), lookup=one.title)
        short = answer.removeprefix("the ")
        drawn = word(
            {"term": one.title},
            short,
            [other.removeprefix("the ") for other in others],
            (answer,) if short != answer else (),
        )
        return replace(drawn, lookup=one.title)

    return draw


def _template(sort: str, attribute: str, *phrasings: str) -> QuestionTemplate:
    return QuestionTemplate(
        f"{sort} {attribute}",
        tuple(phrasing.replace("{term}", '"{term}"') for phrasing in phrasings),
        _fact(sort, attribute),
    )


TEMPLATES = (
    _template(
        "person",
        "born",
        "In which year was {term} born?",
        "Look up the year of birth of {term}.",
        "Find out in which year {term} was born.",
    ),
    _template(
        "person",
        "teacher",
        "Who taught {term}?",
        "Look up the name of the teacher of {term}.",
        "Find out who was the teacher of {term}.",
    ),
    _template(
        "person",
        "home",
        "In which town did {term} live?",
        "Look up the town where {term} lived.",
        "Find out in which town {term} lived.",
    ),
    _template(
        "town",
        "people",
        "How many inhabitants does the town of {term} have?",
        "Look up how many people live in {term}.",
        "Find out the number of inhabitants of {term}.",
    ),
    _template(
        "town",
        "river",
        "On which river does the town of {term} lie?",
        "Look up the river of {term}.",
        "Find out which river flows by {term}.",
    ),
    _template(
        "town",
        "mayor",
        "Who is the mayor of {term}?",
        "Look up the name of the mayor of {term}.",
        "Find out who is mayor in {term}.",
    ),
    _template(
        "firm",
        "founder",
        "Who founded {term}?",
        "Look up the founder of {term}.",
        "Find out by whom {term} was founded.",
    ),
    _template(
        "firm",
        "seat",
        "In which town does {term} have its seat?",
        "Look up the seat of {term}.",
        "Find out in which town {term} has its seat.",
    ),
    _template(
        "firm",
        "staff",
        "How many people work at {term}?",
        "Look up how many people {term} employs.",
        "Find out how many people work for {term}.",
    ),
    _template(
        "device",
        "weight",
        "How many grams does the {term} weigh?",
        "Look up the weight of the {term} in grams.",
        "Find out how heavy the {term} is, in grams.",
    ),
    _template(
        "device",
        "maker",
        "Which firm makes the {term}?",
        "Look up the maker of the {term}.",
        "Find out which firm the {term} is made by.",
    ),
    _template(
        "device",
        "inventor",
        "Who invented the {term}?",
        "Look up the inventor of the {term}.",
        "Find out who invented the {term}.",
    ),
)
