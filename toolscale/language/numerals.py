"""Whole numbers in English words, both ways."""

from __future__ import annotations

UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

_SMALL = {word: value for value, word in enumerate(UNITS + TEENS)} | {
    word: 20 + 10 * index for index, word in enumerate(TENS)
}
SCALES = {
    "dozen": 12,
    "hundred": 100,
    "k": 1_000,
    "thousand": 1_000,
    "grand": 1_000,
    "m": 1_000_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}

NUMBER_WORDS = frozenset(_SMALL)
"""Words with which a number in words may begin, besides `a`."""

_BELOW_100 = (
    rf"(?:(?:{'|'.join(TENS)})(?:[- ](?:{'|'.join(UNITS[1:])}))?|{'|'.join(TEENS)}|{'|'.join(UNITS[1:])})(?![a-z])"
)
_HUNDREDS = rf"(?:(?:{_BELOW_100}|a)[- ]hundred(?:[- ](?:and[ ])?{_BELOW_100})?)(?![a-z])"
_BELOW_1000 = rf"(?:{_HUNDREDS}|{_BELOW_100})"
_THOUSANDS = rf"(?:(?:{_BELOW_1000}|a)[- ]thousand(?:,?[ ](?:and[ ])?{_BELOW_1000})?)(?![a-z])"
NUMBER_WORDS_PATTERN = rf"(?:{_THOUSANDS}|{_BELOW_1000}|zero(?![a-z]))"
"""A number in words below a million, on lower-case text: `forty`, `twelve hundred`, `a thousand and one`. Never `two
three`."""

_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip
ORDINALS = (
    _ORDINALS
    | {f"twenty{dash}{word}": 20 + value for word, value in _ORDINALS.items() if value < 10 for dash in "- "}
    | {f"thirty{dash}first": 31 for dash in "- "}
)
"""Ordinals in words -> day of a month."""


def parse_number_words(words: str) -> int:
    """Return the number that text matched by NUMBER_WORDS_PATTERN means."""
    total = current = 0
    for word in words.replace("-", " ").replace(",", " ").split():
        if word == "and":
            continue
        if word == "a":
            current = 1
        elif word == "hundred":
            current *= 100
        elif word == "thousand":
            total, current = total + current * 1_000, 0
        else:
            current += _SMALL[word]
    return total + current


def ordinal(day: int) -> str:
    """Return `1st`, `22nd`, `13th`."""
    suffix = "th" if 11 <= day % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"
