"""Alternatives in phrasings: `[Pay|Settle|] my bill`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from toolscale.patterns import regex

_CHOICE = regex(r"\[([^\[\]]*)\]")
_BAR = regex(r"\|(?![^{}]*\})")
"""Between alternatives; the bar of a place, `{day|nth}`, is none."""
_SPACES = regex(r" {2,}")
_SPACE_BEFORE_MARK = regex(r" +(?=[,.;:!?](?:\s|$))")


def alternatives(texts: Sequence[str]) -> str:
    """Return a choice of which one text is drawn."""
    return texts[0] if len(texts) == 1 else f"[{'|'.join(texts)}]"


def expand_choices(text: str, pick: Callable[[int], int]) -> str:
    """Replace every `[a|b|]` by one alternative, innermost and leftmost first; `pick(n)` returns an index below n.

    An empty alternative leaves no double space, none before a punctuation mark, and none at either end; a first letter
    that came to stand at the beginning is made a capital if the text began with a choice.
    """
    if "[" not in text:
        return text
    begins = text.startswith("[")
    while found := _CHOICE.search(text):
        alternatives = _BAR.split(found[1])
        text = text[: found.start()] + alternatives[pick(len(alternatives))] + text[found.end() :]
    text = _SPACE_BEFORE_MARK.sub("", _SPACES.sub(" ", text)).strip(" ")
    return text[:1].upper() + text[1:] if begins else text


def every_choice(text: str) -> Iterator[str]:
    """Yield the text with its choices made in every way, the first ones first; nothing is made before it is asked
    for."""
    picks: list[int] = []
    counts: list[int] = []

    def pick(count: int) -> int:
        counts.append(count)
        if len(picks) < len(counts):
            picks.append(0)
        return picks[len(counts) - 1]

    while True:
        counts.clear()
        yield expand_choices(text, pick)
        while picks and picks[-1] == counts[len(picks) - 1] - 1:
            picks.pop()
        if not picks:
            return
        picks[-1] += 1


def holds_always(text: str, holds: Callable[[str], bool]) -> bool:
    """Whether `holds` is true of some part of the text in every choice of alternatives.

    Exact for what lies within one alternative, or outside all of them; what crosses the edge of a bracket is not seen.
    """
    fixed, choices = "", list[str]()
    position = 0
    for start, end in _brackets(text):
        fixed += text[position:start] + " | "
        choices.append(text[start + 1 : end])
        position = end + 1
    fixed += text[position:]
    return holds(fixed) or any(all(holds_always(part, holds) for part in _alternatives(choice)) for choice in choices)


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each outermost bracket opens and closes."""
    depth = start = 0
    for position, letter in enumerate(text):
        if letter == "[":
            start = position if depth == 0 else start
            depth += 1
        elif letter == "]" and depth:
            depth -= 1
            if depth == 0:
                yield start, position


def _alternatives(choice: str) -> list[str]:
    """Split the inside of a bracket at its own bars."""
    inner = [range(start, end + 1) for start, end in _brackets(choice)]
    bars = [bar.start() for bar in _BAR.finditer(choice) if not any(bar.start() in span for span in inner)]
    edges = [-1, *bars, len(choice)]
    return [choice[before + 1 : after] for before, after in pairwise(edges)]
