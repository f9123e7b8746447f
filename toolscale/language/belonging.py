"""Whether a value that stands in a message is said of its fact, or given to something else: another label, thing,
quantity or time."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from toolscale.language.corrections import is_past, is_present_of, is_range
from toolscale.language.counts import is_whole
from toolscale.language.message import Message
from toolscale.language.shown import quantities_in
from toolscale.patterns import regex
from toolscale.records import Fact

_TYPED = ("money", "date", "time", "duration", "number", "digits", "id")

TOTAL = regex(
    r"\b(?:comes?|came)\sto\b|\b(?:together|altogether|totals?|in\s(?:all|total|sum)|add(?:s|ed)?\sup|sum|combined|making|makes)\b"
)

EACH = regex(r"\b(?:each|apiece|every\sone|per\s(?:bill|charge|hold|order|item|instal+ment|card|piece))\b")

NOW = regex(
    r"\b(?:now|new|currently|at\spresent|from\snow\son"
    r"|has\sbeen\sset|set|raised|lowered|changed|increased|put)\s(?:\w+\s){0,3}?(?:to|at|is|of|a|stands)?\s*$"
)

NOW_AFTER = regex(r"\S+\s(?:now|from\snow\son|today)\b")

FORMER = regex(
    r"\b(?:used\sto\s(?:be|stand\sat|have)|(?:previous|former|old)(?:ly)?(?:\s\w+){0,2}(?:\s(?:was|of|is))?|formerly|before(?:hand)?:|until\snow(?:\s\w+){0,2}|in\splace\sof|instead\sof|rather\sthan)\s*$"
)


class Belonging(Message):
    """What the values of a message are said of."""

    def _is_given_away(self, position: int, fact: Fact, start: int, starts: list[int]) -> bool:
        """Whether the value at `start` is said of something else than its fact: of a rival label, or of what was shown
        with another value."""
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
        return (
            self._is_of_another_time(value, start)
            or self._is_of_another_quantity(fact, start)
            or self._is_of_another_thing(value, start)
        )

    def _is_of_another_thing(self, value: tuple[str, Any], start: int) -> bool:
        """Whether a value is said of another thing of the same sort as its own things. What counts is the things named
        in its clause, or else those before it in the sentence.

        A thing that was never shown (a loan that the client does not have) counts wherever the message names it, if the
        message names none of the value's own things and the request does not name it.
        """
        if not self.things.spans:
            return False
        index, its = self.answer.clause_at(start), self.shown.names_of(value)
        within = self.things.within(index)
        if value in self.shown.values:
            before = frozenset(
                name for at, _, name in self.things.spans if self.answer.clauses[index].whole[0] <= at < start
            )
            if self.shown.rivals_among(its, within) or (not within and self.shown.rivals_among(its, before)):
                return True
        unseen = self.shown.rivals_among(its, self.things.everywhere) - self.shown.seen
        return any(name not in self.request for name in unseen)

    def _is_of_another_quantity(self, fact: Fact, start: int) -> bool:
        """Whether a value that is no fee (or limit) is called one while another fact is one, or a total is said to be
        of each."""
        clause = self.answer.clauses[self.answer.clause_at(start)]
        text, value = self.answer.lower[clause.start : clause.end], (fact.kind, fact.value)
        if fact.kind == "money" and value not in self.shown.values and EACH.search(text):
            return True
        said = quantities_in(text) & {"fee", "limit"}
        rivals = (
            self.shown.quantities_of((f.kind, f.value))
            for f in self.facts
            if f.kind == fact.kind and f.value != fact.value
        )
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
        """Whether the words before a value tell it from the facts of its kind with other labels: by a thing that only
        this value has, or by its quantity."""
        value, clause = (fact.kind, fact.value), self.answer.clauses[self.answer.clause_at(start)]
        rivals = [
            (f.kind, f.value) for p, f in enumerate(self.facts) if f.kind == fact.kind and self.own.get(p) in labels
        ]
        alone = self.shown.names_of(value) - frozenset().union(*map(self.shown.names_of, rivals))
        before = [name for at, _, name in self.things.spans if clause.whole[0] <= at < start]
        if before and before[-1] in alone:
            return True
        said = quantities_in(self.answer.lower[clause.start : clause.end])
        if (
            fact.kind == "money"
            and value not in self.shown.values
            and TOTAL.search(self.answer.lower, clause.start, clause.end)
        ):
            return True
        return any(said & self.shown.quantities_of(value) - self.shown.quantities_of(rival) for rival in rivals)

    def _superseded(self, fact: Fact, start: int) -> bool:
        """Whether the value is only the former value of another one (`the fee was $40; it's now $45`), one end of a
        span of dates, or the whole in `2 of your 3`."""
        if sum(mention.kind == fact.kind for mention in self.values) < 2 or fact.kind not in _TYPED:
            return False
        clauses, lower = self.answer.clauses, self.answer.lower
        here = clauses[self.answer.clause_at(start)]
        past = is_past(lower, here.start, here.end)
        if not past and fact.kind not in ("date", "time", "number"):
            return False
        its = self.shown.quantities_of((fact.kind, fact.value))
        rivals = [
            mention
            for mention in self._rival_mentions(fact.kind)
            if mention.qualifier is None
            and (not its or its & self._quantities(mention) or not self._quantities(mention))
        ]
        if fact.kind in ("date", "time") and any(is_range(lower, start, mention) for mention in rivals):
            return True
        for mention in rivals if past else ():
            there = clauses[self.answer.clause_at(mention.start)]
            near = there is not here and abs(there.sentence - here.sentence) <= 1
            if near and is_present_of(lower, (there.start, there.end), (here.start, here.end)):
                return True
        return (
            fact.kind == "number"
            and bool(rivals)
            and any(mention.start == start and is_whole(lower, mention) for mention in self.values)
        )
