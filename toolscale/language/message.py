"""A final message against the facts of its task: where values stand, what they read as, how firmly, and what may be
said besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

from toolscale.language.clauses import Answer
from toolscale.language.counts import is_no_count, with_ranks
from toolscale.language.labels import Labels, LabelScope, bare_label, is_card_ending, labels_in
from toolscale.language.mentions import Mention
from toolscale.language.proper_names import is_piece
from toolscale.language.qualifiers import qualifier_at
from toolscale.language.render import spans_of
from toolscale.language.shown import LAST_DAY, Shown, quantities_in
from toolscale.language.things import MOST, things_in
from toolscale.language.times import HALF_DAY, minutes_of
from toolscale.language.units import in_units, stands_with
from toolscale.patterns import regex
from toolscale.records import Fact

_NEAR = 120
"""Characters within which two amounts are added up."""

_PAIR = regex(r"\b(?:both|(?:a\s)?(?:pair|couple)\sof|in\snumber\stwo|number(?:s|ing|ed)?\s(?:is\s)?two)\b")

_NONE = regex(r"\bno(?=\s(?!longer|more|problem|worries|need|doubt|charge|fee|matter|other|one)\w)|\bnone\b")

_DISPUTED = regex(r"\b(?:dispute|charge|case|claim|complaint)\w*\b[^.!?]*\b(?:over|about|open,\sover)\s$")

_NOTHING = regex(
    r"\b(?:free(?:\sof\s(?:charge|cost|fees?))?|(?:no|without(?:\san?(?:y)?)?)\s(?:\w+\s)?(?:fees?|charges?|costs?)|nothing|none)\b(?!\s(?:to|else|sent|until))"
)


_BARE_AMOUNT = regex(r"(?<![\w$€£.,?])(?P<whole>\d{1,3}(?:,\d{3})+|\d+)\.(?P<part>\d\d)(?![\w%]|[.,]\d)")
"""An amount to the cent without a currency: `it was missing 257.61`."""


class Asked:
    """The facts of a task, and what their labels come to: the same for each message about them."""

    def __init__(self, facts: Sequence[Fact], shown: Shown) -> None:
        self.facts = facts
        """All of them; it holds them, so that their id() stays their own."""
        self.told = told = [fact for fact in facts if not fact.withheld]
        self.withheld = [fact for fact in facts if fact.withheld]
        self.own = {
            position: bare_label(fact.about) for position, fact in enumerate(told) if fact.about and fact.kind != "bool"
        }
        """Position of a fact -> its label."""
        others = (bare_label(other) for fact in told if fact.kind != "bool" for other in fact.others)
        self.names = tuple(dict.fromkeys((*self.own.values(), *others)))
        self.nouns = frozenset(
            name
            for name in self.names
            if shown.names and name not in shown.names and not is_card_ending(name) and name.islower()
        )
        self.endings = {bare_label(fact.about).split()[-1] for fact in told if fact.about}
        self.texts = [str(fact.value) for fact in told if fact.kind == "text"]
        parts = (name for fact in told if fact.kind == "bool" and fact.about for name in (fact.about, *fact.others))
        self.parts = tuple(dict.fromkeys(map(bare_label, parts)))
        self.units = {fact.unit for fact in told if fact.unit}
        self.counts = any(fact.kind == "number" for fact in told)
        self.counted = [bare_label(fact.about) for fact in told if fact.kind == "number" and fact.about]


def asked_of(facts: Sequence[Fact], shown: Shown) -> Asked:
    """Return what is asked, found once for all messages after the same calls."""
    if not isinstance(facts, tuple):  # its owner may change it
        return Asked(facts, shown)
    kept: dict[int, Asked] = shown.asked
    if (found := kept.get(id(facts))) is None:
        if len(kept) >= MOST:
            kept.clear()
        found = kept[id(facts)] = Asked(facts, shown)
    return found


class Message:
    """A final message, read once, with the facts that it is to tell."""

    def __init__(
        self,
        answer: Answer,
        asked: Asked,
        allowed: frozenset[Any],
        observed: Mapping[str, frozenset[Any]],
        today: str,
        budget: int,
        shown: Shown,
        request: str = "",
    ):
        self.answer, self.asked, self.facts, self.own = answer, asked, asked.told, asked.own
        self.allowed, self.observed, self.today, self.budget = allowed, observed, today, budget
        self.shown, self.request = shown, request
        self.labels = labels_in(answer, asked.names, asked.nouns)
        self.texts = [span for text in asked.texts for span in self._alone(text)]
        self.values = self._read_values()

    def _read_values(self) -> list[Mention]:
        """Return the values that the message tells, without those that only stand in the names of things."""
        answer, asked, values = self.answer, self.asked, list(self.answer.mentions)
        if self.labels.spans:  # the ending of a card is both its name and a value that may be told
            values = [m for m in values if m.kind == "digits" or not self.labels.covers(m.start, m.end)]
        if asked.parts:  # the 2 of `Savings 2` counts nothing
            named = labels_in(answer, asked.parts)
            values = [m for m in values if m.kind != "number" or not named.covers(m.start, m.end)]
        if self.texts:
            values = [m for m in values if not _overlaps(m.start, m.end, self.texts)]
        values = in_units(answer.lower, values, asked.units)
        if not asked.counts:
            return values
        return [
            m
            for m in with_ranks(answer.lower, values)
            if m.kind != "number"
            or stands_with(answer.lower, m.end, asked.units)
            or not is_no_count(answer.lower, m, asked.counted)
        ]

    @cached_property
    def things(self) -> Labels:
        """Where the things stand that the rollout was shown."""
        return things_in(self.answer, self.shown)

    @cached_property
    def derived(self) -> frozenset[int]:
        """Amounts that follow by one step from amounts that were shown, told or allowed."""
        told = {int(fact.value) for fact in self.facts if fact.kind == "money"}
        return self.shown.derived(frozenset(told | {value for kind, value in self.allowed if kind == "money"}))

    def _quantities(self, mention: Mention) -> frozenset[str]:
        return frozenset().union(*(self.shown.quantities_of((mention.kind, reading)) for reading in mention.readings))

    def _strict(self, kind: str) -> bool:
        """Whether two facts of the kind are told apart by their labels alone."""
        return len({label for position, label in self.own.items() if self.facts[position].kind == kind}) > 1

    def _scope(self, kind: str, start: int, starts: list[int]) -> LabelScope:
        """Return what a value belongs to; the ending of a card does not belong to itself."""
        scope = self.labels.scope(start, starts)
        return (
            replace(scope, labels=scope.labels - {self.answer.lower[start : start + 4]}) if kind == "digits" else scope
        )

    def _places(self, fact: Fact) -> tuple[list[int], list[tuple[int, int]]]:
        """Return where values of the kind stand, and where the value of the fact stands, firmly."""
        if fact.kind == "text":
            spans = self._alone(str(fact.value))
            firm = [
                (start, end)
                for start, end in spans
                if qualifier_at(self.answer.lower, start, end) not in ("denied", "hedge")
            ]
            return [start for start, _ in spans], firm
        mentions = [mention for mention in self.values if mention.kind == fact.kind]
        places = [
            (mention.start, mention.end)
            for mention in mentions
            if self._is_firm(mention, fact) and self._reads(mention, fact)
        ]
        if fact.kind in ("id", "digits") and not places:
            places = self._spans(str(fact.value))
        if fact.kind == "money" and fact.value == 0:
            places += [found.span() for found in _NOTHING.finditer(self.answer.lower)]
        if fact.kind == "money" and not places and int(fact.value) > 0 and self.shown.rows:
            places = [span for cents, span in self._bare_amounts if cents == fact.value]
        if fact.kind == "number" and fact.value == 0 and not places:
            places = [found.span() for found in _NONE.finditer(self.answer.lower)]
        if fact.kind == "number" and fact.value == 2 and not places:
            places = [found.span() for found in _PAIR.finditer(self.answer.lower)]
        return [mention.start for mention in mentions], places

    @cached_property
    def _bare_amounts(self) -> list[tuple[int, tuple[int, int]]]:
        """Amounts to the cent without a currency, and where they stand."""
        found = _BARE_AMOUNT.finditer(self.answer.lower)
        return [(int(each["whole"].replace(",", "") + each["part"]), each.span()) for each in found]

    def _is_last_day(self, mention: Mention, fact: Fact) -> bool:
        """Whether a day by which something happens is told as such: *by March 25 at the latest*, *until at least*."""
        if fact.kind != "date" or fact.field is None or not LAST_DAY.search(fact.field):
            return False
        lower = self.answer.lower
        return lower.endswith("at least ", 0, mention.start) or lower.startswith(" at the latest", mention.end)

    def _is_firm(self, mention: Mention, fact: Fact) -> bool:
        """Whether a value is said without hedge. A day by which something happens may be bounded, and what is missing
        may be called short."""
        if mention.qualifier not in ("bound", "hedge"):
            return mention.qualifier is None
        value = (fact.kind, fact.value)
        if mention.qualifier == "bound" and (self.shown.is_deadline(value) or self._is_last_day(mention, fact)):
            return True
        if self.shown.rows and _DISPUTED.search(self.answer.lower, max(0, mention.start - 60), mention.start):
            return True
        return (
            mention.qualifier == "bound"
            and "moved" in self.shown.quantities_of(value)
            and self.answer.lower.startswith(" short", mention.end)
        )

    def _reads(self, mention: Mention, fact: Fact) -> bool:
        if fact.value not in mention.readings:
            return fact.kind == "id" and str(fact.value).lower() in {
                str(reading).lower() for reading in mention.readings
            }
        others = mention.readings - {fact.value}
        return not others or (
            _is_open(mention)
            and not others & self.observed.get(mention.kind, frozenset())
            and (mention.kind == "date" or not any((mention.kind, other) in self.shown.values for other in others))
        )

    def _spans(self, words: str) -> list[tuple[int, int]]:
        spans = spans_of(words, self.answer.lower)
        return [(start, end) for start, end in spans if not is_piece(self.answer.text, start, end)]

    def _alone(self, words: str) -> list[tuple[int, int]]:
        """Return where a text stands, but not as a part of a longer one that was seen (`Greenleaf` in `Greenleaf
        Market`)."""
        spans, low = self._spans(words), words.lower()
        seen = map(str, self.observed.get("text", ()) if spans else ())
        covering = [
            span for other in seen if len(other) > len(words) and low in other.lower() for span in self._spans(other)
        ]
        return [
            (start, end) for start, end in spans if not any(begin <= start and end <= stop for begin, stop in covering)
        ]

    def _fine(self, kind: str, reading: Any) -> bool:
        if (kind, reading) in self.allowed or (kind == "date" and reading == self.today):
            return True
        if kind == "digits" and str(reading) in self.asked.endings:
            return True
        if kind in ("id", "digits", "text"):
            if ("text", reading) in self.allowed or ("text", str(reading).lower()) in self.allowed:
                return True
            return any(fact.kind == kind and str(fact.value).lower() == str(reading).lower() for fact in self.facts)
        return any(fact.kind == kind and fact.value == reading for fact in self.facts)

    def _rival_mentions(self, kind: str) -> Iterable[Mention]:
        """Yield what is said of the kind and is neither a fact nor allowed; ambiguous forms, questions and denials say
        nothing."""
        for mention in self.values:
            if (
                mention.kind != kind
                or mention.qualifier == "denied"
                or (len(mention.readings) > 1 and not _is_open(mention))
                or (not mention.readings and kind in ("time", "duration"))
            ):
                continue
            if self.answer.clauses[self.answer.clause_at(mention.start)].asked or any(
                self._fine(kind, reading) for reading in mention.readings
            ):
                continue
            yield mention

    def _is_shown(self, mention: Mention) -> bool:
        """Whether a value was shown to the rollout, or follows from what was by one step."""
        kind, readings = mention.kind, mention.readings
        if any((kind, reading) in self.shown.values for reading in readings):
            return True
        more: Mapping[str, Callable[[], frozenset[Any]]] = {
            "money": lambda: self.derived,
            "number": lambda: self.shown.counts,
            "time": lambda: self.shown.times_on,
            "duration": lambda: self.shown.lengths_between,
        }
        return kind in more and not more[kind]().isdisjoint(readings)

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
        said = [
            mention
            for mention in self.values
            if mention.kind == kind and len(mention.readings) == 1 and not mention.qualifier
        ]
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

    def _says_quantity(self, value: tuple[str, Any], start: int) -> bool:
        """Whether the clause of a value speaks of the quantity that it is."""
        clause = self.answer.clauses[self.answer.clause_at(start)]
        return bool(quantities_in(self.answer.lower[clause.start : clause.end]) & self.shown.quantities_of(value))


def _is_open(mention: Mention) -> bool:
    """Whether a date leaves only its year open ("December 20"), or a time only am or pm ("9:30"): then the fact
    decides, unless the other one was seen too."""
    if mention.kind == "time":
        return len({minutes_of(reading) % HALF_DAY for reading in mention.readings}) == 1
    return mention.kind == "date" and len({reading[5:] for reading in mention.readings}) == 1


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)
