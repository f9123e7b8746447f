"""How people type: slips of the finger, and the habits of who is in a hurry; never in a value, a cue, a number word or
a short word."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping

from toolscale.language.value_words import is_value_word
from toolscale.patterns import regex

_WORD = regex(r"(?<![\w'’\ue001])[a-z]{5,}(?![\w'’\ue000])")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {key: beside for row in _ROWS for key, beside in zip(row, row[1:] + row[-2], strict=True)}
_USUAL = {
    "receive": "recieve", "received": "recieved", "definitely": "definately", "address": "adress", "which": "wich",
    "because": "becuase", "balance": "balence", "until": "untill", "whether": "wether", "their": "thier",
    "separate": "seperate", "please": "plaese", "transfer": "tranfer", "statement": "statment", "believe": "beleive",
    "afterwards": "afterwords", "remaining": "remaing", "available": "availible", "immediately": "immediatly",
    "amount": "ammount", "tomorrow": "tommorow", "cancel": "cancle",
}  # fmt: skip
"""Slips that many people make."""

_APOSTROPHE = regex(r"(?<![\w'’])([A-Za-z]+)['’](m|s|t|d|ll|ve|re)\b")
_FREE = regex(r"(?<![\w'’\ue001])[A-Za-z]+(?![\w'’\ue000])")
_STOP = regex(r"(?<=[a-z\ue001])\. ([A-Za-z])(?![’'\s])")
_RUN_ON = 0.6
"""The share of sentences that run on into the next one, for people with the habit `loose`."""


def misspell(text: str, rng: random.Random, protected: frozenset[str]) -> str:
    """Return the text with one or two slips: usual ones, or two letters exchanged, one left out, doubled, or struck
    beside its key."""
    free = [match for match in _WORD.finditer(text) if match[0] not in protected and not is_value_word(match[0])]
    usual = [match for match in free if match[0] in _USUAL]
    chosen = rng.sample(usual or free, min(len(usual or free), rng.choice((1, 1, 2))))
    for match in sorted(chosen, key=lambda found: found.start(), reverse=True):
        slip = _USUAL.get(match[0]) or _slip(match[0], rng)
        if not is_value_word(slip):  # "there" is one slip away from "three"
            text = text[: match.start()] + slip + text[match.end() :]
    return text


def handwritten(
    text: str, habits: Collection[str], short: Mapping[str, str], rng: random.Random, protected: frozenset[str]
) -> str:
    """Return the text as somebody with these habits types it; `lower` is left to whoever fills in the values."""
    if "short" in habits:
        text = _FREE.sub(lambda match: match[0] if match[0].lower() in protected else _shortened(match[0], short), text)
    if "bare" in habits:
        text = _APOSTROPHE.sub(lambda match: match[0] if match[0].lower() in protected else match[1] + match[2], text)
        text = re.sub(r"[.!?]$", "", text)
    if "loose" in habits:
        marks = (", ", " ") if "lower" in habits else (", ",)
        text = _STOP.sub(
            lambda match: rng.choice(marks) + match[1].lower() if rng.random() < _RUN_ON else match[0], text
        )
    return text


def _shortened(word: str, short: Mapping[str, str]) -> str:
    found = short.get(word.lower())
    return word if found is None else found.capitalize() if word[0].isupper() and found.isalpha() else found


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
