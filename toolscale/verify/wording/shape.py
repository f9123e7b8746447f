"""The form of a request: short plain prose that a person types, and that speaks to a service and to no program."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

from toolscale.verify.wording.patterns import ALLOWED_MARKS, MARKUP, ROLE
from toolscale.verify.wording.reading import words_of
from toolscale.verify.wording.vocabulary import FORBIDDEN

LONGEST = 1_200
"""Characters of a request."""

SHORTEST = 12

LONGEST_WORD = 24


def unshapely(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the form of a text. `known`: words in small letters that the plan's own phrasings and
    values have, which may stand in it whatever they are."""
    if not SHORTEST <= len(text) <= LONGEST:
        yield f"it has {len(text)} characters; write {SHORTEST} to {LONGEST}"
        return
    odd = sorted({letter for letter in text if not _is_plain(letter)})
    if odd:
        yield f"it has the character {_named(odd[0])}; use letters, digits and plain marks"
    if found := MARKUP.search(text):
        yield f"it has markup, code or an address: {found[0].strip()!r}"
    if found := ROLE.search(text.lower()):
        yield f"it speaks to a program: {found[0].strip()!r}"
    words = [word for word in words_of(text.lower()) if word not in known]
    if speaking := next((word for word in words if word in FORBIDDEN), None):
        yield f"it speaks to a program: {speaking!r}"
    if long := next((word for word in words if len(word) > LONGEST_WORD), None):
        yield f"it has a word of {len(long)} letters: {long[:LONGEST_WORD]!r}"
    if text.count("\n\n\n") or text != text.strip():
        yield "it has empty lines or spaces around it"


def _is_plain(letter: str) -> bool:
    if letter in ALLOWED_MARKS or (letter.isascii() and letter.isalnum()):
        return True
    return letter.isalpha() and "LATIN" in unicodedata.name(letter, "")


def _named(letter: str) -> str:
    return unicodedata.name(letter, "").lower() or f"U+{ord(letter):04X}"
