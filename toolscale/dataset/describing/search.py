"""Search by plain words: all of them must occur, in any order, whatever their case."""

from __future__ import annotations

from collections.abc import Sequence

from toolscale.errors import UsageError


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of what somebody searches for. UsageError if there is none: all would be found."""
    words = tuple(text.casefold().split())
    if not words:
        raise UsageError(f"--search is {text!r}; give at least one word")
    return words


def holds_all(words: Sequence[str], *texts: str) -> bool:
    """Whether each word occurs in one of the texts, as it is or within a longer word."""
    folded = [text.casefold() for text in texts]
    return all(any(word in text for text in folded) for word in words)
