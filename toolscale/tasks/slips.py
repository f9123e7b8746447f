"""Slips of the finger, in free words only: never in a value, a cue, a number word or a short word."""

from __future__ import annotations

import random
import re

from toolscale.language import is_value_word

_WORD = re.compile(r"(?<![\w'’\ue001])[a-z]{5,}(?![\w'’\ue000])")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {key: beside for row in _ROWS for key, beside in zip(row, row[1:] + row[-2], strict=True)}


def misspell(text: str, rng: random.Random, protected: frozenset[str]) -> str:
    """Return the text with one or two slips: two letters exchanged, one left out, doubled, or struck beside its key."""
    free = [match for match in _WORD.finditer(text) if match[0] not in protected and not is_value_word(match[0])]
    chosen = rng.sample(free, min(len(free), rng.choice((1, 1, 2))))
    for match in sorted(chosen, key=lambda found: found.start(), reverse=True):
        slip = _slip(match[0], rng)
        if not is_value_word(slip):  # "there" is one slip away from "three"
            text = text[: match.start()] + slip + text[match.end() :]
    return text


def _slip(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 2)
    kind = rng.randrange(4)
    if kind == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    if kind == 2:
        return word[: at + 1] + word[at:]
    return word[:at] + _NEIGHBOURS[word[at]] + word[at + 1 :]
