"""Whether words that a model wrote say what a plan says, and nothing else.

The plan has phrasings of its own, each of which says all of it. With the values of the case they are read as the
model's words are: what all of them have must stand there, and what none of them has must not. So every sentence is
accounted for: a wish by words of the plan (`sentences`), a value by where it stands (`things`), and a mere statement
by wishing for nothing. `shape` refuses what is no plain prose. No model is asked; the same words give the same
findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolscale.verify.wording.meaning import Meaning
from toolscale.verify.wording.sentences import (
    strange_figures,
    unanswered,
    unknown_words,
    widening_words,
    wrong_wishes,
)
from toolscale.verify.wording.shape import unshapely
from toolscale.verify.wording.things import (
    denied_cues,
    misplaced,
    unpaired,
    wrong_company,
    wrong_conditions,
    wrong_deeds,
)

__all__ = ["Meaning", "unaccounted_words"]

RULES = (
    unknown_words, widening_words, unanswered, wrong_wishes, strange_figures, misplaced, unpaired, denied_cues,
    wrong_conditions, wrong_company, wrong_deeds,
)  # fmt: skip
"""Each yields what it finds in a request, held against the plan's own phrasings."""


def unaccounted_words(request: str, meaning: Meaning) -> Iterator[str]:
    """Yield what a request says that its plan does not, and what it leaves out. Words of no plain form are looked at no
    further."""
    shape = list(unshapely(request, meaning.words | meaning.value_words))
    if shape:
        yield from shape
        return
    text = meaning.read(request)
    for rule in RULES:
        yield from rule(text, meaning)
