"""Alternatives in phrasings: `[Pay|Settle|] my bill`."""

from __future__ import annotations

import re
from collections.abc import Callable

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_BAR = re.compile(r"\|(?![^{}]*\})")
"""Between alternatives; the bar of a place, `{day|nth}`, is none."""
_SPACES = re.compile(r" {2,}")
_SPACE_BEFORE_MARK = re.compile(r" +(?=[,.;:!?](?:\s|$))")


def expand_choices(text: str, pick: Callable[[int], int]) -> str:
    """Replace every `[a|b|]` by one alternative, innermost and leftmost first; `pick(n)` returns an index below n.

    An empty alternative leaves no double space, none before a punctuation mark, and none at either end; a first letter that came to stand at the
    beginning is made a capital if the text began with a choice.
    """
    if "[" not in text:
        return text
    begins = text.startswith("[")
    while found := _CHOICE.search(text):
        alternatives = _BAR.split(found[1])
        text = text[: found.start()] + alternatives[pick(len(alternatives))] + text[found.end() :]
    text = _SPACE_BEFORE_MARK.sub("", _SPACES.sub(" ", text)).strip()
    return text[:1].upper() + text[1:] if begins else text
