"""What a question is drawn from: phrasings with slots, and a function that draws the values. Some of both are held out
for the test split."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolscale.patterns import regex
from toolscale.questions.phrasings import Phrasings
from toolscale.records import Split

Kind = Literal["integer", "decimal", "word", "choice", "text"]

FIRST_NAMES = (
    "Ada", "Ben", "Clara", "Dan", "Eva", "Finn", "Greta", "Hugo", "Iris", "Jack", "Kate", "Leo", "Mia", "Nils", "Olga",
    "Paul", "Rosa", "Sam", "Tess", "Vera",
)  # fmt: skip

_HELD_OUT = 5
"""One in so many combinations of values is only in the test split."""
_SLOT = regex(r"\{\w+\}")
_WORD = regex(r"[a-z]+(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Drawn:
    """Values of one question. `slots` fill a phrasing; they say which split the question belongs to."""

    slots: Mapping[str, str]
    answer: str
    kind: Kind
    wrong: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    snippet: str | None = None
    lookup: str | None = None
    fact: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """One sort of question."""

    name: str
    phrasings: Phrasings
    draw: Callable[[random.Random], Drawn]
    lexicon: tuple[str, ...] = field(default=())
    """Words that slots may hold, besides numbers, names and code."""

    def drawn(self, rng: random.Random, split: Split) -> tuple[str, Drawn]:
        """Return the text of a question of a split, and its values."""
        while True:
            values = self.draw(rng)
            if split_of(values.slots) == split:
                break
        phrasing = rng.choice(self.phrasings.of(split))
        return _SLOT.sub(lambda match: values.slots[match[0][1:-1]], phrasing), values

    def words(self) -> frozenset[str]:
        """Return the words of the training split that are not of slots, and the lexicon's, in small letters."""
        return frozenset(
            word for text in (*self.phrasings.train, *self.lexicon) for word in words(_SLOT.sub(" ", text))
        )


def words(text: str) -> list[str]:
    """Return the words of a text in small letters; neither numbers nor punctuation."""
    return _WORD.findall(text.lower())


def split_of(slots: Mapping[str, str]) -> Split:
    """Return the split that values belong to: by a checksum, so that it never changes."""
    return "train" if zlib.crc32("|".join(slots[name] for name in sorted(slots)).encode()) % _HELD_OUT else "test"


def whole(rng: random.Random, value: int, *likely: int) -> tuple[str, ...]:
    """Return four wrong whole numbers: first those that a known slip would give, then neighbours, a swap of two digits,
    and a ten more or less."""
    digits = str(abs(value))
    swaps = [
        int(digits[:place] + digits[place + 1] + digits[place] + digits[place + 2 :])
        for place in range(len(digits) - 1)
    ]
    sign = -1 if value < 0 else 1
    step = 10 if abs(value) >= 100 else 2
    other = [
        value + 1,
        value - 1,
        value + step,
        value - step,
        *(sign * swap for swap in swaps if len(str(swap)) == len(digits)),
    ]
    rng.shuffle(other)
    found = dict.fromkeys(
        number for number in (*likely, *other, value + 3, value + 4) if number != value and (number >= 0 or value < 0)
    )
    return tuple(str(number) for number in list(found)[:4])


def integer(
    rng: random.Random, slots: Mapping[str, object], answer: int, *likely: int, snippet: str | None = None
) -> Drawn:
    """Return values of a question whose answer is a whole number. `likely`: answers that a known slip would give."""
    filled = {name: str(value) for name, value in slots.items()}
    accepted = (f"{answer:,}",) if abs(answer) >= 1000 else ()
    return Drawn(filled, str(answer), "integer", whole(rng, answer, *likely), accepted, snippet)


def word(slots: Mapping[str, object], answer: str, others: Sequence[str], accepted: tuple[str, ...] = ()) -> Drawn:
    """Return values of a question whose answer is a word or a name; `others` are wrong."""
    filled = {name: str(value) for name, value in slots.items()}
    return Drawn(filled, answer, "word", tuple(dict.fromkeys(other for other in others if other != answer)), accepted)
