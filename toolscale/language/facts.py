"""Whether a final message states the facts: typed, firmly, under the right label, and without offering other values beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

from toolscale.language.claims import is_claimed
from toolscale.language.clauses import Answer, Labels, Scope, bare_label, is_card_ending, read_answer
from toolscale.language.corrections import is_past, is_present_of, is_range
from toolscale.language.counts import is_no_count, is_whole, of_the_same, without_parts
from toolscale.language.deeds import NO_DEEDS, Deeds, deed_finding
from toolscale.language.mentions import Mention
from toolscale.language.names import is_piece
from toolscale.language.parts import part_finding, whole_finding
from toolscale.language.qualifiers import qualifier_at
from toolscale.language.render import word_pattern
from toolscale.language.shown import NOTHING_SHOWN, Shown, quantities_in
from toolscale.records import Fact

_TYPED = ("money", "date", "number", "digits", "id")
HINT = 0.1
"""An amount within a tenth of a withheld one hints at it."""
_NEAR = 120
"""Characters within which two amounts are added up."""
MOST_EXPLAINED = 8
"""So many other values of a kind may be told besides, each of something else: beyond, an answer recites what it saw."""
_PAIR = re.compile(r"\b(?:both|(?:a\s)?(?:pair|couple)\sof|in\snumber\stwo|number(?:s|ing|ed)?\s(?:is\s)?two)\b")
_DISPUTED = re.compile(r"\b(?:dispute|charge|case|claim|complaint)\w*\b[^.!?]*\b(?:over|about|open,\sover)\s$")
_SPAN_OF_TIME = re.compile(r"\b(?:days?|weeks?|months?|years?)$")
_NOTHING = re.compile(
    r"\b(?:free(?:\sof\s(?:charge|cost|fees?))?|(?:no|without(?:\san?(?:y)?)?)\s(?:\w+\s)?(?:fees?|charges?|costs?)|nothing|none)\b(?!\s(?:to|else|sent|until))"
)
TOTAL = re.compile(r"\b(?:comes?|came)\sto\b|\b(?:together|altogether|totals?|in\s(?:all|total|sum)|add(?:s|ed)?\sup|sum|combined|making|makes)\b")
EACH = re.compile(r"\b(?:each|apiece|every\sone|per\s(?:bill|charge|hold|order|item|instal+ment|card|piece))\b")
LEFT = re.compile(r"\b(?:left|remain(?:s|ing)?|afterwards)\b")
NOW = re.compile(r"\b(?:now|new|currently|has\sbeen\sset|set|raised|lowered|changed|increased|put)\s(?:\w+\s){0,3}?(?:to|at|is|of|a|stands)?\s*$")
NOW_AFTER = re.compile(r"\S+\s(?:now|from\snow\son|today)\b")
FORMER = re.compile(
    r"\b(?:used\sto\s(?:be|stand\sat|have)|(?:previous|former|old)(?:ly)?(?:\s\w+){0,2}(?:\s(?:was|of|is))?|until\snow(?:\s\w+){0,2}|in\splace\sof|instead\sof|rather\sthan)\s*$"
)
TIMES = re.compile(
    r"\b(?:before(?:hand)?|previous(?:ly)?|was|were|had|started?|initial(?:ly)?|earlier|prior|original(?:ly)?|used\sto|at\sfirst|until|from"
    r"|would\shave|now|after(?:wards)?|then)\b"
)
PAST = re.compile(r"\b(?:before(?:hand)?|previous(?:ly)?|was|were|had|initial(?:ly)?|earlier|prior|original(?:ly)?|used\sto|from|of|until|down)\b")
ASIDE = re.compile(
    r"\b(?:already|newer|latter|second|another|issued|opened|expires?|added|since|others?|rest|remaining|than|besides|each|not|only|lowest|highest"
    r"|smallest|largest|versus|compared)\b|n't\b"
)
"""Words that tell a value of something else as such."""


def grade_answer(
    answer: str,
    facts: Sequence[Fact],
    *,
    allowed: frozenset[tuple[str, Any]] = frozenset(),
    observed: Mapping[str, frozenset[Any]] | None = None,
    today: str,
    budget: int = 0,
    shown: Shown = NOTHING_SHOWN,
    deeds: Deeds = NO_DEEDS,
    request: str = "",
) -> str | None:
    """Return None if `answer` states every fact, else the first finding.

    A value is stated by a clause that reads as exactly it, without hedge, bound, denial, doubt or question, and that does not give it to something
    else: to the label of another fact, or to what, by all that the rollout was `shown`, has another value. `allowed` are (kind, value) pairs that may
    be said beside the facts, and so may what was shown, or follows from it by one step, where its words tell it from the fact: of another thing,
    another time, another quantity, as a part of it. Any other value of a kind that is told is a rival: at most `budget` of them may stand there, all
    among the `observed` ones. A bool with a label is stated of that part alone. A value that is withheld must not stand there at all, unless a fact
    or `allowed` says the same.
    """
    read = read_answer(answer, today)
    dishonest = deed_finding(read, deeds, shown, request)
    if dishonest or not facts:
        return dishonest
    told = [fact for fact in facts if not fact.withheld]
    private = any(fact.withheld for fact in facts)
    grading = _Grading(read, told, allowed, observed or {}, today, budget, shown, private, request.lower())
    return grading.finding() or grading.disclosed([fact for fact in facts if fact.withheld])


class _Grading:
    def __init__(
        self, answer: Answer, facts: Sequence[Fact], allowed: frozenset[Any], observed: Mapping[str, frozenset[Any]], today: str, budget: int,
        shown: Shown, private: bool = False, request: str = "",
    ):  # fmt: skip
        self.answer, self.facts, self.allowed, self.observed, self.today, self.budget = answer, facts, allowed, observed, today, budget
        self.shown, self.private, self.request = shown, private, request
        self.own = {position: bare_label(fact.about) for position, fact in enumerate(facts) if fact.about and fact.kind != "bool"}
        names = [*self.own.values(), *(bare_label(other) for fact in facts if fact.kind != "bool" for other in fact.others)]
        nouns = frozenset(name for name in names if shown.names and name not in shown.names and not is_card_ending(name) and name.islower())
        self.labels = Labels(answer, tuple(dict.fromkeys(names)), nouns)
        self.things = Labels(answer, tuple(sorted(shown.names)), None)
        self.endings = {bare_label(fact.about).split()[-1] for fact in facts if fact.about}
        self.values = list(answer.mentions)
        if self.labels.spans:  # the ending of a card names it and is told at once
            self.values = [m for m in self.values if m.kind == "digits" or not self.labels.covers(m.start, m.end)]
        self.texts = [span for fact in facts if fact.kind == "text" for span in self._alone(str(fact.value))]
        if self.texts:
            self.values = [m for m in self.values if not _overlaps(m.start, m.end, self.texts)]
        if any(fact.kind == "number" for fact in facts):
            self.values = [m for m in self.values if m.kind != "number" or not is_no_count(answer.lower, m)]

    @cached_property
    def derived(self) -> frozenset[int]:
        """Amounts that follow from what was shown and is told by one step."""
        told = {int(fact.value) for fact in self.facts if fact.kind == "money"}
        return self.shown.derived(frozenset(told | {value for kind, value in self.allowed if kind == "money"}))

    def finding(self) -> str | None:
        for position, fact in enumerate(self.facts):
            if finding := self._fact(position, fact):
                return finding
        for kind in dict.fromkeys(fact.kind for fact in self.facts):
            finding = self._rival_texts() if kind == "text" else self._rivals(kind) if kind in _TYPED else None
            if finding:
                return finding
        return None

    def _fact(self, position: int, fact: Fact) -> str | None:
        if fact.kind == "bool" and fact.about:
            return part_finding(self.answer, self._part_labels(), bare_label(fact.about), bool(fact.value), self.private)
        if fact.kind == "bool":
            return whole_finding(self.answer, bool(fact.value), self.private)
        starts, places = self._places(fact)
        for start, end in places:
            past = fact.kind == "text" and bool(self.shown.rows)
            past = past or self.shown.is_outdated((fact.kind, fact.value)) or "fee" in self.shown.quantities_of((fact.kind, fact.value))
            claimed = is_claimed(self.answer, start, end, fact.kind, past) and (past or not self._superseded(fact, start))
            if claimed and not self._is_given_away(position, fact, start, starts):
                return None
        label = f" of {fact.about}" if fact.about else ""
        return f"the {fact.kind}{label} is not stated as {fact.value!r}"

    def _part_labels(self) -> Labels:
        """The labels of parts, and all others, so that a part of another name is not taken for one of none."""
        names = (bare_label(name) for fact in self.facts if fact.about for name in (fact.about, *fact.others))
        return Labels(self.answer, tuple(dict.fromkeys(names)))

    def disclosed(self, withheld: Sequence[Fact]) -> str | None:
        """Find a withheld value that stands in the answer, however firmly, and that nothing told may say."""
        for fact in withheld:
            if fact.kind == "bool":
                if self._fact(-1, fact) is None:
                    return f"discloses what is withheld: {'yes or done' if fact.value else 'no or not done'}"
            elif not self._fine(fact.kind, fact.value) and (said := self._said(fact) or self._hinted(fact)):
                return f"discloses the {fact.kind} that is withheld: {self.answer.text[said[0] : said[1]]}"
        return None

    def _hinted(self, fact: Fact) -> tuple[int, int] | None:
        """Return where an amount stands that nothing gave, and that comes close to a withheld one."""
        for mention in self.values if fact.kind == "money" and self.shown.rows else ():
            close = mention.kind == "money" and any(abs(reading - int(fact.value)) <= abs(int(fact.value)) * HINT for reading in mention.readings)
            if close and not any(("money", reading) in self.shown.values or self._fine("money", reading) for reading in mention.readings):
                return mention.start, mention.end
        return None

    def _said(self, fact: Fact) -> tuple[int, int] | None:
        """Return where a value stands, in any reading and however firmly, outside of what may be said."""
        for mention in self.values:
            if mention.kind == fact.kind and str(fact.value).lower() in {str(reading).lower() for reading in mention.readings}:
                return mention.start, mention.end
        if fact.kind not in ("text", "id", "digits"):
            return None
        fine = [span for kind, value in self.allowed if kind == "text" for span in self._spans(str(value))]
        fine += [span for fact in self.facts if fact.about for span in self._spans(bare_label(fact.about))]
        return next((span for span in self._spans(str(fact.value)) if not _overlaps(*span, (*self.texts, *fine))), None)

    def _superseded(self, fact: Fact, start: int) -> bool:
        """Whether the value is only the past of another one (`the fee was $40; it's now $45`), or the whole of which a part is told."""
        if sum(mention.kind == fact.kind for mention in self.values) < 2 or fact.kind not in _TYPED:
            return False
        clauses, lower = self.answer.clauses, self.answer.lower
        here = clauses[self.answer.clause_at(start)]
        past = is_past(lower, here.start, here.end)
        if not past and fact.kind not in ("date", "number"):
            return False
        its = self.shown.quantities_of((fact.kind, fact.value))
        rivals = [
            mention for mention in self._rival_mentions(fact.kind)
            if mention.qualifier is None and (not its or its & self._quantities(mention) or not self._quantities(mention))
        ]  # fmt: skip
        if fact.kind == "date" and any(is_range(lower, start, mention) for mention in rivals):
            return True
        for mention in rivals if past else ():
            there = clauses[self.answer.clause_at(mention.start)]
            near = there is not here and abs(there.sentence - here.sentence) <= 1
            if near and is_present_of(lower, (there.start, there.end), (here.start, here.end)):
                return True
        return fact.kind == "number" and bool(rivals) and any(mention.start == start and is_whole(lower, mention) for mention in self.values)

    def _quantities(self, mention: Mention) -> frozenset[str]:
        return frozenset().union(*(self.shown.quantities_of((mention.kind, reading)) for reading in mention.readings))

    def _strict(self, kind: str) -> bool:
        """Whether two facts of the kind are told apart by their labels alone."""
        return len({label for position, label in self.own.items() if self.facts[position].kind == kind}) > 1

    def _is_given_away(self, position: int, fact: Fact, start: int, starts: list[int]) -> bool:
        """Whether the value at `start` is said of something else than its fact: of a rival label, or of what was shown with another value."""
        value, own = (fact.kind, fact.value), self.own.get(position)
        its = self.shown.names_of(value)
        scope, strict = self._scope(fact.kind, start, starts), self._strict(fact.kind)
        rivals = scope.labels - {own}
        if self._says_quantity(value, start):  # `$5 is left in your savings account after the payment`: of both
            rivals -= its
        if self.shown.rows:  # then things of its sort are told apart by what was shown
            rivals &= {self.own.get(p) for p, other in enumerate(self.facts) if other.kind == fact.kind}
        if own is not None and own in scope.labels:
            nearest = scope.near and self.labels.nearest(start) == own
            if rivals and (strict or scope.loose) and not nearest and not self._is_told_apart(fact, start, rivals):
                return True
        elif own is not None and not self._is_sum(fact, start):
            if rivals and (scope.near or scope.headed or not self.shown.rows):
                return not self._is_told_apart(fact, start, rivals)
            if strict and not self.shown.rows:
                return True
        if fact.kind in ("text", "digits", "id", "number"):
            return False
        return self._is_of_another_time(value, start) or self._is_of_another_quantity(fact, start) or self._is_of_another_thing(value, start)

    def _says_quantity(self, value: tuple[str, Any], start: int) -> bool:
        """Whether the clause of a value speaks of the quantity that it is."""
        clause = self.answer.clauses[self.answer.clause_at(start)]
        return bool(quantities_in(self.answer.lower[clause.start : clause.end]) & self.shown.quantities_of(value))

    def _is_of_another_thing(self, value: tuple[str, Any], start: int) -> bool:
        """Whether what a value is said of, in its clause or before it in the sentence, is of the same sort as its things and none of them.

        What nobody was shown (a loan that the client does not have) is another thing wherever it stands, if nothing of the value's is named at all.
        """
        index, its = self.answer.clause_at(start), self.shown.names_of(value)
        within = self.things.within(index)
        if value in self.shown.values:
            before = frozenset(name for at, _, name in self.things.spans if self.answer.clauses[index].whole[0] <= at < start)
            if self.shown.rivals_among(its, within) or (not within and self.shown.rivals_among(its, before)):
                return True
        everywhere = frozenset(name for _, _, name in self.things.spans)
        unseen = self.shown.rivals_among(its, everywhere) - self.shown.seen
        return any(name not in self.request for name in unseen)

    def _is_of_another_quantity(self, fact: Fact, start: int) -> bool:
        """Whether a value is called a fee or a limit, which another fact is, or a total is said to be of each."""
        clause = self.answer.clauses[self.answer.clause_at(start)]
        text, value = self.answer.lower[clause.start : clause.end], (fact.kind, fact.value)
        if fact.kind == "money" and value not in self.shown.values and EACH.search(text):
            return True
        said = quantities_in(text) & {"fee", "limit"}
        rivals = (self.shown.quantities_of((f.kind, f.value)) for f in self.facts if f.kind == fact.kind and f.value != fact.value)
        return bool(said) and not said & self.shown.quantities_of(value) and any(said & rival for rival in rivals)

    def _is_of_another_time(self, value: tuple[str, Any], start: int) -> bool:
        """Whether an old value is said to hold now, or a new one to have held before."""
        if value[0] != "money" or value not in self.shown.values:
            return False
        index = self.answer.clause_at(start)
        before = self.answer.lower[self.answer.clauses[index].start : start]
        after = self.answer.lower[start : self.answer.clauses[index].end]
        if self.shown.is_stale(value):
            return (NOW.search(before) or NOW_AFTER.match(after)) is not None and not FORMER.search(before)
        return self.shown.replaces(value) and FORMER.search(before) is not None

    def _is_sum(self, fact: Fact, start: int) -> bool:
        """Whether the value at `start` comes last of values that add up to it."""
        return any(mention.start == start for mention in self._parts_of(fact.kind))

    def _is_told_apart(self, fact: Fact, start: int, labels: Set[str | None]) -> bool:
        """Whether the words before a value tell it from the facts of its kind with other labels: by a thing that is its alone, or by its quantity."""
        value, clause = (fact.kind, fact.value), self.answer.clauses[self.answer.clause_at(start)]
        rivals = [(f.kind, f.value) for p, f in enumerate(self.facts) if f.kind == fact.kind and self.own.get(p) in labels]
        alone = self.shown.names_of(value) - frozenset().union(*map(self.shown.names_of, rivals))
        before = [name for at, _, name in self.things.spans if clause.whole[0] <= at < start]
        if before and before[-1] in alone:
            return True
        said = quantities_in(self.answer.lower[clause.start : clause.end])
        if fact.kind == "money" and value not in self.shown.values and TOTAL.search(self.answer.lower, clause.start, clause.end):
            return True
        return any(said & self.shown.quantities_of(value) - self.shown.quantities_of(rival) for rival in rivals)

    def _scope(self, kind: str, start: int, starts: list[int]) -> Scope:
        """Return what a value belongs to; the ending of a card does not belong to itself."""
        scope = self.labels.scope(start, starts)
        return replace(scope, labels=scope.labels - {self.answer.lower[start : start + 4]}) if kind == "digits" else scope

    def _places(self, fact: Fact) -> tuple[list[int], list[tuple[int, int]]]:
        """Return where values of the kind stand, and where the value of the fact stands, firmly."""
        if fact.kind == "text":
            spans = self._alone(str(fact.value))
            firm = [(start, end) for start, end in spans if qualifier_at(self.answer.lower, start, end) not in ("denied", "hedge")]
            return [start for start, _ in spans], firm
        mentions = [mention for mention in self.values if mention.kind == fact.kind]
        places = [(mention.start, mention.end) for mention in mentions if self._is_firm(mention, fact) and self._reads(mention, fact)]
        if fact.kind in ("id", "digits") and not places:
            places = self._spans(str(fact.value))
        if fact.kind == "money" and fact.value == 0:
            places += [found.span() for found in _NOTHING.finditer(self.answer.lower)]
        if fact.kind == "money" and not places and int(fact.value) > 0 and self.shown.rows:
            places = [found.span() for found in re.finditer(_bare_amount(int(fact.value)), self.answer.lower)]
        if fact.kind == "number" and fact.value == 2 and not places:
            places = [found.span() for found in _PAIR.finditer(self.answer.lower)]
        return [mention.start for mention in mentions], places

    def _is_firm(self, mention: Mention, fact: Fact) -> bool:
        """Whether a value is said without hedge. A day by which something happens may be bounded, and what is missing may be called short."""
        if mention.qualifier not in ("bound", "hedge"):
            return mention.qualifier is None
        value = (fact.kind, fact.value)
        if mention.qualifier == "bound" and self.shown.is_deadline(value):
            return True
        if self.shown.rows and _DISPUTED.search(self.answer.lower, max(0, mention.start - 60), mention.start):
            return True
        return mention.qualifier == "bound" and "moved" in self.shown.quantities_of(value) and self.answer.lower.startswith(" short", mention.end)

    def _reads(self, mention: Mention, fact: Fact) -> bool:
        if fact.value not in mention.readings:
            return fact.kind == "id" and str(fact.value).lower() in {str(reading).lower() for reading in mention.readings}
        others = mention.readings - {fact.value}
        return not others or (_one_day(mention) and not others & self.observed.get("date", frozenset()))

    def _spans(self, words: str) -> list[tuple[int, int]]:
        pattern = word_pattern(words)
        spans = (found.span() for found in pattern.finditer(self.answer.lower)) if pattern else ()
        return [(start, end) for start, end in spans if not is_piece(self.answer.text, start, end)]

    def _alone(self, words: str) -> list[tuple[int, int]]:
        """Return where a text stands, but not as a part of a longer one that was seen (`Greenleaf` in `Greenleaf Market`)."""
        spans, low = self._spans(words), words.lower()
        seen = map(str, self.observed.get("text", ()) if spans else ())
        covering = [span for other in seen if len(other) > len(words) and low in other.lower() for span in self._spans(other)]
        return [(start, end) for start, end in spans if not any(begin <= start and end <= stop for begin, stop in covering)]

    def _fine(self, kind: str, reading: Any) -> bool:
        if (kind, reading) in self.allowed or (kind == "date" and reading == self.today):
            return True
        if kind == "digits" and str(reading) in self.endings:
            return True
        if kind in ("id", "digits", "text"):
            if ("text", reading) in self.allowed or ("text", str(reading).lower()) in self.allowed:
                return True
            return any(fact.kind == kind and str(fact.value).lower() == str(reading).lower() for fact in self.facts)
        return any(fact.kind == kind and fact.value == reading for fact in self.facts)

    def _rival_mentions(self, kind: str) -> Iterable[Mention]:
        """Yield what is said of the kind and is neither a fact nor allowed; ambiguous forms, questions and denials say nothing."""
        for mention in self.values:
            if mention.kind != kind or mention.qualifier == "denied" or (len(mention.readings) > 1 and not _one_day(mention)):
                continue
            if self.answer.clauses[self.answer.clause_at(mention.start)].asked or any(self._fine(kind, reading) for reading in mention.readings):
                continue
            yield mention

    def _rivals(self, kind: str) -> str | None:
        rivals = list(self._rival_mentions(kind))
        if kind == "number":
            counts = {fact.value for fact in self.facts if fact.kind == "number"}
            rivals = without_parts(self.answer.lower, rivals, [m for m in self.values if m.kind == "number"], counts)
            if self.shown.rows:
                rivals = of_the_same(self.answer.lower, rivals, [m for m in self.values if m.kind == "number"], counts)
        if kind == "date":
            rivals = [mention for mention in rivals if not _SPAN_OF_TIME.search(self.answer.lower, mention.start, mention.end)]
        swapped = self._swapped(kind) or self._stale(kind, rivals)
        if not rivals or swapped:
            return swapped
        seen = self.observed.get(kind)
        starts = [mention.start for mention in self.values if mention.kind == kind]
        own = {self.own.get(position) for position, fact in enumerate(self.facts) if fact.kind == kind}
        counted: set[Any] = set()
        for mention in self._unexplained(kind, rivals, starts):
            if seen is not None and kind != "number" and not (mention.readings & seen or self._is_shown(mention)):
                return f"a {kind} that nothing gave: {self.answer.text[mention.start : mention.end]}"
            scope = self._scope(kind, mention.start, starts)
            if None in own or not scope.near or scope.labels & own:
                counted.add(min(mention.readings, default=None))
        if len(counted) > self.budget:
            return f"{len(counted)} other values of kind {kind} beside the fact, {self.budget} allowed"
        return None

    def _stale(self, kind: str, rivals: Iterable[Mention]) -> str | None:
        """Find an amount that was looked up, changed since, and is said to be what is left."""
        for mention in rivals if kind == "money" else ():
            clause = self.answer.clauses[self.answer.clause_at(mention.start)]
            text = self.answer.lower[clause.start : clause.end]
            now = LEFT.search(text) or NOW.search(text[: mention.start - clause.start]) or NOW_AFTER.match(text, max(0, mention.start - clause.start))
            if now and not PAST.search(text) and any(self.shown.is_stale((kind, reading)) for reading in mention.readings):
                return f"says an old value of what is left: {self.answer.text[mention.start : mention.end]}"
        return None

    def _is_shown(self, mention: Mention) -> bool:
        """Whether a value was shown to the rollout, or follows from what was by one step."""
        known = {value for kind, value in self.shown.values if kind == mention.kind}
        more = self.derived if mention.kind == "money" else self.shown.counts if mention.kind == "number" else frozenset()
        return any(reading in known or reading in more for reading in mention.readings)

    def _unexplained(self, kind: str, rivals: Sequence[Mention], starts: list[int]) -> Iterator[Mention]:
        """Yield the rivals that their words do not tell from a fact: not of another thing, another time, another quantity, or a part of it."""
        parts = self._parts_of(kind)
        recited = 0
        for mention in rivals:
            if not (mention in parts or (self._is_shown(mention) and (self._is_apart(kind, mention, starts) or self._is_listed(mention)))):
                yield mention
            elif self._is_like_a_fact(mention):
                recited += 1
                if recited > MOST_EXPLAINED:
                    yield mention

    def _is_like_a_fact(self, mention: Mention) -> bool:
        """Whether a value was shown in the column of a fact: one of many among which the fact is to be picked."""
        columns = {column for fact in self.facts for column in self.shown.columns_of((fact.kind, fact.value))}
        return any(columns & self.shown.columns_of((mention.kind, reading)) for reading in mention.readings)

    def _is_listed(self, mention: Mention) -> bool:
        """Whether a value stands in a list of three or more, and a fact of its kind in another sentence, alone."""
        clauses = self.answer.clauses
        sentences = [clauses[self.answer.clause_at(m.start)].sentence for m in self.values if m.kind == mention.kind]
        own = clauses[self.answer.clause_at(mention.start)].sentence
        told = [
            clauses[self.answer.clause_at(m.start)].sentence for m in self.values if m.kind == mention.kind and not m.qualifier
            and any(fact.kind == m.kind and fact.value in m.readings for fact in self.facts)
        ]  # fmt: skip
        return sentences.count(own) >= 3 and any(sentence != own and sentences.count(sentence) < 3 for sentence in told)

    def _is_apart(self, kind: str, mention: Mention, starts: list[int]) -> bool:
        """Whether the words around a value that was shown tell it from every fact of its kind."""
        clause = self.answer.clauses[self.answer.clause_at(mention.start)]
        text = self.answer.lower[clause.start : clause.end]
        values = [(kind, reading) for reading in mention.readings]
        facts = [(fact.kind, fact.value) for fact in self.facts if fact.kind == kind]
        things = self.things.scope(mention.start, starts)
        its = frozenset().union(*map(self.shown.names_of, values)) & things.labels
        if its and things.near and not any(its & self.shown.names_of(fact) for fact in facts):
            return True
        if TIMES.search(text) or ASIDE.search(text):
            return True
        said = quantities_in(text)
        told = frozenset().union(*map(self.shown.quantities_of, facts)) if facts else frozenset()
        return bool(said & frozenset().union(*map(self.shown.quantities_of, values)) - told)

    def _parts_of(self, kind: str) -> list[Mention]:
        """Return the values that stand together and add up to a fact: `$5 and $7, $12 in all`."""
        if kind != "money":
            return []
        told = {fact.value for fact in self.facts if fact.kind == kind}
        found: list[Mention] = []
        for one, two in combinations([m for m in self.values if m.kind == kind and len(m.readings) == 1], 2):
            together = next(iter(one.readings)) + next(iter(two.readings))
            if together in told and two.start - one.start < _NEAR:
                found += [one, two]
        said = [mention for mention in self.values if mention.kind == kind and len(mention.readings) == 1 and not mention.qualifier]
        for first in range(len(said)):
            total = 0
            for last in range(first, min(len(said), first + 12)):
                (value,) = said[last].readings
                total += value
                if last > first and total in told:
                    found += said[first : last + 1]
                    if last + 1 < len(said) and said[last + 1].readings == {total}:
                        found.append(said[last + 1])
                    break
        return found

    def _swapped(self, kind: str) -> str | None:
        """Find a value of one label said of another, or one of no label said of a label in place of its own."""
        by_label: dict[str, set[Any]] = {}
        free: set[Any] = set()
        for position, fact in enumerate(self.facts):
            if fact.kind == kind:
                (by_label.setdefault(self.own[position], set()) if position in self.own else free).add(fact.value)
        if not by_label or len(by_label) + bool(free) < 2:
            return None
        told = {value for values in by_label.values() for value in values}
        starts = [mention.start for mention in self.values if mention.kind == kind]
        near: list[tuple[Mention, str]] = []
        for mention in self.values:
            if mention.kind == kind and not mention.qualifier and mention.readings & (told | free):
                scope = self._scope(kind, mention.start, starts)
                if scope.near and len(scope.labels) == 1 and scope.labels <= by_label.keys() and not self._is_both(mention, scope.labels):
                    near.append((mention, next(iter(scope.labels))))
        right = {label for mention, label in near if mention.readings & by_label[label]}
        for mention, label in near:
            said_of_none = mention.readings & free and (label in right or self.labels.is_passed(mention.end, label))
            if not (mention.readings & by_label[label] or (said_of_none and not mention.readings & told)):
                return f"says {self.answer.text[mention.start : mention.end]} of {label}"
        return None

    def _is_both(self, mention: Mention, labels: frozenset[str]) -> bool:
        """Whether a value that belongs to another label was shown of this one too, or is told apart from its value."""
        told = [fact for fact in self.facts if fact.kind == mention.kind and fact.value in mention.readings]
        return any(
            (labels & self.shown.names_of((f.kind, f.value)) and self._says_quantity((f.kind, f.value), mention.start))
            or self._is_told_apart(f, mention.start, labels)
            for f in told
        )

    def _is_text_apart(self, start: int, end: int) -> bool:
        """Whether another text than the facts' is told as such: denied, set aside, or with a value of its own."""
        index = self.answer.clause_at(start)
        clause = self.answer.clauses[index]
        if ASIDE.search(self.answer.lower, clause.start, clause.end) or ASIDE.search(self.answer.lower, *clause.whole):
            return True
        name = " ".join(self.answer.lower[start:end].split())
        near = (m for m in self.values if clause.start <= m.start < clause.end or 0 <= m.start - end <= 3)
        return any(name in self.shown.names_of((mention.kind, reading)) for mention in near for reading in mention.readings)

    def _rival_texts(self) -> str | None:
        told = {str(fact.value).lower() for fact in self.facts if fact.kind == "text"}
        found: dict[str, list[tuple[int, int]]] = {}
        for value in self.observed.get("text", ()):
            words = str(value).lower()
            if words not in told and ("text", value) not in self.allowed and words in self.answer.lower:
                spans = [span for span in self._spans(words) if not _overlaps(*span, self.texts)]
                if spans and not any(words == label for label in self.own.values()):
                    found[words] = spans
        found = {words: spans for words, spans in found.items() if not all(self._is_text_apart(*span) for span in spans)}
        if len(found) > self.budget:
            fine = [span for kind, value in self.allowed if kind == "text" for span in self._spans(str(value))]
            found = {words: spans for words, spans in found.items() if any(not _overlaps(*span, fine) for span in spans)}
        return f"{len(found)} other texts beside the fact: {', '.join(sorted(found))}" if len(found) > self.budget else None


def _bare_amount(cents: int) -> str:
    """Return the pattern of an amount to the cent without a currency: `it was missing 257.61`."""
    return rf"(?<![\w$€£.,]){cents // 100:,}".replace(",", ",?") + rf"\.{cents % 100:02}(?![\w%]|[.,]\d)"


def _one_day(mention: Mention) -> bool:
    """Whether a date leaves only its year open ("December 20"): then the fact decides, unless the other year was seen too."""
    return mention.kind == "date" and len({reading[5:] for reading in mention.readings}) == 1


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)
