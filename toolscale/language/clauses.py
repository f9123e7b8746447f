"""An answer cut into sentences and clauses, never inside a value."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from toolscale.language.corrections import take_back
from toolscale.language.dates import MONTH_WORDS, WEEKDAYS
from toolscale.language.mentions import Mention, lower_keeping_length, mentions
from toolscale.language.tables import cell_at, dividers, numbers_rows
from toolscale.patterns import regex

_MARKUP = regex(r"</?[a-z][a-z0-9]*>|\*\*|__|`|\\(?=\$)|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
_POLITE_IF = regex(
    r"\bif\s+(?:i\s+may(?:\s+(?:say|add|repeat|mention|put)(?:\s+(?:so|it|this|that))?(?:\s+(?:so|here|again))?)?"
    r"|you(?:'ll|\s+will|'d|\s+would)?\s+(?:allow|permit|forgive|excuse|pardon|be\s+so\s+(?:kind|good))(?:\s+me)?(?:\s+to\s+\w+)?(?:\s+(?:it|this|that))?"
    r"|you(?:\s+would|'d)?\s+(?:like|wish|want)\s+to\s+(?:know|note)(?:\s+it)?|you\s+don't\s+mind)\b",
    re.IGNORECASE,
)
"""A condition in form only: it makes nothing doubtful, and is taken out."""
_MASKED_CARD = regex(r"[*•·]{3,}\s?(?=\d{4})")
_MARKS = regex(r"[<*_`\\•·]")
_STOP = regex(r"[.!?](?<=[A-Za-z\d].)(?=\s+[A-Z])")
_LAST_WORD = regex(r"(?:(?P<marker>(?:^|\n)[ \t>]*\d{1,2})|(?P<word>[A-Za-z]{3,}|\d))$")
_ABBREVIATIONS = frozenset(
    (
        *MONTH_WORDS,
        *(name[:3] for name in WEEKDAYS),
        "tues",
        "thur",
        "thurs",
        "weds",
        "approx",
        "est",
        "min",
        "max",
        "number",
    )
)
_CUT = regex(
    r"(?P<sentence>[.!?]+(?=[\s)\"'”]|$)|\n+)|[;|()]|,(?=\s)|\s[-–—]{1,2}\s|—"
    r"|\s(?:and|but|while|whereas|although|though|versus|vs\.?|compared with|compared to)(?=\s)"
)
_ASKING = regex(
    r"\W*(?:is|was|are|were|am|did|do|does|can|could|would|will|shall|should|may|might|have|has|had|what|which|how|who|whose|when|where|why)\b"
)
_UNSURE = regex(
    r"\b(?:not (?:\w+ )?(?:sure|certain)|unsure|i guess|"
    r"i think(?! you(?:'ll| will) (?:be (?:\w+ )?(?:pleased|happy|glad|delighted|relieved)|like|love)\b)|"
    r"i suppose|maybe|perhaps|probably|possibly|presumably|might be|could be|may be|"
    r"i believe|i assume|supposedly|no idea"
    r"|don't know|do not know|(?:can't|cannot) (?:confirm|say|tell|verify)|not true|"
    r"wrong|incorrect|is it true|unclear)\b"
)
_SUPPOSED = regex(
    r"\W*(?:(?:and|but|or|so|only|even|for example|say)\W+)*"
    r"(?:if|unless|assuming|suppose|supposing|imagine|in case|whether)\b"
)


class Clause(NamedTuple):
    """A stretch of the text. `whole`: the sentence that it is in, as a stretch; `asked`: nothing that stands in it is
    claimed."""

    start: int
    end: int
    sentence: int
    whole: tuple[int, int]
    asked: bool


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A final message, read once: two readings are the same if they are one object."""

    text: str
    lower: str
    mentions: tuple[Mention, ...]
    clauses: tuple[Clause, ...]
    starts: tuple[int, ...]
    dividers: tuple[tuple[int, int], ...]
    """Where the lines stand that part the headers of tables from their rows."""
    _firm: dict[int, bool] = field(default_factory=dict)
    """Start of a clause -> whether it is firm."""

    @property
    def sentences(self) -> Iterator[range]:
        """The indices of the clauses of each sentence."""
        begin = 0
        for index, clause in enumerate(self.clauses):
            if clause.sentence != self.clauses[begin].sentence:
                yield range(begin, index)
                begin = index
        if self.clauses:
            yield range(begin, len(self.clauses))

    def clause_at(self, position: int) -> int:
        """The index of the clause in which a position lies."""
        return max(bisect_right(self.starts, position) - 1, 0)

    def is_firm(self, clause: Clause) -> bool:
        """Whether what stands in a clause is claimed, not asked, supposed or doubted."""
        if (firm := self._firm.get(clause.start)) is None:
            begin, end = clause.whole
            unsure = clause.asked or is_unsure(self.lower[begin:end])
            firm = self._firm[clause.start] = not (unsure or _SUPPOSED.match(self.lower, clause.start, clause.end))
        return firm


_NONE_MAY = regex(r"\bno\s(?:\w+\s){1,3}(?:may|can|could)\sbe\b")
"""What is not allowed, which nobody doubts."""


@lru_cache(maxsize=4096)
def is_unsure(sentence: str) -> bool:
    """Whether a sentence, in lower case, says that its writer does not know."""
    return _UNSURE.search(_NONE_MAY.sub(" ", sentence)) is not None


@lru_cache(maxsize=512)
def read_answer(answer: str, today: str) -> Answer:
    """Take off markup, find the values, and cut the text into clauses."""
    text = _MARKUP.sub("", _MASKED_CARD.sub("ending in ", answer)) if _MARKS.search(answer) else answer
    text = _POLITE_IF.sub(lambda found: " " * len(found[0]), text) if "if" in text.lower() else text
    lower = lower_keeping_length(text)
    read, joined = _read_stretches(text, today)
    found = take_back(lower, read)
    lines = dividers(lower)
    if lines:
        found = tuple(m for m in found if m.kind not in ("number", "marker") or not _numbers_a_row(lower, m, lines))
    clauses = joined if joined is not None and found == read else tuple(clauses_of(lower, found))
    return Answer(text, lower, found, clauses, tuple([clause.start for clause in clauses]), lines)


def _numbers_a_row(lower: str, mention: Mention, lines: tuple[tuple[int, int], ...]) -> bool:
    """Whether a number stands in the column of a table that only numbers its rows."""
    cell = cell_at(lower, mention.start, lines)
    return cell is not None and numbers_rows(lower, cell)


def _read_stretches(text: str, today: str) -> tuple[tuple[Mention, ...], tuple[Clause, ...] | None]:
    """Read each stretch for itself: many answers differ in one sentence only. Without clauses if one of the stretches
    does not end with a sentence."""
    found: tuple[Mention, ...] = ()
    clauses: tuple[Clause, ...] = ()
    at = 0
    pieces, whole = stretches(text), True
    for place, stretch in enumerate(pieces):
        is_last = place + 1 == len(pieces)
        read = _stretch_at(stretch, today, at, len(clauses), is_last)
        found, clauses = found + read.mentions, clauses + read.clauses
        whole = whole and (is_last or read.is_whole)
        at += len(stretch)
    return found, clauses if whole else None


class _Stretch(NamedTuple):
    """What was read in a stretch of a text. `is_whole`: it ends where a sentence ends."""

    mentions: tuple[Mention, ...]
    clauses: tuple[Clause, ...]
    is_whole: bool


@lru_cache(maxsize=4096)
def _stretch_at(stretch: str, today: str, at: int, before: int, is_last: bool) -> _Stretch:
    """Read a stretch that begins at a place of a text, after so many clauses."""
    found, clauses, is_whole = _read_stretch(stretch, today)
    if is_whole and not is_last:
        clauses = clauses[:-1]  # the empty one after the last stop
    if not at:
        return _Stretch(found, clauses, is_whole)
    moved = [Mention(m.kind, m.readings, m.qualifier, m.start + at, m.end + at) for m in found]
    later = [
        Clause(c.start + at, c.end + at, c.sentence + before, (c.whole[0] + at, c.whole[1] + at), c.asked)
        for c in clauses
    ]
    return _Stretch(tuple(moved), tuple(later), is_whole)


@lru_cache(maxsize=4096)
def _read_stretch(stretch: str, today: str) -> _Stretch:
    found = mentions(stretch, today)
    clauses = tuple(clauses_of(lower_keeping_length(stretch), found))
    last = clauses[-1]
    is_whole = len(clauses) > 1 and last.start == last.end and last.sentence > clauses[-2].sentence
    return _Stretch(found, clauses, is_whole)


def stretches(text: str) -> list[str]:
    """Cut a text where one sentence surely ends and another begins: what is read in one stretch does not depend on the
    others.

    No pattern of a value, and no word around one that hedges or denies it, reaches across a full stop and a space
    before a capital letter, unless the full stop belongs to an abbreviation (`approx. USD 5`, `Fri. March 20`) or to
    the number of a list (`1. Paid`).
    """
    cuts = [stop.end() for stop in _STOP.finditer(text) if _is_sure_end(text[max(0, stop.start() - 16) : stop.start()])]
    return [text[start:end] for start, end in pairwise((0, *cuts, len(text)))] if cuts else [text]


@lru_cache(maxsize=4096)
def _is_sure_end(before: str) -> bool:
    word = _LAST_WORD.search(before)
    return word is not None and word["marker"] is None and word["word"].lower() not in _ABBREVIATIONS


def clauses_of(lower: str, found: tuple[Mention, ...]) -> list[Clause]:
    """Cut a text in lower case into clauses, never inside a value that was found in it."""
    pieces: list[tuple[int, int]] = []
    clauses: list[Clause] = []
    start = next_mention = 0
    for cut in _CUT.finditer(lower):
        position = cut.start()
        while next_mention < len(found) and found[next_mention].end <= position:
            next_mention += 1
        if next_mention < len(found) and found[next_mention].start <= position:
            continue
        pieces.append((start, position))
        start = cut.end()
        if cut["sentence"] is not None:
            clauses += _sentence(lower, pieces, len(clauses), "?" in cut[0])
            pieces = []
    pieces.append((start, len(lower)))
    return clauses + _sentence(lower, pieces, len(clauses), False)


def _sentence(lower: str, pieces: list[tuple[int, int]], number: int, question: bool) -> list[Clause]:
    begin, end = pieces[0][0], pieces[-1][1]
    asks = question and _ASKING.match(lower, begin, end) is not None
    return [Clause(start, stop, number, (begin, end), asks or (question and stop == end)) for start, stop in pieces]
