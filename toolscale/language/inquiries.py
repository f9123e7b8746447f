"""What a message of an agent asks a person for: which of the things that the person can tell, or leave for what is
asked for anyway.

A message is cut into sentences, and the items of a list are joined to what introduces them. A sentence asks if it ends
with a question mark, wants something in so many words, or names what says who somebody is beside a word such as
*please* or *need*. Offers (*anything else?*) ask for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from toolscale.language.asking_words import (
    CHOICE,
    DONE,
    HINTS,
    NAME,
    OF_KIND,
    OFFER,
    PERMISSION,
    POINTS,
    PURPOSE,
    SAID_AS,
    WANTS,
    WHO,
    either,
)
from toolscale.language.mentions import lower_keeping_length
from toolscale.patterns import regex
from toolscale.records import Reply

_SENTENCE = regex(r"[^.?!;\n]+(?:\.(?=\w)[^.?!;\n]*)*[.?!;]*")
_ITEM = regex(r"\s*(?:[-*•·]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_MARKUP = regex(r"[*_`#>]+")
_BOLD = regex(r"\*\*|__|[`#>]+")

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
    sentences = list(_sentences(message))
    asking = [place for place, sentence in enumerate(sentences) if _is_asking(sentence, replies)]
    if not asking:
        return Inquiry(asks=False)
    found = {about for place in asking for about in _asked_in(sentences[place], replies)}
    if not any(_is_identity(reply) for reply in replies if reply.about in found) and any(
        WHO.search(sentences[place]) for place in asking
    ):
        found |= {reply.about for reply in replies if _is_identity(reply)}
    rows = {reply.about for reply in replies if reply.sort == "row"}
    if not found & rows and any(POINTS.search(sentences[place]) for place in asking):
        found |= _pointed_at(" ".join(sentences), replies)
    if not found and any(CHOICE.search(sentences[place]) for place in asking):
        found = {reply.about for reply in replies if reply.sort == "row" and reply.held}
    about = tuple(reply.about for reply in replies if reply.about in found)
    return Inquiry(True, about, not about and any(PERMISSION.search(sentences[place]) for place in asking))


def besides_questions(message: str) -> str:
    """Return what a message says, without the sentences that want an answer."""
    kept = []
    for line in message.split("\n"):
        said = [found[0] for found in _SENTENCE.finditer(line)]
        kept.append("".join(text for text in said if not _is_asking(lower_keeping_length(text).strip(), ())).strip())
    return "\n".join(line for line in kept if line)


def _sentences(message: str) -> Iterator[str]:
    """Yield the sentences of a message in lower case; the items of a list belong to the sentence before it."""
    joined: list[str] = []
    for marked in filter(str.strip, lower_keeping_length(message).split("\n")):
        item = _ITEM.match(_BOLD.sub("", marked))
        line = _MARKUP.sub("", marked) if item is None else _BOLD.sub("", marked)
        if item and joined and joined[-1].rstrip().endswith((":", ",")):
            joined[-1] = f"{joined[-1].rstrip().rstrip(':,')}: {line[item.end() :].strip().rstrip('.;')},"
        else:
            joined.append(line[item.end() :] if item else line)
    for line in joined:
        yield from (found[0].strip() for found in _SENTENCE.finditer(line) if found[0].strip())


def _is_asking(sentence: str, replies: Sequence[Reply]) -> bool:
    if DONE.search(sentence):
        return sentence.endswith("?") and not OFFER.search(sentence)
    if offer := OFFER.search(sentence):
        return WANTS.search(sentence[: offer.start()]) is not None and not sentence.endswith("?")
    identity = HINTS.search(sentence) and any(_pattern(r).search(sentence) for r in replies if _is_identity(r))
    return sentence.endswith("?") or WANTS.search(sentence) is not None or bool(identity)


def _is_identity(reply: Reply) -> bool:
    return reply.sort == "identity"


def _asked_in(sentence: str, replies: Sequence[Reply]) -> set[str]:
    identity = [reply for reply in replies if _is_identity(reply) and _pattern(reply).search(sentence)]
    taken = {word for reply in identity for words in reply.words for word in words.split()}
    bare = PURPOSE.sub(" ", sentence)
    rows = {
        reply.about
        for reply in replies
        if reply.sort == "row" and reply.words[0].split()[-1] not in taken and _pattern(reply).search(bare)
    }
    return {reply.about for reply in identity} | rows | _values_in(bare, replies, bool(rows))


def _values_in(sentence: str, replies: Sequence[Reply], headed: bool) -> set[str]:
    """Return the values that are asked for: by their name, else by their kind."""
    values = [reply for reply in replies if reply.sort == "value"]
    named = {reply.about for reply in values if _pattern(reply).search(sentence)}
    kinds = {kind for kind in OF_KIND if OF_KIND[kind].search(sentence)}
    by_name = {reply.kind for reply in values if reply.about in named}
    return named | {reply.about for reply in values if reply.kind in kinds and reply.kind not in by_name and not headed}


def _pointed_at(text: str, replies: Sequence[Reply]) -> set[str]:
    """Return the rows that *which one* means: what is held back, else those of the noun that was named last."""
    if held := {reply.about for reply in replies if reply.sort == "row" and reply.held}:
        return held
    named = [
        (max(found.start() for found in _noun(reply.words[0]).finditer(text)), reply.about)
        for reply in replies
        if reply.sort == "row" and _noun(reply.words[0]).search(text)
    ]
    return {about for at, about in named if at == max(named)[0]}


@lru_cache(maxsize=1024)
def _noun(noun: str) -> re.Pattern[str]:
    """A noun, or several of it."""
    last = noun.split()[-1]
    return regex(rf"\b(?:{re.escape(last)}(?:e?s)?|{re.escape(last.removesuffix('y'))}ies)\b")


def _pattern(reply: Reply) -> re.Pattern[str]:
    return _pattern_of(reply.sort, reply.words)


@lru_cache(maxsize=1024)
def _pattern_of(sort: str, words: tuple[str, ...]) -> re.Pattern[str]:
    """The words with which a thing is asked for: a noun behind *which*, or named as what is wanted."""
    if sort == "identity":
        word = words[0]
        if word.endswith("name"):
            return NAME
        return SAID_AS.get(word) or regex(rf"\b(?:{re.escape(word)}|{re.escape(word.split()[-1])})s?\b")
    if sort == "value":
        before = r"(?:which|what|new)" if words[0] in _OF_MANY else r"(?:which|what|new|the|exact|your)"
        return regex(rf"\b{before} (?:\w+ )?{re.escape(words[0])}s?\b")
    nouns = "|".join([_noun(words[0]).pattern, *(re.escape(word) for word in words[1:] if word not in _OF_MANY)])
    between = r"(?: (?!is|are|do|does|did|would|should|can|name|email|e)\w+){0,4}?"
    return either(
        rf"\b(?:which|what|whose|on which|for which)(?: of)?{between} (?:{nouns})",
        rf"\bthe (?:\w+ )?(?:{nouns}) (?:that|which|you|to be|in question|concerned|it)\b",
        rf"(?:[:,]|\band) (?:the|your) (?:{nouns})",
        rf"(?:{nouns})(?:'s)? (?:number|id|code|name|title|details)\b",
        rf"(?:{nouns}) (?:do|would|did) you (?:mean|want|like)\b",
        rf"\bthe (?:name|number|code|date) of the (?:{nouns})",
        rf"\bdigits of (?:the|your) (?:{nouns})",
    )
