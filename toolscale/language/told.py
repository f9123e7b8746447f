"""What is certain of a message without understanding it: which values stand in it, in any form, said of whatever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolscale.language.heard import contains_words
from toolscale.language.mentions import Mention, mentions
from toolscale.patterns import regex
from toolscale.records import Fact

_SAID_WITHOUT_FIGURE = (0, 1, 2)
"""Counts for which people have other words: `none`, `a single one`, `both`, `twice`. Nothing of a kind is `free`."""
_COUNTED = frozenset(("number", "percent", "ordinal", "duration"))
"""Kinds of mentions that may be how a number is said, with whatever unit."""
_JOINTS = str.maketrans("_-‑–", "    ")


def untold(message: str, facts: Sequence[Fact], today: str) -> str | None:
    """Return the first fact to be told whose value stands nowhere in a message, in words; None if all stand there."""
    found = mentions(message, today)
    missing = (fact for fact in facts if not fact.withheld and fact.kind != "bool" and not _told(message, fact, found))
    fact = next(missing, None)
    return None if fact is None else f"the {fact.kind} {fact.value!r} stands nowhere in the message"


def disclosed(message: str, facts: Sequence[Fact], fine: frozenset[tuple[str, Any]], today: str) -> str | None:
    """Return the first withheld value that stands in a message, in words, or None. `fine`: (kind, value) pairs that may
    be said, beside those of the facts to be told."""
    fine |= {(fact.kind, fact.value) for fact in facts if not fact.withheld}
    found = mentions(message, today)
    hidden = (fact for fact in facts if fact.withheld and fact.kind != "bool" and (fact.kind, fact.value) not in fine)
    fact = next((fact for fact in hidden if _stands(message, fact, found)), None)
    return None if fact is None else f"discloses the {fact.kind} that is withheld: {fact.value}"


def _stands(message: str, fact: Fact, found: Sequence[Mention]) -> bool:
    """Whether a value stands in a message for certain, and nothing else can be meant."""
    if any(mention.kind == fact.kind and mention.readings == {fact.value} for mention in found):
        return True
    return isinstance(fact.value, str) and contains_words(message, fact.value)


def _told(message: str, fact: Fact, found: Sequence[Mention]) -> bool:
    if fact.kind == "yes_no":
        return True  # there are many ways to say it
    if fact.value == 0 or (fact.kind == "number" and fact.value in _SAID_WITHOUT_FIGURE):
        return True
    if any(_is_said(fact, each) for each in found):
        return True
    if isinstance(fact.value, str):
        return _flat(fact.value) in _flat(message)
    return fact.kind == "money" and _without_unit(fact.value, message)


def _is_said(fact: Fact, mention: Mention) -> bool:
    kinds = _COUNTED if fact.kind in ("number", "duration") else {fact.kind}
    return mention.kind in kinds and str(fact.value) in {str(reading) for reading in mention.readings}


def _without_unit(cents: int, message: str) -> bool:
    """Whether an amount stands in a message as a figure alone, `257.61`, or as so many cents."""
    whole, rest = divmod(abs(cents), 100)
    forms = [rf"{whole:,}\.{rest:02}", rf"{whole}\.{rest:02}", rf"{abs(cents)} ?(?:cents?|¢)"]
    forms += [f"{whole:,}", f"{whole}"] if not rest else []
    return regex(rf"(?<![\d.,])(?:{'|'.join(forms)})(?![\d]|[.,]\d)").search(message) is not None


def _flat(text: str) -> str:
    return " ".join(text.casefold().translate(_JOINTS).split())
