"""Deeds that a final message says are not done: still ahead, waiting for a word of the client, or not gone through.

Where all that a request asks for was done, nothing of it can be pending: a message that says so denies the deed, in
whatever words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from toolscale.patterns import regex

_YOUR_WORD = (
    r"(?:approval|confirmation|consent|go-ahead|go\sahead"
    r"|ok(?:ay)?|word|yes|decision|authori[sz]ation|permission|agreement)"
)
_AWAITS = regex(
    r"\b(?:as\ssoon\sas|once|when|after|unless|if)\s(?:you(?:'ve|\shave)?|(?:we|i)(?:'ve|\shave|\sget|\sreceive)?\syou\w*)\s(?:\w+\s){0,3}?"
    r"(?:confirm\w*|approv\w*|agree\w*|say|said|tell|told|reply|replied|give|gave|given|consent\w*|authori[sz]e\w*|sign\w*|release\w*)\b"
    rf"|\b(?:wait(?:s|ing)?|await(?:s|ing)?|pending|needs?|requires?|subject\sto|without)\s(?:for\s|on\s)?your\s(?:\w+\s){{0,2}}?{_YOUR_WORD}\b"
    rf"|\bafter\syour\s(?:\w+\s)?{_YOUR_WORD}\b"
    r"|\bshall\si\b(?!\W+(?:\w+\s)?(?:anything|something|also|help|look\sinto))"
    r"|\b(?:reply|answer|say|write)\s(?:back\s)?(?:with\s)?[\"'“]?yes\b|\btell\sme\sto\b"
)
_AHEAD = regex(
    r"\b(?:has|have|had)\syet\sto\b|(?<!you're\s)(?<!you\sare\s)\bstill\s(?:(?:has|have|needs?)\sto|to\sbe|must|pending|waiting|being)\b"
    r"|\b(?:queued|in\sthe\squeue|held\sback|on\shold(?!\s(?:now\s)?until)|withheld|ready\sto\s(?:go|be\ssent|leave)|prepared)\b"
    r"|\b(?:not|n't)\s(?:\w+\s){0,3}?(?:gone?|go|went|come|came|put)\s(?:out|through)\b"
    r"|\b(?:not|n't|nothing)\b[^,;]*\b(?:yet|for\snow|so\sfar)\b"
)
_NOT = regex(r"\b(?:not|never|nothing|no|none|cannot|unable|fail\w*)\b|n't\b")
_REFUSED = regex(
    r"\b(?:can|could|was|were|has|have|had|did|do|does|is|are|am|would|will)(?:\snot|n't)\s(?:\w+\s){0,4}?(?P<form>[a-z]+)\b"
    r"|\b(?:unable\sto|cannot|not\spossible\sto|failed\sto|not\sable\sto)\s(?:\w+\s){0,2}?(?P<unable>[a-z]+)\b"
)
_FUTURE = regex(
    r"\b(?:will|'ll)\s(?:only\s|then\s|now\s)?be\s(?P<form>[a-z]+)\b"
    r"|\bi(?:'ll|\swill|\scan)\s(?:\w+ly\s|then\s|gladly\s|now\s)?(?P<own>[a-z]+)\b"
)
_OTHERS = regex(
    r"\b(?:others?|else|more|again|any|anything|twice|further|another|rest|either|neither|too|newer|later|remaining|next|future|only|without|with"
    r"|because|if|unless|yet\sdue|touched|changed|affected|fees?|charges?d?|cost|interest|need|have\sto|worry|whose|which|share|tell|disclose|them|those|these|was|were|as\syou\s(?:asked|wished|wanted|said)|over\s?due|due\syet)\b"
)
_STATE = regex(
    r"\b(?:(?:is|are)\sstill|remains?|stays?|continues?|still)\s(?:\w+ly\s|as\sit\sis\s)?"
    r"(?P<state>unpaid|frozen|blocked|locked|active|usable|open|running|in\s(?:place|force|your\s(?:payee\s)?list)|scheduled|unfrozen|standing|planned)\b"
)
_UNDOES: Mapping[str, frozenset[str]] = {
    "pay": frozenset(("unpaid",)),
    "settle": frozenset(("unpaid",)),
    "freeze": frozenset(("active", "usable", "unfrozen", "open")),
    "unfreeze": frozenset(("frozen", "blocked", "locked")),
    "cancel": frozenset(("active", "running", "in place", "in force", "scheduled", "standing", "planned")),
    "remove": frozenset(("in your list", "in your payee list", "active")),
}
"""Verb of a tool -> the states that its deed ends."""


@lru_cache(maxsize=4096)
def awaits(text: str) -> str | None:
    """Return the words with which a clause in lower case makes a deed wait: for a word of the client, or for later."""
    found = _AWAITS.search(text) or (None if _OTHERS.search(text) else _AHEAD.search(text))
    return found[0] if found else None


@lru_cache(maxsize=4096)
def refused_forms(text: str, ahead: bool) -> tuple[str, ...]:
    """Return the verbs that a clause denies or (`ahead`) puts into the future: it may deny their deeds."""
    if _OTHERS.search(text):
        return ()
    found = [*_REFUSED.finditer(text), *(_FUTURE.finditer(text) if ahead else ())]
    return tuple(form for each in found for form in each.groupdict().values() if form)


@lru_cache(maxsize=4096)
def standing_state(text: str, verbs: frozenset[str]) -> str | None:
    """Return the state that a clause says still holds, and that a deed of one of the verbs has ended."""
    found = _STATE.search(text)
    if found is None or _NOT.search(text) or _OTHERS.search(text):
        return None
    state = " ".join(found["state"].split())
    return state if any(state in _UNDOES.get(verb, ()) for verb in verbs) else None
