"""Code: what does a small Python program print? Answers are computed alongside, by formulas; the program is never run
here."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate

from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import Drawn, QuestionTemplate, integer

_LINE = phrasings_of("code/line")
_PROGRAM = phrasings_of("code/program")


def _running(make: Callable[[random.Random], tuple[str, int, tuple[int, ...]]]) -> Callable[[random.Random], Drawn]:
    def draw(rng: random.Random) -> Drawn:
        code, answer, likely = make(rng)
        return integer(rng, {"code": code}, answer, *likely, snippet=code)

    return draw


def _assignments(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    a, b, c = rng.randint(3, 60), rng.randint(2, 12), rng.randint(2, 40)
    return f"x = {a}; y = x * {b}; x = y - {c}; print(x + y)", 2 * a * b - c, (a * b + a - c, a + a * b, a * b - c)


def _slice(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    items = [rng.randint(1, 60) for _ in range(rng.randint(6, 9))]
    start, stop = rng.randint(0, 2), rng.randint(4, len(items) - 1)
    totals = [0, *accumulate(items)]
    answer = totals[stop] - totals[start]
    return f"print(sum({items}[{start}:{stop}]))", answer, (answer + items[stop], answer - items[start])


def _length(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    stop, step = rng.randint(40, 900), rng.randint(3, 13)
    start = rng.randint(1, 20)
    answer = (stop - start + step - 1) // step
    return f"print(len(range({start}, {stop}, {step})))", answer, (answer + 1, answer - 1)


def _sorted(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    items = rng.sample(range(10, 99), 7)
    place = rng.randint(0, 4)
    bigger = {item: sum(other > item for other in items) for item in items}
    answer, after = (next(item for item in items if bigger[item] == rank) for rank in (place, place + 1))
    smaller = next(item for item in items if bigger[item] == 6 - place)
    return (
        f"print(sorted({items}, reverse=True)[{place}])",
        answer,
        tuple(dict.fromkeys((after, smaller, items[place]))),
    )


def _loop(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    n, k, start = rng.randint(8, 60), rng.randint(2, 7), rng.randint(0, 30)
    many = (n - 1) // k
    code = f"total = {start}\nfor i in range(1, {n}):\n    if i % {k} == 0:\n        total += i\nprint(total)"
    return (
        code,
        start + k * many * (many + 1) // 2,
        (k * many * (many + 1) // 2, start + (n - 1) * n // 2, start + many),
    )


def _while(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    n = rng.randint(40, 5000)
    steps = n.bit_length() - 1
    code = f"n = {n}\nsteps = 0\nwhile n > 1:\n    n = n // 2\n    steps += 1\nprint(steps)"
    return code, steps, (steps + 1, steps - 1, steps + 2)


def _recursion(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    n, a, b = rng.randint(4, 12), rng.randint(2, 9), rng.randint(1, 9)
    answer = b + a * n
    return (
        f"def f(n):\n    return {b} if n == 0 else f(n - 1) + {a}\n\nprint(f({n}))",
        answer,
        (answer - a, a * n, answer + a),
    )


def _counts(rng: random.Random) -> tuple[str, int, tuple[int, ...]]:
    times = {letter: rng.randint(1, 6) for letter in rng.sample("abcdefgh", 3)}
    text = [letter for letter, many in times.items() for _ in range(many)]
    rng.shuffle(text)
    one, other, third = times
    code = (
        f"text = '{''.join(text)}'\ncounts = {{}}\n"
        "for letter in text:\n    counts[letter] = counts.get(letter, 0) + 1\n"
    )
    answer = times[one] * 10 + times[other]
    return (
        f"{code}print(counts['{one}'] * 10 + counts['{other}'])",
        answer,
        (times[other] * 10 + times[one], times[one] * 10 + times[third]),
    )


TEMPLATES = (
    QuestionTemplate("assignments", _LINE, _running(_assignments)),
    QuestionTemplate("slice", _LINE, _running(_slice)),
    QuestionTemplate("length", _LINE, _running(_length)),
    QuestionTemplate("sorted", _LINE, _running(_sorted)),
    QuestionTemplate("loop", _PROGRAM, _running(_loop)),
    QuestionTemplate("while", _PROGRAM, _running(_while)),
    QuestionTemplate("recursion", _PROGRAM, _running(_recursion)),
    QuestionTemplate("counts", _PROGRAM, _running(_counts)),
)
