"""Which numbers of an answer count things: not hours of the clock, spans of time, labels of a list, or parts of a
whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from toolscale.language.dates import day_number
from toolscale.language.mentions import Mention
from toolscale.language.numerals import ORDINALS
from toolscale.language.qualifiers import qualifier_at
from toolscale.patterns import regex

_OUT_OF = regex(r"\b(?:out\s+)?of\s+(?:(?:the|your|my|a|all|his|her|their)\s+)?(?:total\s+(?:of\s+)?)?$")
_NOUN = regex(r"\s+(?:\w+ly\s+)?([a-z]+)")
_NO_NOUN = frozenset((
    "in", "and", "or", "of", "for", "on", "at", "to", "is", "are", "was", "were", "that", "which", "with", "from", "by",
    "as", "total", "altogether", "so", "but",
))  # fmt: skip
_SPAN = regex(
    r"[\s-](?:(?:more|full|whole|long|short)\s+)?(?:(?:business|working|calendar|week)[\s-]?(?:days?|weeks?)|seconds?|secs?|minutes?|mins?|hours?"
    r"|hrs?|weeks?|"
    r"fortnights?|months?|years?|decades?|a\.?m\b|p\.?m\b|o'clock)\b"
)
_DAYS = regex(r"[\s-](?:full\s+|whole\s+|more\s+)?(?:days?|nights?)\b")
_SPAN_COMPANY = regex(
    r"\b(?:within|allow|takes?|took|taking|up\s+to|in|another|after|for\s+up\s+to|wait(?:ing)?(?:\s+for)?|next|last|past|every|only)\s+"
    r"(?:the\s+|another\s+)?$"
)
_HOUR = regex(r"\b(?P<verb>\w+)?\s*\b(?:at|by|until|till|to|around)\s+$")
_COUNTING = frozenset((
    "stands", "stand", "stood", "is", "are", "remains", "remain", "sits", "stays", "count", "total", "limit", "number",
    "limited", "capped", "set", "comes", "come", "came", "amounts", "adds", "up", "equal", "down",
))  # fmt: skip
_NO_NOUN_AFTER = regex(
    r"\s*(?:[.,;!?)]|$|\s(?:today|tonight|tomorrow|yesterday|sharp|on\s+\w+day|in\s+the\s+(?:morning|afternoon|evening))\b)"
)
_LABELLED = regex(
    r"(?:\b(?:no\.?|nr\.?|number|item|row|option|version|page|section|rule|line|chapter|room|seat|gate|table|day|week|phase|terminal|account"
    r"|suite|apartment|"
    r"apt\.?|unit|building|floor|aisle|bay|slot|level|tier|point|clause|article|part|question|choice|priority|track|route|bus|flight|volume"
    r"|vol\.?|form|window|desk|"
    r"counter|platform|zone|lane|box|category|type|class|grade|stage|round|attempt|case|ticket)\s+|[#№]\s?)$"
)
_YEAR = regex(r"\b(?:in|since|of|during|year|from|until|by|for|before|after|through|early|late|mid|©)\s+$")
_NTH = rf"\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(word for word in ORDINALS if word.isalpha())}"
_RANKED = regex(
    rf"\b(?P<nth>{_NTH})\s(?:place|position|spot|rank|(?:in|on)\s(?:line|the\s(?:queue|line|list|table|waiting\slist)))\b"
)
_STANDING = regex(rf"\b(?:you're|you\sare|they're|it's)\s(?:now\s|currently\s)?(?P<nth>{_NTH})\b(?!\sof\s[a-z])")
_RANK_CUES = ("'re ", "you are ", " place", " position", " spot", " rank", " line", " queue", " list", " table")
"""A message without one of these has no rank, and is not searched for any."""
_OF_A_CODE = regex(r"-[a-z]")


def is_no_count(lower: str, mention: Mention, asked: Collection[str] = ()) -> bool:
    """Whether a number is no count: an hour (`at 4`), a span of time (`24 hours`), a name (`room 4`), a year, or a
    negative number. Behind a word that is `asked` for it is what is wanted: the platform is told by *from platform
    4*."""
    start, end = mention.start, mention.end
    if min(mention.readings, default=0) < 0:
        return False  # degrees, which were read with their sign
    before = lower[max(0, start - 24) : start]
    if before.rstrip().endswith(tuple(asked)):
        return False
    if _SPAN.match(lower, end) or _OF_A_CODE.match(lower, end) or _LABELLED.search(before):
        return True
    if _DAYS.match(lower, end):
        return _SPAN_COMPANY.search(before) is not None
    if (before[-1:] in ("-", "–") and not before[-2:-1].isalnum()) or before.endswith(("minus ", "negative ")):
        return True
    value = min(mention.readings, default=0)
    if isinstance(value, int) and 1900 <= value < 2100 and lower[start:end].isdigit():
        return _YEAR.search(before) is not None and _NO_NOUN_AFTER.match(lower, end) is not None
    hour = _HOUR.search(before) if value <= 12 else None
    return hour is not None and hour["verb"] not in _COUNTING and _NO_NOUN_AFTER.match(lower, end) is not None


def with_ranks(lower: str, found: Sequence[Mention]) -> list[Mention]:
    """Read what is told as a rank as a number: *in 1st place*, *third on the waiting list*."""
    if not any(cue in lower for cue in _RANK_CUES):
        return [*found]
    ranks = [
        Mention(
            "number", frozenset((day_number(rank["nth"]),)), qualifier_at(lower, *rank.span("nth")), *rank.span("nth")
        )
        for pattern in (_RANKED, _STANDING)
        for rank in pattern.finditer(lower)
    ]
    starts = {rank.start for rank in ranks}
    return sorted([*ranks, *(m for m in found if m.start not in starts)], key=lambda m: m.start) if ranks else [*found]


def is_whole(lower: str, mention: Mention) -> bool:
    """Whether a number is the whole in `2 of your 3`."""
    return _OUT_OF.search(lower, max(0, mention.start - 20), mention.start) is not None


def without_parts(lower: str, rivals: Sequence[Mention], numbers: Sequence[Mention], counts: set[Any]) -> list[Mention]:
    """Leave out what is no rival of a count: `one`, the whole in `2 of your 3`, and parts that add up (`2 Visa and 2
    Mastercard, 4 in total`)."""
    rest = [m for m in rivals if lower[m.start : m.end] != "one" and not is_whole(lower, m)]
    nouns = [_NOUN.match(lower, mention.end) for mention in rest]
    named = all(noun and noun[1] not in _NO_NOUN for noun in nouns)
    total = sum(reading for mention in rest for reading in mention.readings if isinstance(reading, int))
    told = {noun[1] for m in numbers if m.readings & counts and (noun := _NOUN.match(lower, m.end))}
    if named and len(rest) > 1 and total in counts and not {noun[1] for noun in nouns if noun} <= told:
        return []
    return rest


def of_the_same(lower: str, rivals: Sequence[Mention], numbers: Sequence[Mention], counts: set[Any]) -> list[Mention]:
    """Keep the rivals that count what a fact counts: the same noun follows both (`3 bills`, `4 overdue bills`)."""
    told = {noun for m in numbers if m.readings & counts for noun in _nouns(lower, m.end)}
    return [
        m for m in rivals if _nouns(lower, m.end) & told and not _SOME_OF.search(lower, max(0, m.start - 24), m.start)
    ]


def _nouns(lower: str, end: int) -> set[str]:
    """Return the words after a number up to where its phrase ends, without a plural's s."""
    phrase = _PHRASE.match(lower, end)
    return {word.removesuffix("s") for word in phrase[0].split() if word not in _NO_NOUN} if phrase else set()


_SOME_OF = regex(
    r"\b(?:others?|these|those|remaining|further|additional|of\s(?:the|your|those|these|all)|only)\s+(?:\w+\s+)?$"
)
_PHRASE = regex(
    r"(?:\s+(?!(?:in|and|or|of|for|on|at|to|is|are|was|were|that|which|with|from|by|as|so|but)\b)[a-z-]+){1,3}"
)
