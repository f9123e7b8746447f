"""Mathematics: word problems with a whole number as answer, computed by formula; tests count by brute force."""

from __future__ import annotations

import math
import random

from toolscale.questions.phrasings import phrasings_of
from toolscale.questions.templates import FIRST_NAMES, Drawn, QuestionTemplate, integer

_PRIMES = (2, 3, 5, 7, 11, 13)
_PAIRS = ((4, 6), (6, 9), (3, 5), (4, 7), (6, 8), (8, 12), (9, 12), (5, 11), (7, 9), (10, 15), (6, 10), (3, 8))
_WORDS = (
    "BANANA",
    "LETTER",
    "COFFEE",
    "BALLOON",
    "PEPPER",
    "ASSESS",
    "TATTOO",
    "COMMITTEE",
    "BUBBLE",
    "SUCCESS",
    "TOMATO",
    "SENSES",
    "PARADE",
    "KAYAK",
)


def _power(rng: random.Random) -> Drawn:
    a, b, m = rng.randint(3, 99), rng.randint(100, 9999), rng.randint(7, 97)
    answer = pow(a, b, m)
    return integer(rng, {"a": a, "b": b, "m": m}, answer, pow(a, b - 1, m), a * b % m)


def _either(rng: random.Random) -> Drawn:
    n, (a, b) = rng.randint(200, 3000), rng.choice(_PAIRS)
    both = n // math.lcm(a, b)
    twice = n // a + n // b
    return integer(rng, {"n": n, "a": a, "b": b}, twice - both, twice, twice - 2 * both, twice - n // (a * b))


def _zeros(rng: random.Random) -> Drawn:
    n = rng.randint(30, 3000)
    answer = sum(n // 5**power for power in range(1, 6))
    return integer(rng, {"n": n}, answer, n // 5, n // 10)


def _dice(rng: random.Random) -> Drawn:
    sides = rng.choice((6, 8, 10, 12, 20))
    total = rng.randint(3, 2 * sides - 1)
    ways = min(total - 1, 2 * sides - total + 1)
    common = math.gcd(ways, sides * sides)
    plain, every = ways + sides * sides, (ways + 1 + sides * sides) // common
    return integer(rng, {"sides": sides, "total": total}, plain // common, plain, every)


def _paths(rng: random.Random) -> Drawn:
    a, b = rng.randint(4, 9), rng.randint(4, 9)
    c, d = rng.randint(1, a - 1), rng.randint(1, b - 1)
    answer = math.comb(c + d, c) * math.comb(a - c + b - d, a - c)
    return integer(rng, {"a": a, "b": b, "c": c, "d": d}, answer, math.comb(a + b, a), math.comb(a + b, a) - answer)


def _leftovers(rng: random.Random) -> Drawn:
    m, n = rng.sample((5, 7, 8, 9, 11, 13, 17, 19), 2)
    p = rng.randint(1, m - 1)
    q = rng.choice([rest for rest in range(1, n) if rest != p])
    answer = (p * n * pow(n, -1, m) + q * m * pow(m, -1, n)) % (m * n)
    slots = {"m": m, "n": n, "p": p, "q": q, "name": rng.choice(FIRST_NAMES)}
    return integer(rng, slots, answer, answer + m * n, answer + m, answer + n)


def _divisors(rng: random.Random) -> Drawn:
    powers = [(prime, rng.randint(1, 3)) for prime in sorted(rng.sample(_PRIMES, 3))]
    number = math.prod(prime**power for prime, power in powers)
    answer = math.prod(power + 1 for _, power in powers)
    return integer(
        rng,
        {"n": number},
        answer,
        answer - 2,
        math.prod(power for _, power in powers),
        sum(power + 1 for _, power in powers),
    )


def _committee(rng: random.Random) -> Drawn:
    women, men, size = rng.randint(3, 9), rng.randint(4, 9), rng.randint(3, 4)
    every, none = math.comb(women + men, size), math.comb(men, size)
    return integer(
        rng, {"women": women, "men": men, "size": size}, every - none, every, women * math.comb(men, size - 1)
    )


def _letters(rng: random.Random) -> Drawn:
    text = rng.choice(_WORDS)
    answer = math.factorial(len(text))
    for letter in set(text):
        answer //= math.factorial(text.count(letter))
    return integer(rng, {"word": text}, answer, math.factorial(len(text)), answer * 2, answer // 2)


TEMPLATES = (
    QuestionTemplate("power", phrasings_of("mathematics/power"), _power),
    QuestionTemplate("either", phrasings_of("mathematics/either"), _either),
    QuestionTemplate("zeros", phrasings_of("mathematics/zeros"), _zeros),
    QuestionTemplate("dice", phrasings_of("mathematics/dice"), _dice),
    QuestionTemplate("paths", phrasings_of("mathematics/paths"), _paths),
    QuestionTemplate("leftovers", phrasings_of("mathematics/leftovers"), _leftovers),
    QuestionTemplate("divisors", phrasings_of("mathematics/divisors"), _divisors),
    QuestionTemplate("committee", phrasings_of("mathematics/committee"), _committee),
    QuestionTemplate("letters", phrasings_of("mathematics/letters"), _letters),
)
