"""Whether a final message states the facts: typed, firmly, under the right label, and without offering other values beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolscale.language.claims import is_claimed
from toolscale.language.clauses import Answer, Labels, Scope, bare_label, read_answer
from toolscale.language.corrections import is_past, is_present_of, is_range
from toolscale.language.counts import is_no_count, is_whole, without_parts
from toolscale.language.mentions import Mention
from toolscale.language.names import is_piece
from toolscale.language.parts import part_finding
from toolscale.language.polarity import polarity
from toolscale.language.qualifiers import qualifier_at
from toolscale.language.render import word_pattern
from toolscale.records import Fact

_TYPED = ("money", "date", "number", "digits", "id")


def grade_answer(
    answer: str,
    facts: Sequence[Fact],
    *,
    allowed: frozenset[tuple[str, Any]] = frozenset(),
    observed: Mapping[str, frozenset[Any]] | None = None,
    today: str,
    budget: int = 0,
) -> str | None:
    """Return None if `answer` states every fact, else the first finding.

    A value is stated by a clause that reads as exactly it, without hedge, bound, denial, doubt or question, and that belongs to the label of the
    fact (its own, or none, where only one fact of the kind has to be told). `allowed` are (kind, value) pairs that may be said beside the facts;
    any other single value of a kind that is told is a rival: at most `budget` of them may stand there, all among the `observed` ones. A bool
    with a label is stated of that part alone. A value that is withheld must not stand there at all, unless a fact or `allowed` says the same.
    """
    if not facts:
        return None
    told = [fact for fact in facts if not fact.withheld]
    grading = _Grading(read_answer(answer, today), told, allowed, observed or {}, today, budget)
    return grading.finding() or grading.disclosed([fact for fact in facts if fact.withheld])


class _Grading:
    def __init__(
        self, answer: Answer, facts: Sequence[Fact], allowed: frozenset[Any], observed: Mapping[str, frozenset[Any]], today: str, budget: int
    ):
        self.answer, self.facts, self.allowed, self.observed, self.today, self.budget = answer, facts, allowed, observed, today, budget
        self.own = {position: bare_label(fact.about) for position, fact in enumerate(facts) if fact.about and fact.kind != "bool"}
        names = [*self.own.values(), *(bare_label(other) for fact in facts if fact.kind != "bool" for other in fact.others)]
        self.labels = Labels(answer, tuple(dict.fromkeys(names)))
        self.endings = {bare_label(fact.about).split()[-1] for fact in facts if fact.about}
        self.values = list(answer.mentions)
        if self.labels.spans:  # the ending of a card names it and is told at once
            self.values = [m for m in self.values if m.kind == "digits" or not self.labels.covers(m.start, m.end)]
        self.texts = [span for fact in facts if fact.kind == "text" for span in self._alone(str(fact.value))]
        if self.texts:
            self.values = [m for m in self.values if not _overlaps(m.start, m.end, self.texts)]
        if any(fact.kind == "number" for fact in facts):
            self.values = [m for m in self.values if m.kind != "number" or not is_no_count(answer.lower, m)]

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
            return part_finding(self.answer, self._part_labels(), bare_label(fact.about), bool(fact.value))
        if fact.kind == "bool":
            said = polarity(self.answer.lower)
            wanted = "yes or done" if fact.value else "no or not done"
            return None if said is not None and said == bool(fact.value) else f"does not plainly say {wanted}"
        strict = self._strict(fact.kind)
        starts, places = self._places(fact)
        loose = False
        for start, end in places:
            if not is_claimed(self.answer, start, end, fact.kind in ("money", "number")) or self._superseded(fact, start):
                continue
            scope = self._scope(fact.kind, start, end, starts)
            if position not in self.own or self._belongs(start, scope, self.own[position], strict):
                if not (scope.loose and position in self.own):
                    return None
                loose = True
        if loose and len({item for mention in self._rival_mentions(fact.kind) for item in mention.readings}) == 0:
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
            elif not self._fine(fact.kind, fact.value) and (said := self._said(fact)):
                return f"discloses the {fact.kind} that is withheld: {self.answer.text[said[0] : said[1]]}"
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
        rivals = [mention for mention in self._rival_mentions(fact.kind) if mention.qualifier is None]
        if fact.kind == "date" and any(is_range(lower, start, mention) for mention in rivals):
            return True
        for mention in rivals if past else ():
            there = clauses[self.answer.clause_at(mention.start)]
            near = there is not here and abs(there.sentence - here.sentence) <= 1
            if near and is_present_of(lower, (there.start, there.end), (here.start, here.end)):
                return True
        return fact.kind == "number" and bool(rivals) and any(mention.start == start and is_whole(lower, mention) for mention in self.values)

    def _strict(self, kind: str) -> bool:
        """Whether two facts of the kind are told apart by their labels alone."""
        return len({label for position, label in self.own.items() if self.facts[position].kind == kind}) > 1

    def _belongs(self, start: int, scope: Scope, own: str, strict: bool) -> bool:
        if not strict:
            return own in scope.labels or not scope.labels
        if scope.labels == {own}:
            return True
        return scope.near and own in scope.labels and self.labels.nearest(start) == own

    def _scope(self, kind: str, start: int, end: int, starts: list[int]) -> Scope:
        """Return what a value belongs to; the ending of a card does not belong to itself."""
        scope = self.labels.scope(start, starts)
        return replace(scope, labels=scope.labels - {self.answer.lower[start:end]}) if kind == "digits" else scope

    def _places(self, fact: Fact) -> tuple[list[int], list[tuple[int, int]]]:
        """Return where values of the kind stand, and where the value of the fact stands, firmly."""
        if fact.kind == "text":
            spans = self._alone(str(fact.value))
            firm = [(start, end) for start, end in spans if qualifier_at(self.answer.lower, start, end) not in ("denied", "hedge")]
            return [start for start, _ in spans], firm
        mentions = [mention for mention in self.values if mention.kind == fact.kind]
        places = [(mention.start, mention.end) for mention in mentions if mention.qualifier is None and self._reads(mention, fact)]
        if fact.kind == "id" and not places:
            places = self._spans(str(fact.value))
        return [mention.start for mention in mentions], places

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
        swapped = self._swapped(kind)
        if not rivals or swapped:
            return swapped
        seen = self.observed.get(kind)
        starts = [mention.start for mention in self.values if mention.kind == kind]
        own = {self.own.get(position) for position, fact in enumerate(self.facts) if fact.kind == kind}
        counted: set[Any] = set()
        for mention in rivals:
            if seen is not None and not mention.readings & seen:
                return f"a {kind} that nothing gave: {self.answer.text[mention.start : mention.end]}"
            scope = self._scope(kind, mention.start, mention.end, starts)
            if None in own or not scope.near or scope.labels & own:
                counted.add(min(mention.readings, default=None))
        if len(counted) > self.budget:
            return f"{len(counted)} other values of kind {kind} beside the fact, {self.budget} allowed"
        return None

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
                scope = self._scope(kind, mention.start, mention.end, starts)
                if scope.near and len(scope.labels) == 1 and scope.labels <= by_label.keys():
                    near.append((mention, next(iter(scope.labels))))
        right = {label for mention, label in near if mention.readings & by_label[label]}
        for mention, label in near:
            said_of_none = mention.readings & free and (label in right or self.labels.is_passed(mention.end, label))
            if not (mention.readings & by_label[label] or (said_of_none and not mention.readings & told)):
                return f"says {self.answer.text[mention.start : mention.end]} of {label}"
        return None

    def _rival_texts(self) -> str | None:
        told = {str(fact.value).lower() for fact in self.facts if fact.kind == "text"}
        found: dict[str, list[tuple[int, int]]] = {}
        for value in self.observed.get("text", ()):
            words = str(value).lower()
            if words not in told and ("text", value) not in self.allowed and words in self.answer.lower:
                spans = [span for span in self._spans(words) if not _overlaps(*span, self.texts)]
                if spans and not any(words == label for label in self.own.values()):
                    found[words] = spans
        if len(found) > self.budget:
            fine = [span for kind, value in self.allowed if kind == "text" for span in self._spans(str(value))]
            found = {words: spans for words, spans in found.items() if any(not _overlaps(*span, fine) for span in spans)}
        return f"{len(found)} other texts beside the fact: {', '.join(sorted(found))}" if len(found) > self.budget else None


def _one_day(mention: Mention) -> bool:
    """Whether a date leaves only its year open ("December 20"): then the fact decides, unless the other year was seen too."""
    return mention.kind == "date" and len({reading[5:] for reading in mention.readings}) == 1


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)
