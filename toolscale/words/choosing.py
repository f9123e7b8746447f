"""How far one request is from another, by the words between their facts."""

from __future__ import annotations

from itertools import pairwise

from toolscale.patterns import regex

_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)?|▢")


def strangeness(skeleton: str, template: str) -> float:
    """Return the share of neighbouring words of one skeleton that are no neighbours in another: 0 for the same words, 1
    for no two in common."""
    mine, theirs = _pairs(skeleton), _pairs(template)
    return len(mine - theirs) / len(mine) if mine else 0.0


def _pairs(skeleton: str) -> set[tuple[str, str]]:
    return set(pairwise(word.lower() for word in _WORD.findall(skeleton)))
