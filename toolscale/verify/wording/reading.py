"""A request as the rules read it: its values masked, its clauses, and what stands where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from toolscale.language.marks import MASK, Known, Mark, marks_of, masked
from toolscale.language.mentions import lower_keeping_length
from toolscale.patterns import regex
from toolscale.verify.wording.patterns import CONDITION, COURTESY, OPENING
from toolscale.verify.wording.vocabulary import ACTS, GOING_ON, STARTERS, WISHING

_SENTENCE = regex(r"(?<=[.!?])\s+|\n+|(?<=[a-z▢])[.!?](?=\s|$)")
_CLAUSE = regex(
    r"\s*(?:[,;:()—–]|\s-{1,2}\s|\s&\s)\s*|\b(?:and|but|then|because|since|while|plus|so|or|though|although|&)\b"
)
_TOKEN = regex(rf"{MASK}|[a-zà-öø-ÿ0-9]+(?:['’-][a-zà-öø-ÿ0-9]+)*|[?]")
_BARE = {
    "im": "i'm", "ive": "i've", "id": "i'd", "dont": "don't", "cant": "can't", "wont": "won't",
    "didnt": "didn't", "doesnt": "doesn't",
    "isnt": "isn't", "whats": "what's", "thats": "that's", "lets": "let's", "havent": "haven't",
    "wasnt": "wasn't", "couldnt": "couldn't",
    "pls": "please", "plz": "please", "thx": "thanks", "u": "you", "ur": "your", "r": "are", "bc": "because",
    "wanna": "want", "gonna": "going",
    "theres": "there's", "ill": "i'll", "youre": "you're", "hows": "how's", "wheres": "where's",
    "youll": "you'll", "itll": "it'll", "youve": "you've", "shes": "she's", "theyre": "they're",
    "wouldnt": "wouldn't", "arent": "aren't",
}  # fmt: skip


@dataclass(frozen=True)
class Clause:
    """A part of a sentence."""

    words: tuple[str, ...]
    names: frozenset[str]
    """Of the values that stand in it."""
    sentence: str
    """Masked, in small letters."""
    asked: bool
    """Whether its sentence ends with a question mark."""
    goes_on: bool
    """Whether a statement stands before it in its sentence."""

    @cached_property
    def is_statement(self) -> bool:
        """Whether it only states something, of who speaks or of what is pointed at: nothing in it is wished for."""
        if not self.words or self.asked or WISHING & set(self.words):
            return False
        first = self.words[0]
        return first in STARTERS or (
            self.goes_on and (first in GOING_ON or (first.endswith("ed") and first not in ACTS))
        )


@dataclass(frozen=True)
class Reading:
    """A request, read."""

    text: str
    """As written."""
    masked: str
    """In small letters, each value of the plan replaced by a box."""
    marks: tuple[Mark, ...]
    """In the order of the boxes."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return tuple(word for word in words_of(self.masked) if word not in (MASK, "?"))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words."""
        return frozenset(map(stem, self.words))

    @cached_property
    def boxes(self) -> tuple[int, ...]:
        """Where the boxes stand in `masked`."""
        return tuple(found.start() for found in re.finditer(MASK, self.masked))

    @cached_property
    def sentences(self) -> tuple[tuple[int, str], ...]:
        """(start in `masked`, sentence)."""
        found, start = [], 0
        for cut in (*_SENTENCE.finditer(self.masked), None):
            end = cut.end() if cut is not None else len(self.masked)
            stop = end if cut is None else max(cut.start(), start)
            piece = self.masked[start : max(stop, end) if cut is None else cut.end()]
            if piece.strip():
                found.append((start, piece.rstrip()))
            start = end
        return tuple(found)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses, in order."""
        made: list[Clause] = []
        for start, sentence in self.sentences:
            asked, position, goes_on = sentence.endswith("?"), 0, False
            for cut in (*_CLAUSE.finditer(sentence), None):
                stop = len(sentence) if cut is None else cut.start()
                words = tuple(word for word in words_of(sentence[position:stop]) if word != "?")
                if words:
                    names = self.names_between(start + position, start + stop)
                    clause = Clause(words, names, sentence, asked, goes_on)
                    goes_on = clause.is_statement
                    made.append(clause)
                position = stop if cut is None else cut.end()
        return tuple(made)

    def names_between(self, start: int, end: int) -> frozenset[str]:
        """The names of the values that stand between two places of `masked`."""
        return frozenset().union(
            *(mark.names for mark, at in zip(self.marks, self.boxes, strict=True) if start <= at < end)
        )

    def places(self, name: str) -> list[tuple[int, Mark]]:
        """Where a value stands in `masked`."""
        return [(at, mark) for mark, at in zip(self.marks, self.boxes, strict=True) if name in mark.names]

    def sentence_at(self, at: int) -> tuple[int, str]:
        """The sentence in which a place lies: its start, and its text."""
        return next(((start, text) for start, text in reversed(self.sentences) if start <= at), (0, self.masked))

    @cached_property
    def conditions(self) -> int:
        """How many words set a condition; those of courtesy do not."""
        return len(CONDITION.findall(COURTESY.sub(" ", self.masked)))

    @cached_property
    def opens_condition(self) -> bool:
        """Whether some words open a condition."""
        return OPENING.search(COURTESY.sub(" ", self.masked)) is not None


def read(text: str, known: Sequence[Known], today: str) -> Reading:
    """Read a request."""
    marks = marks_of(text, known, today)
    boxed = masked(lower_keeping_length(text), marks)
    return Reading(text, _ABBREVIATION.sub(lambda found: _BARE.get(found[0], found[0]), boxed), marks)


_ABBREVIATION = regex(r"(?<![\w'])[a-z]+(?![\w'])")


@lru_cache(maxsize=8192)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a masked text, boxes and question marks too."""
    return tuple(_TOKEN.findall(text.replace("’", "'")))


_DOUBLED = regex(r"([bdgmnprt])\1$")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a word without the endings of plural, tense and possession; rough, and the same for all forms of a regular
    word."""
    word = word.split("'")[0] if word.endswith(("'s", "'")) else word
    if word.endswith(("ee", "ees")):
        return word.removesuffix("s")
    for ending in ("ies", "ied"):
        if word.endswith(ending) and len(word) > 4:
            return word[: -len(ending)] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    word = _DOUBLED.sub(r"\1", word)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
