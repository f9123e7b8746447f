"""What a message of an agent asks a person for: which of the things that the person can tell, or leave for what is
asked for anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolscale.language.mentions import lower_keeping_length
from toolscale.records import FactKind, Reply

_SENTENCE = re.compile(r"[^.?!;\n]+(?:\.(?=\w)[^.?!;\n]*)*[.?!;]*")
_ITEM = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_MARKUP = re.compile(r"[*_`#>]+")

_OFFER = re.compile(
    r"\b(?:anything|something|nothing|what|who|how) else\b|\belse (?:i|we) can\b|\b(?:any|other|more|further|additional) "
    r"(?:\w+ )?(?:questions?|help|assistance|requests?|concerns?|changes?)\b|\bfeel free\b|\b(?:happy|glad|here) to help\b"
    r"|\bif you(?:'d| would)? (?:need|have|want|like|wish|prefer|change|decide)\b|\blet (?:me|us) know if\b"
)
"""What is offered besides: nobody has to answer that."""

_WANTS = re.compile(
    r"\b(?:please|kindly|just) (?:also )?(?:tell|give|provide|share|send|specify|state|confirm|verify|clarify|indicate|supply"
    r"|identify|choose|pick|advise|reply|respond|let me know|let us know|include|describe|name)\b"
    r"|\b(?:tell me|let me know|give me|send me|provide me|remind me|advise me|specify|clarify|provide|share|confirm|verify)\b"
    r"|\b(?:i|we)(?:'ll| will| would| do| still|'d)*(?: first| just| also| only)* (?:need|require|have to (?:know|verify|confirm)"
    r"|like to (?:know|confirm|verify|ask|check)|must (?:know|verify|confirm))\b"
    r"|\b(?:could|can|would|will|may|might) (?:you|i|we)\b.*\b(?:tell|give|provide|share|send|specify|confirm|verify|clarify"
    r"|have|get|ask|know)\b|\bi'm (?:missing|only missing)\b|\bis (?:still )?missing\b"
)
"""What wants an answer without a question mark."""

_DID = re.compile(r"\b(?:i|we)(?:'ve| have| just)* (?:confirmed|verified|provided|shared|specified|clarified)\b")

_PERMISSION = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we)\b|\b(?:would|do) you (?:like|want|wish|prefer|agree|confirm)\b"
    r"|\b(?:go ahead|proceed|is (?:that|this|it|everything) (?:ok|okay|fine|right|correct|alright)|sounds? (?:good|right)|correct\?"
    r"|right\?|ok\?|okay\?|are you sure|confirm)"
)

_WHO = re.compile(
    r"\bidentif(?:y|ying|ication) ?(?:you|yourself|details?|information)?\b|\bidentity\b|\bverif(?:y|ication)\b.*\b(?:you|your)\b"
    r"|\bwho (?:you are|are you|am i|i am|i'm|is this|is asking)\b|\bwhom (?:am|i am|i'm)\b|\byour (?:\w+ ){0,2}(?:details|information|info|particulars|credentials)\b"
    r"|\b(?:look|pull) (?:you|your \w+(?: \w+)?) up\b|\b(?:look|pull) up your\b|\b(?:find|locate) (?:you|your (?:account|profile|record|file|details|membership))\b"
)

_NAME = re.compile(
    r"\b(?:your|full|first and last|first|last|legal|complete|given) (?:\w+ ){0,2}?name\b|\bwho (?:am i|i am|i'm) (?:speaking|talking|chatting|dealing)"
    r"|\bwhom (?:am i|i am|i'm)\b|(?:^|[,:]|\band\b|\bthe\b)\s*(?:full )?name\b(?! of\b)"
)
_SAID_AS: dict[str, str] = {
    "date of birth": r"\bbirth ?(?:date|day)?\b|\bborn\b|\bd\.?o\.?b\b",
    "email": r"\be-?mail\b",
    "organisation": r"\borgani[sz]ation\b|\bcompany\b|\bemployer\b|\bfirm\b",
}
_KINDS: dict[FactKind, str] = {
    "money": r"\bhow much\b|\bamounts?\b|\bsums?\b|\bwhat (?:\w+ )?(?:limit|figure|price)\b",
    "date": r"\bwhen\b|\b(?:which|what) (?:\w+ )?(?:day|date)\b|\b(?:date|day)s?\b(?! of birth)",
    "time": r"\bwhat time\b|\bwhen\b|\btimes?\b|\bhour\b",
    "number": r"\bhow many\b|\bnumber of\b|\bquantity\b|\bcount\b",
    "duration": r"\bhow long\b|\bduration\b|\bminutes\b|\bhours\b",
}

_OF_MANY = frozenset(("name", "full name", "title", "status", "kind", "date"))
"""Columns that many things have, and the person too: asking for one does not say of what."""


@dataclass(frozen=True)
class Inquiry:
    """What a message asks for."""

    asks: bool
    """It wants an answer. If not, it is the last message of its conversation."""
    about: tuple[str, ...] = ()
    """`about` of the replies that answer it, in their order."""
    leave: bool = False
    """It asks whether to go on, or proposes something."""


def read_inquiry(message: str, replies: Sequence[Reply]) -> Inquiry:
    """Return what a message asks for, of what a person can tell."""
    asking = [sentence for sentence in _sentences(message) if _is_asking(sentence)]
    if not asking:
        return Inquiry(asks=False)
    found = {about for sentence in asking for about in _asked_in(sentence, replies)}
    if not found and any(_WHO.search(sentence) for sentence in asking):
        found = {reply.about for reply in replies if reply.sort == "identity"}
    about = tuple(reply.about for reply in replies if reply.about in found)
    return Inquiry(True, about, not about and any(_PERMISSION.search(sentence) for sentence in asking))


def besides_questions(message: str) -> str:
    """Return what a message says, without the sentences that want an answer."""
    kept = []
    for line in message.split("\n"):
        said = [found[0] for found in _SENTENCE.finditer(line)]
        kept.append("".join(text for text in said if not _is_asking(lower_keeping_length(text).strip())).strip())
    return "\n".join(line for line in kept if line)


def _sentences(message: str) -> Iterator[str]:
    """Yield the sentences of a message in lower case; the items of a list belong to the sentence before it."""
    lines = [_MARKUP.sub("", line) for line in lower_keeping_length(message).split("\n")]
    joined: list[str] = []
    for line in filter(str.strip, lines):
        item = _ITEM.match(line)
        if item and joined and joined[-1].rstrip().endswith((":", ",")):
            joined[-1] = f"{joined[-1].rstrip().rstrip(':,')}, {line[item.end() :].strip().rstrip('.?;')},"
        else:
            joined.append(line[item.end() :] if item else line)
    for line in joined:
        yield from (found[0].strip() for found in _SENTENCE.finditer(line) if found[0].strip())


def _is_asking(sentence: str) -> bool:
    wants = _WANTS.search(sentence) is not None and not _DID.search(sentence)
    if _OFFER.search(sentence):
        # Please tell me X if you want Y: what comes before is still wanted.
        offer = _OFFER.search(sentence)
        assert offer is not None
        return wants and not sentence.endswith("?") and _WANTS.search(sentence, 0, offer.start()) is not None
    return sentence.endswith("?") or wants


def _asked_in(sentence: str, replies: Sequence[Reply]) -> set[str]:
    headed = {reply.about for reply in replies if reply.sort == "row" and _heads(reply.words[0]).search(sentence)}
    found = {reply.about for reply in replies if reply.sort == "identity" and _pattern(reply).search(sentence)}
    rows = headed or {reply.about for reply in replies if reply.sort == "row" and _pattern(reply).search(sentence)}
    return found | rows | _values_in(sentence, replies, bool(headed))


def _values_in(sentence: str, replies: Sequence[Reply], headed: bool) -> set[str]:
    """Return the values that are asked for: by their name, else by their kind."""
    values = [reply for reply in replies if reply.sort == "value"]
    named = {reply.about for reply in values if _phrase(reply.words[0]).search(sentence)}
    kinds = {kind for kind in _KINDS if re.search(_KINDS[kind], sentence)}
    by_name = {reply.kind for reply in values if reply.about in named}
    return named | {reply.about for reply in values if reply.kind in kinds and reply.kind not in by_name and not headed}


@lru_cache(maxsize=1024)
def _phrase(words: str) -> re.Pattern[str]:
    before = r"(?:which|what|new) " if words in _OF_MANY else ""
    return re.compile(rf"\b{before}{re.escape(words)}s?\b")


@lru_cache(maxsize=1024)
def _heads(noun: str) -> re.Pattern[str]:
    """*Which of your unpaid bills*, *what bill*."""
    last = re.escape(noun.split()[-1])
    return re.compile(
        rf"\b(?:which|what)(?: one)?(?: specific| exact| particular)?(?: of (?:your|the|these|those))?(?: \w+){{0,2}}? {last}(?:e?s)?\b"
    )


def _pattern(reply: Reply) -> re.Pattern[str]:
    return _pattern_of(reply.sort, reply.words)


@lru_cache(maxsize=1024)
def _pattern_of(sort: str, words: tuple[str, ...]) -> re.Pattern[str]:
    if sort == "identity":
        word = words[0]
        if word.endswith("name"):
            return _NAME
        known = _SAID_AS.get(word)
        return re.compile(known or rf"\b(?:{re.escape(word)}|{re.escape(word.split()[-1])})s?\b")
    columns = [re.escape(word) for word in words[1:] if word not in _OF_MANY]
    parts = [rf"{re.escape(words[0].split()[-1])}(?:e?s)?", *columns, "which ones?"]
    return re.compile(rf"\b(?:{'|'.join(parts)})\b")
