"""Words that values are written with: a slip in one of them would change or hide the value."""

from __future__ import annotations

from toolscale.language.dates import MONTHS, WEEKDAYS
from toolscale.language.numerals import NUMBER_WORDS, ORDINALS, SCALES

_UNITS = (
    "dollar dollars cents percent today tomorrow yesterday tonight "
    "weeks month months years daily weekly monthly under about least exactly between"
)
_WORDS = frozenset({*MONTHS, *WEEKDAYS, *NUMBER_WORDS, *ORDINALS, *SCALES, *_UNITS.split()})


def is_value_word(word: str) -> bool:
    """Whether a lower-case word can be part of a written value or of its bounds."""
    return word in _WORDS
