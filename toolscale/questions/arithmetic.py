"""Arithmetic: an expression between backticks, which the interpreter can evaluate. Answers come from closed formulas,
never from evaluating it."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import Drawn, QuestionTemplate, integer

_PLAIN = phrasings_of("arithmetic/expression")


def _expression(make: Callable[[random.Random], tuple[str, int, tuple[int, ...]]]) -> Callable[[random.Random], Drawn]:
    def draw(rng: random.Random) -> Drawn:
        code, answer, likely = make(rng)
        return integer(rng, {"code": code}, answer, *likely, snippet=code)

    return draw


def _product_and_sum(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    a, b, c = rng.randint(102, 989), rng.randint(12, 99), rng.randint(101, 999)
    return f"{a} * {b} + {c}", a * b + c, (a * b - c, a * (b + c))


def _difference(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    a, b, c = rng.randint(50_000, 99_999), rng.randint(102, 499), rng.randint(12, 99)
    return f"{a} - {b} * {c}", a - b * c, (a - b * (c - 1), a - b * c - 100)


def _power(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    a, b, c = rng.randint(12, 99), rng.randint(3, 5), rng.randint(1000, 9999)
    answer = 1
    for _ in range(b):
        answer *= a
    return f"{a} ** {b} - {c}", answer - c, (answer + c, answer // a - c)


def _remainder(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    divisor, quotient = rng.randint(23, 997), rng.randint(1000, 9999)
    rest = rng.randrange(divisor)
    return f"{divisor * quotient + rest} % {divisor}", rest, (divisor - rest, quotient)


def _quotient(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    divisor, quotient = rng.randint(23, 997), rng.randint(1000, 9999)
    total, part = divisor * quotient + rng.randrange(divisor), rng.randint(1, 900)
    return f"({total - part} + {part}) // {divisor}", quotient, (quotient + 1, quotient * 10)


def _squares(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    n = rng.randint(12, 400)
    return (
        f"sum(n * n for n in range(1, {n + 1}))",
        n * (n + 1) * (2 * n + 1) // 6,
        ((n - 1) * n * (2 * n - 1) // 6, (n * (n + 1) // 2) ** 2),
    )


def _boxes(rng: random.Random) -> Drawn:
    a, b, c = rng.randint(120, 990), rng.randint(12, 48), rng.randint(13, 97)
    slots = {
        "a": a,
        "b": b,
        "c": c,
        "code": f"{a} * {b} - {c}",
        "thing": rng.choice(_THINGS),
        "name": rng.choice(_MAKERS),
    }
    return integer(rng, slots, a * b - c, a * b + c, a * (b - 1), snippet=f"{a} * {b} - {c}")


def _share(rng: random.Random) -> Drawn:
    percent, total = rng.randint(3, 97), rng.randint(210, 9800)
    answer = Fraction(percent * total, 100)
    if answer.denominator == 1:
        code = f"{total} * {percent} // 100"
        return integer(rng, {"percent": percent, "total": total, "code": code}, int(answer), snippet=code)
    code = f"{total} * {percent} / 100"
    decimal = f"{percent * total // 100}.{percent * total % 100:02}".rstrip("0")
    off = [answer + 1, answer - Fraction(1, 10) * 7, answer * 10, answer / 10]
    return Drawn(
        {"percent": str(percent), "total": str(total), "code": code},
        decimal,
        "decimal",
        tuple(f"{float(value):.6g}" for value in off),
        snippet=code,
    )


_THINGS = ("pens", "screws", "candles", "bottles", "tiles")
_MAKERS = ("A shop", "A factory", "A school", "A hotel")

TEMPLATES = (
    QuestionTemplate("product and sum", _PLAIN, _expression(_product_and_sum)),
    QuestionTemplate("difference", _PLAIN, _expression(_difference)),
    QuestionTemplate("power", _PLAIN, _expression(_power)),
    QuestionTemplate("remainder", _PLAIN, _expression(_remainder)),
    QuestionTemplate("quotient", _PLAIN, _expression(_quotient)),
    QuestionTemplate("squares", _PLAIN, _expression(_squares)),
    QuestionTemplate("boxes", phrasings_of("arithmetic/boxes"), _boxes, (*_THINGS, *_MAKERS)),
    QuestionTemplate("share", phrasings_of("arithmetic/share"), _share),
)
