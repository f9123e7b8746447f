"""Values that an answer takes back (`$40, sorry, $45`) or says of the past beside a present one (`it was $40; now it is
$45`)."""

from __future__ import annotations

from toolscale.language.mentions import Mention
from toolscale.patterns import regex

_CUES = regex(
    r"sorry|correct|actually|i mean|rather|wait|apolog|edit|misspoke|misread|mistake|wrong"
    r"|scratch|make (?:that|it)|oops|strike|no[,:]|pardon|typo|ignore|"
    r"disregard|my bad|second thought|i stand|update:|should (?:be|read|say)|meant|- no\b|~~"
)
_STRONG = (
    r"(?:correction|i\s+mean(?:t)?|i\s+misspoke|i\s+misread(?:\s+(?:it|that))?|(?:let\s+me|i\s+have\s+to|i\s+must|i\s+should"
    r"|to)\s+correct\s+(?:that|this|myself|it)"
    r"|my\s+mistake|(?:that|this|it|which)(?:'s|\s+is|\s+was)\s+(?:a\s+mistake|wrong|incorrect|not\s+right|an\s+error|a\s+typo)"
    r"|(?:i\s+)?made\s+a\s+mistake"
    r"|scratch\s+that|strike\s+that|ignore\s+that|disregard\s+that|make\s+(?:that|it)|oops|whoops|edit|typo|my\s+bad|on\s+second\s+thoughts?"
    r"|i\s+stand\s+corrected"
    r"|(?:it|that)\s+should\s+(?:be|read|say)|or\s+rather|rather|wait|hold\s+on|hang\s+on|pardon)"
)
_WEAK = (
    r"(?:so\s+sorry|sorry(?:\s+about\s+that)?|my\s+apologies"
    r"|apologies|i\s+apologi[sz]e|excuse\s+me|actually|no|well|er|um|uh|hmm|that\s+is)"
)
_SUBJECT = (
    r"(?:(?:it|that|this|(?:the|your|its)\s+(?:\w+\s+){0,2}?(?P<noun>\w+))"
    r"(?:'s|\s+(?:is|was|are|should\s+be|comes\s+to|has|should\s+have\s+been))\s+)?"
)
_BETWEEN = regex(
    rf"[\W_]*(?:(?:but|and|so|i'm|i\s+am|oh|ah)\W+)*(?P<cues>(?:(?:(?P<strong>{_STRONG})|{_WEAK})\b\W*(?:(?:but|and|so|i'm|i\s+am"
    rf"|oh)\W+)*)+){_SUBJECT}"
    r"(?:actually\s+|really\s+|in\s+fact\s+|only\s+|now\s+)?(?:on\s+)?$"
)
_TAKEN_BACK = regex(
    r"[\W_]*(?:(?:sorry|oops|wait|no|hmm|actually|apologies)\W+)*(?:scratch\s+that|strike\s+that|ignore\s+that|disregard\s+that"
    r"|never\s+mind\s+that|i\s+misspoke|i\s+misread"
    r"|(?:that|this|which|it)(?:'s|\s+is|\s+was)\s+(?:a\s+mistake|wrong|incorrect|not\s+right|not\s+correct|an\s+error|a\s+typo|out\s+of\s+date"
    r"|outdated)"
    r"|(?:that|this)\s+(?:isn't|wasn't)\s+(?:right|correct|it|true)|correction)\b"
)
_PAST = regex(
    r"\b(?:was|were|previous(?:ly)?|before|old|former(?:ly)?|original(?:ly)?|initial(?:ly)?|used\s+to|until|had\s+been|at\s+first|earlier)\b"
)
_PRESENT = regex(
    r"\W*(?:(?:and|but|so|however|though)\W+)*(?:(?:it|that|this|they)\b|now\b|is\b|has\b|currently\b|today\b|(?:the|your)\s+(?:new|current"
    r"|latest|actual)\s+(?P<noun>\w+))"
)
_NEAR = 90
_RANGE = regex(r"[\w ,]{3,30}?(?:-|–|—|\bto\b|\bthrough\b|\buntil\b|\btill\b)\s*(?:on\s+)?(?:the\s+)?$")
_MOVED = regex(r"\b(?:mov|chang|reschedul|extend|push|shift|postpon|delay|updat|brought|bring|put|renew)\w*\b")


def take_back(lower: str, found: tuple[Mention, ...]) -> tuple[Mention, ...]:
    """Mark values as denied that a correction replaces, or takes back without giving another."""
    if not found or not _CUES.search(lower, found[0].end):
        return found
    kept = list(found)
    for index, mention in enumerate(found):
        following = next((other for other in found[index + 1 :] if other.kind == mention.kind), None)
        struck = lower.startswith("~~", mention.end) and lower[: mention.start].endswith("~~")
        if struck or _TAKEN_BACK.match(lower, mention.end) or (following and _replaces(lower, mention, following)):
            kept[index] = mention._replace(qualifier="denied")
    return tuple(kept)


def _replaces(lower: str, mention: Mention, following: Mention) -> bool:
    if (
        following.start - mention.end > _NEAR
        or following.qualifier == "denied"
        or following.readings == mention.readings
    ):
        return False
    between = _BETWEEN.match(lower[mention.end : following.start])
    if between is None:
        return False
    return (
        between["strong"] is not None
        or between["noun"] is None
        or between["noun"] in lower[max(0, mention.start - _NEAR) : mention.end].split()
    )


def is_past(lower: str, start: int, end: int) -> bool:
    """Whether a clause tells how something was."""
    return _PAST.search(lower, start, end) is not None


def is_present_of(lower: str, clause: tuple[int, int], past: tuple[int, int]) -> bool:
    """Whether `clause` tells how something is now, and the clause `past` how the same thing was before; both are
    stretches of the text."""
    present = _PRESENT.match(lower, *clause)
    return present is not None and (
        present["noun"] is None or present["noun"] == "one" or present["noun"] in lower[slice(*past)]
    )


def is_range(lower: str, start: int, other: Mention) -> bool:
    """Whether the date at `start` is one end of a span of time with another date (`March 20 to March 25`). Where
    something was moved from one date to the other, only the first counts as an end."""
    first, last = sorted((start, other.start))
    if last - first > 40 or not _RANGE.match(lower[first:last]):
        return False
    return start == first or not _MOVED.search(lower, max(0, first - 60), first)
