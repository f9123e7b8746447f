"""Texts that an answer must hold, and wrong sentences that hold them too.

tau2 looks for a needle anywhere in a message, without regard to case, after all commas were taken out of the message. A
needle is weak if it is a part of another word or number that the agent reads in this very task, or if it is a number of
one or two digits, which most amounts and dates hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from toolscale.patterns import regex

_TOKEN = regex(r"[#$€£]?\w+(?:[.:/'’@+-]\w+)*", re.ASCII)
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly", "'s", "’s", "er", "n", "al", "ment")
SHORT = 2
"""Digits of a number that other numbers hold for certain."""
LONGEST = 40
"""Characters of a token that is shown."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A sentence that says something else, and passes. `where`: where its value was read; none: it is made up."""

    sentence: str
    where: str

    @property
    def told(self) -> str:
        """It, as evidence."""
        source = f"the value is in {self.where}" if self.where else "made up: the text is a short number"
        return f"{self.sentence!r} would pass; {source}"


def passes(needle: str, message: str) -> bool:
    """Whether a message holds a needle, by the rule of tau2."""
    return needle.lower() in message.lower().replace(",", "")


def wrong_sentence(needle: str, texts: Iterable[tuple[str, str]]) -> Wrong | None:
    """Return a wrong sentence that would pass, made from the first text that has such a value; None if there is
    none."""
    wanted = needle.lower().strip()
    if not wanted or " " in wanted:
        return None
    for where, text in texts:
        found = [token for token in _TOKEN.findall(text.replace(",", "")) if _is_other(wanted, token)]
        if found:
            sentence = f"It is {min(found, key=lambda token: (len(token), token))}."
            return Wrong(sentence, where) if passes(needle, sentence) else None
    if wanted.isdigit() and len(wanted) <= SHORT:
        return Wrong(f"It is 4{wanted}.", "")
    return None


def _is_other(wanted: str, token: str) -> bool:
    """Whether a token holds what is wanted, and says something else."""
    lower = token.lower()
    if wanted not in lower or len(token) > LONGEST:
        return False
    if lower.strip("#$€£") == wanted.strip("#$€£"):
        return False
    if any(part == wanted for part in re.split(r"[^\w.]", lower)):  # it stands there as a word: `credit` in credit-card
        return False
    first, second = _number(wanted), _number(lower)
    if first is not None and second is not None:
        return first != second
    return not any(lower == wanted + ending for ending in _ENDINGS)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.strip("#$€£"))
    except InvalidOperation:
        return None
