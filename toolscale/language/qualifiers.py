"""How firmly a value is said: the words around it that hedge, bound or deny it."""

from __future__ import annotations

from typing import Literal

from toolscale.patterns import regex

Qualifier = Literal["hedge", "bound", "denied"]

_HEDGES = frozenset((
    "about", "around", "roughly", "approximately", "approx", "approx.", "nearly", "almost", "some", "circa", "ca.",
    "perhaps", "maybe", "probably", "possibly", "estimated", "like", "practically", "virtually", "guess", "~", "≈", "±",
))  # fmt: skip
_BOUNDS = frozenset((
    "under", "over", "below", "above", "exceeding", "beyond", "exceeds", "within", "before", "after", "minimum",
    "maximum",
    ">", "<", ">=", "<=", "≥", "≤",
))  # fmt: skip
_DENIALS = frozenset(
    (
        "not",
        "never",
        "nor",
        "neither",
        "isn't",
        "wasn't",
        "aren't",
        "weren't",
    )
)
_TWO_WORDS: dict[tuple[str, str], Qualifier] = {
    ("at", "least"): "bound", ("at", "most"): "bound", ("up", "to"): "bound", ("upwards", "of"): "bound",
    ("excess", "of"): "bound", ("minimum", "of"): "bound", ("maximum", "of"): "bound", ("prior", "to"): "bound",
    ("rather", "than"): "denied", ("other", "than"): "denied", ("instead", "of"): "denied", ("no", "longer"): "denied",
    ("close", "to"): "hedge", ("region", "of"): "hedge", ("might", "be"): "hedge", ("could", "be"): "hedge",
    ("may", "be"): "hedge", ("not", "be"): "denied", ("cannot", "be"): "denied", ("can't", "be"): "denied",
    ("won't", "be"): "denied", ("shy", "of"): "bound", ("short", "of"): "bound", ("north", "of"): "bound",
    ("south", "of"): "bound",
}  # fmt: skip
_LOOSE: dict[str, Qualifier] = {
    "around": "hedge",
    "near": "hedge",
    "towards": "hedge",
    "toward": "hedge",
    "before": "bound",
    "after": "bound",
    "past": "bound",
}
_COPULA = frozenset(("is", "was", "are", "were", "it's", "that's"))
_COPULA_NOT = frozenset(("isn't", "wasn't", "aren't", "weren't"))
_REASON = frozenset(("because", "as", "since", "so", "but", "than"))
_WEAK = frozenset(
    (
        "the",
        "a",
        "an",
        "be",
        "on",
        "exactly",
        "at",
        "for",
        "only",
        "your",
        "from",
        "in",
    )
)
_WISHES = frozenset(("would", "i'd", "we'd", "you'd", "they'd", "he'd", "she'd", "id", "’d", "i’d", "we’d", "you’d"))
"""Before *like*, which then says what is wanted and not about how much: *I'd like 4*."""

_AFTER = regex(
    r"[\s,(]*(?:(?P<hedge>or\s+so\b|or\s+thereabouts|-?ish\b|give\s+or\s+take|(?:approximately|approx|roughly|or\s+something)\b)"
    r"|(?P<bound>\+(?!\s?\$?\d)|or\s+(?:more|less|fewer|above|below|over|under|higher|lower|later|earlier)\b"
    r"|(?<![,(])(?<![,(]\s)(?:more|fewer|higher|lower|later|earlier|other)\s+than\b|(?<![,(])(?<![,(]\s)(?:less|short|shy)\b|(?<![,(])(?<![,(]\s)(?:above|below)\b|(?<![,(])(?<![,(]\s)too\s+(?:much|little|many"
    r"|few)\b|(?<![,(]\s)at\s+(?:the\s+)?(?:earliest|latest|most|least|very\s+\w+)\b|max(?:imum)?\b|tops\b|min(?:imum)?\b))"
)
_CARRIED = regex(r"(?:br(?:ing|ought)|mov|carr|transfer|shift|pull|hand|send|sent|c[ao]me|went|tak|took)")
_PEAK = regex(r"\bgusts?\s(?:of\s|reaching\s|at\s)?up\sto\s*$")
"""A gust is the most that the wind reaches: *up to* takes nothing from its figure."""
_SUM = regex(r"\b(?:add(?:s|ed|ing)?|sum(?:s|med)?|total(?:s|l?ed)?)\s+(?:\w+\s+)?up\s+to\s*$")
_TRIMMED = "(*\"'“[,"


def qualifier_at(lower: str, start: int, end: int) -> Qualifier | None:
    """Return what the words right before and after a value make of it."""
    after = _AFTER.match(lower, end)
    words = lower[max(0, start - 32) : start].split()
    last = words[-1].lstrip(_TRIMMED) if words else ""
    if after:  # "about $5 or more" is no firmer than "about $5"
        return "hedge" if after["hedge"] or last in _HEDGES or last[-1:] in tuple("~≈±") else "bound"
    if not words:
        return None
    before = words[-2].lstrip(_TRIMMED) if len(words) > 1 else ""
    if last == "like" and before in _WISHES:
        return None
    if last in _HEDGES or last[-1:] in "~≈±":
        return "hedge" if last else None
    if last == "over" and _CARRIED.match(before):
        return None
    if last in _BOUNDS or last[-1:] in "<>≤≥":
        return "bound"
    if last == "than" and before not in ("rather", "other"):
        return "bound"
    if last == "the" and before in _LOOSE:
        return _LOOSE[before]
    if two := _TWO_WORDS.get((before, last)):
        reached = (before, last) == ("up", "to") and any(
            words.search(lower, max(0, start - 32), start) for words in (_SUM, _PEAK)
        )
        return None if reached else two
    if last in _DENIALS or (last in _WEAK and before in _DENIALS):
        return "denied"
    return "denied" if _is_not(words) else None


def _is_not(words: list[str]) -> bool:
    """Whether the value completes "is not ...", as in `is not due on March 17`; an act that was not done (`did not pay
    $5`) leaves its value be."""
    for index in range(len(words) - 1, max(len(words) - 5, -1), -1):
        word = words[index]
        if word in _COPULA_NOT or (word == "not" and index and words[index - 1] in _COPULA):
            return True
        if word in _REASON or not word[-1].isalnum():
            return False
    return False
