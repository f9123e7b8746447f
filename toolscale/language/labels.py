"""The labels of facts in an answer: where they stand, and which of them a value belongs to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from toolscale.language.clauses import Answer
from toolscale.language.mentions import lower_keeping_length
from toolscale.language.proper_names import is_piece
from toolscale.language.tables import cell_at
from toolscale.patterns import regex

_COUNTED = regex(r"\d+(?:st|nd|rd|th)?\s")
"""A number that counts what follows."""
_WORD = regex(r"\w+")
_SHORTENED = (" account", " loan", " bill", " card", " order")
"""People leave these out: `your savings`, `from checking`."""
_UNLIKE = regex(
    r"\b(?:not|unlike|instead\s+of|rather\s+than|other\s+than|except(?:\s+for)?)\s+(?:(?:in|from|for|to|on|of)\s+)?(?:(?:your|the|my)\s+)?$"
)
_WHICH = regex(r"(?:\s+\w+)?,?\s+(?:which|whose|where|who|that)\b")
_POINTS_BACK = regex(r"\b(?:there|it|its|here)\b")
_RELATIVE = regex(r"\W*(?:which|that|where|whose|and it)\b")
_PASSED = regex(r"\b(?:from|to|into|out\s+of|off|against)\s+(?:(?:your|my|the)\s+)?$")


@dataclass(frozen=True, slots=True)
class LabelScope:
    """The labels to which a value belongs. `near`: said in its own sentence; `loose`: taken over from a sentence that
    names several."""

    labels: frozenset[str]
    near: bool
    loose: bool
    headed: bool = False
    """Taken over from a heading."""


_HEADING_WORDS = 6

NOWHERE = LabelScope(frozenset(), False, False)


class Labels:
    """Where the labels of facts stand in an answer, longest first, so that "joint savings" is no "savings"."""

    def __init__(self, answer: Answer, spans: list[tuple[int, int, str]]):
        self.answer, self.spans = answer, spans
        self._by_clause: dict[int, list[tuple[int, str]]] = {}
        for start, _, label in spans:
            self._by_clause.setdefault(answer.clause_at(start), []).append((start, label))

    @cached_property
    def everywhere(self) -> frozenset[str]:
        """The labels that stand anywhere in the answer."""
        return frozenset(label for _, _, label in self.spans)

    def covers(self, start: int, end: int) -> bool:
        """Whether a label covers (a part of) the stretch: a figure in a label is no value."""
        return any(start < stop and begin < end for begin, stop, _ in self.spans)

    def scope(self, position: int, values: list[int]) -> LabelScope:
        """Return the labels of the value at `position`; `values` are the positions of all values of its kind."""
        index = self.answer.clause_at(position)
        sentence = self.answer.clauses[index].sentence
        if self.answer.dividers and self.spans and (headed := self._headed(position)):
            return LabelScope(headed, True, False)
        if paired := self._paired(position, sentence, values):
            return LabelScope(frozenset((paired,)), True, False)
        own = self._by_clause.get(index)
        if own:
            clause = self.answer.clauses[index]
            several = len({label for _, label in own}) > 1 and sum(clause.start <= at < clause.end for at in values) > 1
            counted = _COUNTED.match(self.answer.lower, position) if several else None
            if counted and (noun := next((label for at, label in own if at == counted.end()), None)):
                return LabelScope(frozenset((noun,)), True, False)  # 22 points, 1st place
            return LabelScope(
                frozenset((_nearest(own, position),)) if several else frozenset(label for _, label in own), True, False
            )
        return self._inherited(index, sentence, values)

    def within(self, index: int) -> frozenset[str]:
        """The labels that stand in a clause."""
        return frozenset(label for _, label in self._by_clause.get(index, ()))

    def nearest(self, position: int) -> str | None:
        """Return the one label of the clause at `position` that stands nearest before it, or else first after it."""
        own = self._by_clause.get(self.answer.clause_at(position))
        return _nearest(own, position) if own else None

    def is_passed(self, end: int, label: str) -> bool:
        """Whether what ends at `end` only comes from the label or goes there: `the $3 were taken from your savings`."""
        following = next((start for start, _, own in self.spans if start >= end and own == label), None)
        return following is not None and _PASSED.search(self.answer.lower, end, following) is not None

    def _headed(self, position: int) -> frozenset[str]:
        """Return the labels in the header above a cell whose row has none."""
        cell = cell_at(self.answer.lower, position, self.answer.dividers)
        if cell is None or any(cell.row[0] <= start < cell.row[1] for start, _, _ in self.spans):
            return frozenset()
        return frozenset(label for start, _, label in self.spans if cell.head[0] <= start < cell.head[1])

    def _inherited(self, index: int, sentence: int, values: list[int]) -> LabelScope:
        clauses, lower = self.answer.clauses, self.answer.lower
        this = clauses[index]
        if lower[this.end : this.end + 1] == "(" and index + 1 in self._by_clause:
            return LabelScope(frozenset(label for _, label in self._by_clause[index + 1]), True, False)  # $5 (savings)
        for before in range(index - 1, -1, -1):
            if clauses[before].sentence != sentence:
                break
            if own := self._by_clause.get(before):
                labels = own[-1:] if _RELATIVE.match(lower, this.start) else own
                named = frozenset(label for _, label in labels)
                return LabelScope(named, True, len(named) > 1)
        for after in range(index + 1, len(clauses) if not _POINTS_BACK.search(lower, this.start, this.end) else 0):
            if clauses[after].sentence != sentence or any(
                clauses[after].start <= at < clauses[after].end for at in values
            ):
                break
            if after in self._by_clause:
                return LabelScope(frozenset(label for _, label in self._by_clause[after]), True, False)
        last = max((at for at in self._by_clause if at < index), default=None)
        if last is None:
            return NOWHERE
        named = frozenset(
            label
            for at, own in self._by_clause.items()
            if clauses[at].sentence == clauses[last].sentence
            for _, label in own
        )
        return LabelScope(named, False, len(named) > 1, self._heads(last, this.start))

    def _heads(self, index: int, position: int) -> bool:
        """Whether the sentence of a clause is a heading for a position: a few words at the beginning of a line, and no
        blank line between."""
        begin, end = self.answer.clauses[index].whole
        lower = self.answer.lower
        if lower[:begin].rstrip(" #*->").rpartition("\n")[2].strip() and begin:
            return False
        return len(lower[begin:end].split()) <= _HEADING_WORDS and "\n\n" not in lower[end:position].strip("\n")

    def _paired(self, position: int, sentence: int, values: list[int]) -> str | None:
        """Return the label of a value where a list of labels stands before or after a list of values (`A and B hold $5
        and $10`), else None. Where the lists differ in length, it is a label that no fact has."""
        clauses = self.answer.clauses
        labels = [
            spot
            for index, own in sorted(self._by_clause.items())
            if clauses[index].sentence == sentence
            for spot in own
        ]
        if len({label for _, label in labels}) < 2:
            return None
        here = [at for at in values if clauses[self.answer.clause_at(at)].sentence == sentence]
        if len(here) < 2 or not (max(here) < labels[0][0] or labels[-1][0] < min(here)):
            return None
        return labels[here.index(position)][1] if len(here) == len(labels) and position in here else "\n"


def labels_in(answer: Answer, labels: tuple[str, ...], nouns: frozenset[str] = frozenset()) -> Labels:
    """Find labels in an answer. `nouns`: common nouns among them (`bill`), which go with a name before them (`two
    Kestrel Alarm bills`)."""
    pattern, short = _labels_with_short_forms(labels)
    found = _label_spans(answer, pattern, nouns) if pattern else ()
    return Labels(answer, [(start, end, short.get(label, label)) for start, end, label in found])


def _label_spans(answer: Answer, pattern: re.Pattern[str], nouns: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where labels stand.

    A label that is ruled out (`not your joint account`) is left out. Two in a row (`joint savings`), and a piece of a
    longer name, are the label of something else.
    """
    last: tuple[int, int, str] | None = None
    for found in pattern.finditer(answer.lower):
        start, end = found.span()
        if _is_other_figure(answer, found):
            continue
        if _UNLIKE.search(answer.lower, max(0, start - 24), start) and not _WHICH.match(answer.lower, end):
            continue
        if last and not answer.lower[last[1] : start].strip(" "):
            last = last[0], end, last[2] if found["label"] in nouns else answer.lower[last[0] : end]
            continue
        if last:
            yield last
        label = " ".join(found["label"].split())
        last = start, end, f"{label}\n" if is_piece(answer.text, start, end) else label
    if last:
        yield last


class Forms:
    """How names may be written, by their first word; a form may lack the noun, or be its plural. Only the words that a
    message has are looked up, so that there can be many names."""

    def __init__(self, names: Collection[str]):
        self._names = names
        self.by_word: dict[str, list[str]] = {}
        """First word -> the names of which some form begins with it."""
        self._found: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            for word in _first_words(name):
                self.by_word.setdefault(word, []).append(name)

    def beginning(self, word: str) -> list[tuple[str, str]]:
        """Return (form, name) of the names that begin with a word, longest first."""
        found = self._found.get(word)
        if found is None:
            found = self._found[word] = self._forms(word)
        return found

    def _forms(self, word: str) -> list[tuple[str, str]]:
        whole, short = dict[str, str](), dict[str, str]()
        for name in sorted(self.by_word[word]):  # what is written alike is the last of its names
            plural, without = _other_forms(name)
            whole[name] = whole[plural] = name
            if without is not None and without not in self._names:
                short[without] = name
        return sorted([form for form in (whole | short).items() if _first_word(form[0]) == word], key=_longest_first)


def names_in(answer: Answer, forms: Forms) -> Labels:
    """Find names in an answer, the longest first at each place. Only words with which some name begins are looked at,
    so that many names can be looked for."""
    return Labels(answer, list(_named(answer, forms)))


def _named(answer: Answer, forms: Forms) -> Iterator[tuple[int, int, str]]:
    end, lower = 0, answer.lower
    for word in _WORD.finditer(lower):
        if word[0] not in forms.by_word or word.start() < end:
            continue
        for form, name in forms.beginning(word[0]):
            stop = word.start() + len(form)
            whole = lower.startswith(form, word.start()) and not lower[stop : stop + 1].isalnum()
            if whole and not (is_card_ending(form) and _is_figure(answer, word.start(), stop)):
                end = stop
                yield word.start(), stop, name
                break


@lru_cache(maxsize=16384)
def _first_words(name: str) -> tuple[str, ...]:
    """Return the first words of all forms of a name: two, where it is one word that has a plural."""
    plural, without = _other_forms(name)
    words = (_first_word(form) for form in (name, plural, without) if form is not None)
    return tuple(dict.fromkeys(filter(None, words)))


@lru_cache(maxsize=16384)
def _other_forms(name: str) -> tuple[str, str | None]:
    """Return the plural of a name, and the name without its noun where people leave that out."""
    return f"{name}s", name.rsplit(" ", 1)[0] if name.endswith(_SHORTENED) else None


def _longest_first(form: tuple[str, str]) -> tuple[int, str]:
    return -len(form[0]), form[0]


@lru_cache(maxsize=16384)
def _first_word(form: str) -> str | None:
    word = _WORD.match(form)
    return word[0] if word else None


def _is_other_figure(answer: Answer, spot: re.Match[str]) -> bool:
    """Whether digits that look like the ending of a card are (part of) an amount, a date or another value."""
    return is_card_ending(spot[0]) and _is_figure(answer, *spot.span())


def _is_figure(answer: Answer, start: int, end: int) -> bool:
    """Whether a stretch is (part of) a value that is no ending of a card."""
    return any(
        m.kind not in ("digits", "number", "marker") and m.start < end and start < m.end for m in answer.mentions
    )


def is_card_ending(label: str) -> bool:
    """Whether a label is the last four digits of a card."""
    return len(label) == 4 and label.isascii() and label.isdigit()


def _nearest(own: list[tuple[int, str]], position: int) -> str:
    before = [label for at, label in own if at < position]
    return before[-1] if before else own[0][1]


@lru_cache(maxsize=256)
def _labels_with_short_forms(labels: tuple[str, ...]) -> tuple[re.Pattern[str] | None, dict[str, str]]:
    short = {label.rsplit(" ", 1)[0]: label for label in labels if label.endswith(_SHORTENED)}
    short = {form: label for form, label in short.items() if form not in labels}
    return _label_pattern((*labels, *short)), short


@lru_cache(maxsize=16384)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    texts = [
        r"\s+".join(map(re.escape, label.split()))
        for label in sorted(set(labels), key=lambda label: (-len(label), label))
        if label
    ]
    return regex(rf"(?<!\w)(?P<label>{'|'.join(texts)})(?:e?s)?(?!\w)") if texts else None


@lru_cache(maxsize=16384)
def bare_label(label: str) -> str:
    """Return a label without a leading possessive or article, in lower case."""
    words = lower_keeping_length(label).split()
    return " ".join(
        words[1:] if len(words) > 1 and words[0] in ("my", "your", "the", "his", "her", "their", "our") else words
    )
