"""Values beside the facts: which of them are offered in a fact's place, and which their words tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolscale.language.belonging import NOW_AFTER, Belonging
from toolscale.language.counts import of_the_same, without_parts
from toolscale.language.limits import is_limit
from toolscale.language.mentions import Mention
from toolscale.language.shown import quantities_in
from toolscale.patterns import regex
from toolscale.records import Fact

MOST_EXPLAINED = 8
"""How many other values of the kind of a fact may be told, each of something else. An answer with more only recites
what it saw."""

_SPAN_OF_TIME = regex(r"\b(?:days?|weeks?|months?|years?)$")

LEFT = regex(r"\b(?:left|remain(?:s|ing)?|afterwards)\b")

NOW = regex(
    r"\b(?:now|new|currently|has\sbeen\sset|set|raised|lowered|changed|increased|put)\s(?:\w+\s){0,3}?(?:to|at|is|of|a|stands)?\s*$"
)

TIMES = regex(
    r"\b(?:before(?:hand)?|previous(?:ly)?|was|were|had|started?|initial(?:ly)?|earlier|prior|original(?:ly)?|used\sto|at\sfirst|until|from"
    r"|would\shave|now|after(?:wards)?|then)\b"
)

PAST = regex(
    r"\b(?:before(?:hand)?|previous(?:ly)?|was|were|had|initial(?:ly)?|earlier|prior|original(?:ly)?|used\sto|from|of|until|down)\b"
)

ASIDE = regex(
    r"\b(?:already|overdue|missed|past\sdue|newer|latter|second|another|issued|opened|expires?|added|since|others?|rest|remaining|than|besides|each|not|only|lowest|highest"
    r"|smallest|largest|versus|compared)\b|n't\b"
)
"""Words that show that a value is of something else."""


_GREETED = regex(
    r"\W*(?:(?:hi|hello|hey|dear|good\s(?:morning|afternoon|evening|day)|morning|welcome\sback|thanks|thank\syou)\W+)+"
    r"(?:there\W+)?(?:(?:mrs?|ms|mx|dr)\W+)?"
)
"""What stands before the name of somebody who is greeted: that name is no answer."""


class Rivals(Belonging):
    """What a message says besides the facts."""

    def _rivals(self, kind: str) -> str | None:
        rivals = list(self._rival_mentions(kind))
        if kind == "number":
            counts = {fact.value for fact in self.facts if fact.kind == "number"}
            rivals = without_parts(self.answer.lower, rivals, [m for m in self.values if m.kind == "number"], counts)
            if self.shown.rows:
                rivals = of_the_same(self.answer.lower, rivals, [m for m in self.values if m.kind == "number"], counts)
        if kind == "number" and any(self._says_limit(fact) for fact in self.facts):
            # Beside a limit, said as one, stands what there is now: `unchanged at 9 nights`.
            rivals = [mention for mention in rivals if not self._is_shown(mention)]
        if kind == "date":
            rivals = [
                mention for mention in rivals if not _SPAN_OF_TIME.search(self.answer.lower, mention.start, mention.end)
            ]
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

    def _says_limit(self, fact: Fact) -> bool:
        """Whether a refusal says the figure of the rule as the limit that it is."""
        if fact.about or not any(other.kind == "bool" and not other.value for other in self.facts):
            return False
        return any(
            mention.kind == fact.kind
            and mention.readings == {fact.value}
            and is_limit(self.answer, mention.start, mention.end)
            for mention in self.answer.mentions
        )

    def _stale(self, kind: str, rivals: Iterable[Mention]) -> str | None:
        """Find an amount that was looked up, changed since, and is said to be what is left."""
        for mention in rivals if kind == "money" else ():
            clause = self.answer.clauses[self.answer.clause_at(mention.start)]
            text = self.answer.lower[clause.start : clause.end]
            now = (
                LEFT.search(text)
                or NOW.search(text[: mention.start - clause.start])
                or NOW_AFTER.match(text, max(0, mention.start - clause.start))
            )
            if (
                now
                and not PAST.search(text)
                and any(self.shown.is_stale((kind, reading)) for reading in mention.readings)
            ):
                return f"says an old value of what is left: {self.answer.text[mention.start : mention.end]}"
        return None

    def _unexplained(self, kind: str, rivals: Sequence[Mention], starts: list[int]) -> Iterator[Mention]:
        """Yield the rivals that their words do not tell from a fact: not of another thing, another time, another
        quantity, or a part of it."""
        parts = self._parts_of(kind)
        recited = 0
        for mention in rivals:
            if not (
                mention in parts
                or (self._is_shown(mention) and (self._is_apart(kind, mention, starts) or self._is_listed(mention)))
            ):
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
        """Whether a value stands in a sentence with three or more of its kind, and a fact in a sentence with fewer."""
        clauses = self.answer.clauses
        sentences = [clauses[self.answer.clause_at(m.start)].sentence for m in self.values if m.kind == mention.kind]
        own = clauses[self.answer.clause_at(mention.start)].sentence
        told = [
            clauses[self.answer.clause_at(m.start)].sentence
            for m in self.values
            if m.kind == mention.kind
            and not m.qualifier
            and any(fact.kind == m.kind and fact.value in m.readings for fact in self.facts)
        ]
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
        if (
            TIMES.search(text)
            or ASIDE.search(text)
            or (kind == "date" and ASIDE.search(self.answer.lower, *clause.whole))
        ):
            return True
        said = quantities_in(text)
        told = frozenset().union(*map(self.shown.quantities_of, facts)) if facts else frozenset()
        # If no call showed the facts, their quantity is unknown, and the quantity of another value sets nothing apart.
        unknown = bool(facts) and not told
        return not unknown and bool(said & frozenset().union(*map(self.shown.quantities_of, values)) - told)

    def _swapped(self, kind: str) -> str | None:
        """Find a value of one label that is said of another label, or a value without a label that is said of a label
        in place of that label's own value."""
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
            if (
                mention.kind == kind
                and not mention.qualifier
                and mention.readings & (told | free)
                and mention.readings != {0}
            ):
                scope = self._scope(kind, mention.start, starts)
                if (
                    scope.near
                    and len(scope.labels) == 1
                    and scope.labels <= by_label.keys()
                    and not self._is_both(mention, scope.labels)
                ):
                    near.append((mention, next(iter(scope.labels))))
        right = {label for mention, label in near if mention.readings & by_label[label]}
        for mention, label in near:
            said_of_none = mention.readings & free and (label in right or self.labels.is_passed(mention.end, label))
            if not (mention.readings & by_label[label] or (said_of_none and not mention.readings & told)):
                return f"says {self.answer.text[mention.start : mention.end]} of {label}"
        return None

    def _is_both(self, mention: Mention, labels: frozenset[str]) -> bool:
        """Whether a value that belongs to another label was shown of this label too, or its words tell it from this
        label's value."""
        told = [fact for fact in self.facts if fact.kind == mention.kind and fact.value in mention.readings]
        return any(
            (labels & self.shown.names_of((f.kind, f.value)) and self._says_quantity((f.kind, f.value), mention.start))
            or self._is_told_apart(f, mention.start, labels)
            for f in told
        )

    def _is_text_apart(self, start: int, end: int) -> bool:
        """Whether a text that is no fact is clearly told as something else: denied, set aside, or with a value of its
        own."""
        index = self.answer.clause_at(start)
        clause = self.answer.clauses[index]
        if ASIDE.search(self.answer.lower, clause.start, clause.end) or ASIDE.search(self.answer.lower, *clause.whole):
            return True
        name = " ".join(self.answer.lower[start:end].split())
        near = (m for m in self.values if clause.start <= m.start < clause.end or 0 <= m.start - end <= 3)
        return any(
            name in self.shown.names_of((mention.kind, reading)) for mention in near for reading in mention.readings
        )

    def _rival_texts(self) -> str | None:
        told = {str(fact.value).lower() for fact in self.facts if fact.kind == "text"}
        found: dict[str, list[tuple[int, int]]] = {}
        for value in self.observed.get("text", ()):
            words = str(value).lower()
            if words not in told and ("text", value) not in self.allowed and words in self.answer.lower:
                spans = [
                    span
                    for span in self._spans(words)
                    if not _overlaps(*span, self.texts) and not _GREETED.fullmatch(self.answer.lower, 0, span[0])
                ]
                if spans and not any(words == label for label in self.own.values()):
                    found[words] = spans
        found = {
            words: spans for words, spans in found.items() if not all(self._is_text_apart(*span) for span in spans)
        }
        if len(found) > self.budget:
            fine = [span for kind, value in self.allowed if kind == "text" for span in self._spans(str(value))]
            found = {
                words: spans for words, spans in found.items() if any(not _overlaps(*span, fine) for span in spans)
            }
        return (
            f"{len(found)} other texts beside the fact: {', '.join(sorted(found))}"
            if len(found) > self.budget
            else None
        )


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)
