"""Questions of two steps: find a fact of the library, then compute with it. What to search for stands between quotation
marks, and the formula, in which `n` is the fact, between backticks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from toolscale.questions.corpus import entries
from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import Drawn, QuestionTemplate, integer

_Formula = tuple[str, int, tuple[int, ...]]
"""Code, its value, and values that a known slip gives."""


def _line(rng: random.Random, n: int) -> _Formula:
    a, b = rng.randint(12, 99), rng.randint(101, 999)
    return f"n * {a} + {b}", n * a + b, (n * a - b, n * (a + b))


def _remainder(rng: random.Random, n: int) -> _Formula:
    a, divisor = rng.randint(101, 999), rng.randint(23, 97)
    return f"(n + {a}) % {divisor}", (n + a) % divisor, (n % divisor, (n + a) // divisor)


def _quotient(rng: random.Random, n: int) -> _Formula:
    divisor, a = rng.randint(12, 97), rng.randint(101, 999)
    return f"n // {divisor} + {a}", n // divisor + a, (n // divisor, (n + a) // divisor)


def _square(rng: random.Random, n: int) -> _Formula:
    a = rng.randint(101, 999)
    return f"(n - {a}) ** 2", (n - a) ** 2, (n**2 - a**2, n**2 - a)


def _computed(sort: str, attribute: str) -> Callable[[random.Random], Drawn]:
    def draw(rng: random.Random) -> Drawn:
        one = rng.choice(entries(sort))
        fact = int(one.value(attribute))
        code, answer, slips = rng.choice((_line, _remainder, _quotient, _square))(rng, fact)
        # Whoever stops after the first step answers with the fact.
        drawn = integer(rng, {"term": one.title, "code": code}, answer, *dict.fromkeys((fact, *slips)), snippet=code)
        return replace(drawn, lookup=one.title, fact=str(fact))

    return draw


def _template(sort: str, attribute: str) -> QuestionTemplate:
    name = f"{sort} {attribute}"
    return QuestionTemplate(f"two steps, {name}", phrasings_of(f"two steps/{name}"), _computed(sort, attribute))


TEMPLATES = (
    _template("person", "born"),
    _template("town", "people"),
    _template("firm", "staff"),
    _template("device", "weight"),
)
