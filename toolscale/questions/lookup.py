"""Lookup: facts of the small library of CORPUS_SEED. What to search for stands between quotation marks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from toolscale.questions.corpus import entries
from toolscale.questions.phrasings import phrasings_of
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


def _template(sort: str, attribute: str) -> QuestionTemplate:
    return QuestionTemplate(f"{sort} {attribute}", phrasings_of(f"lookup/{sort} {attribute}"), _fact(sort, attribute))


TEMPLATES = (
    _template("person", "born"),
    _template("person", "teacher"),
    _template("person", "home"),
    _template("town", "people"),
    _template("town", "river"),
    _template("town", "mayor"),
    _template("firm", "founder"),
    _template("firm", "seat"),
    _template("firm", "staff"),
    _template("device", "weight"),
    _template("device", "maker"),
    _template("device", "inventor"),
)
