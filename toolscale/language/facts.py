"""Whether a final message states the facts: typed, firmly, under the right label, and without offering other values
beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolscale.language.claims import is_claimed
from toolscale.language.clauses import read_answer
from toolscale.language.deeds import NO_DEEDS, Deeds, deed_finding
from toolscale.language.labels import Labels, bare_label, labels_in
from toolscale.language.message import asked_of
from toolscale.language.misnamed import Misnamed
from toolscale.language.parts import part_finding, whole_finding
from toolscale.language.shown import NOTHING_SHOWN, Shown
from toolscale.records import Fact

_TYPED = ("money", "date", "time", "duration", "number", "digits", "id")

DISCLOSES = "discloses"
"""A finding that begins so is certain: a withheld value stands in the message, whatever its wording."""

HINT = 0.1
"""An amount within a tenth of a withheld one hints at it."""


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

    A value is stated by a clause that reads as exactly it, without hedge, bound, denial, doubt or question, and that
    does not give it to something else: to the label of another fact, or to a thing that has another value in what the
    rollout was `shown`. A refusal may say a figure as the limit that it is: *at most 14 nights*.

    Beside the facts a message may say the (kind, value) pairs in `allowed`. It may also say what was shown, or follows
    from that by one step, if the words tell it from the fact: it is of another thing, time or quantity, or a part of
    the fact. Any other value of a kind that is told is a rival: at most `budget` of them may stand there, all among the
    `observed` ones. A bool with a label is stated of that part alone. A value that is withheld must not stand there at
    all, unless a fact or `allowed` says the same.
    """
    read = read_answer(answer, today)
    if not facts and not shown.rows:
        return deed_finding(read, deeds, shown, request)
    asked = asked_of(facts, shown)
    grading = _Grading(read, asked, allowed, observed or {}, today, budget, shown, request.lower())
    return (
        grading.unstated()
        or deed_finding(read, deeds, shown, request)
        or grading.beside()
        or grading.disclosed(asked.withheld)
    )


def holds_values(answer: str, facts: Sequence[Fact], today: str) -> bool:
    """Whether the value of every fact that is to be told stands in an answer, in whatever words and said of whatever
    thing. If not, the answer is certainly wrong."""
    read = read_answer(answer, today)
    words = " ".join(read.lower.split())
    return all(
        fact.kind == "bool"
        or str(fact.value).lower() in words
        or any(m.kind == fact.kind and fact.value in m.readings for m in read.mentions)
        for fact in facts
        if not fact.withheld
    )


class _Grading(Misnamed):
    def unstated(self) -> str | None:
        """The first fact that the answer does not state."""
        return next((found for at, fact in enumerate(self.facts) if (found := self._fact(at, fact))), None)

    def beside(self) -> str | None:
        """What the answer says beside the facts, and should not."""
        for kind in dict.fromkeys(fact.kind for fact in self.facts):
            finding = self._rival_texts() if kind == "text" else self._rivals(kind) if kind in _TYPED else None
            if finding:
                return finding
        return self.misgiven() or self.misnamed()

    def _fact(self, position: int, fact: Fact) -> str | None:
        if fact.kind == "bool" and fact.about:
            return part_finding(
                self.answer, self._part_labels(), bare_label(fact.about), bool(fact.value), bool(self.asked.withheld)
            )
        if fact.kind == "bool":
            return whole_finding(self.answer, bool(fact.value), bool(self.asked.withheld))
        starts, places = self._places(fact)
        for start, end in places:
            past = fact.kind == "text" and bool(self.shown.rows)
            past = (
                past
                or self.shown.is_outdated((fact.kind, fact.value))
                or "fee" in self.shown.quantities_of((fact.kind, fact.value))
            )
            missing = "moved" in self.shown.quantities_of((fact.kind, fact.value))
            quoted = self.shown.is_quoted((fact.kind, fact.value))
            claimed = is_claimed(self.answer, start, end, fact.kind, past, missing, quoted) and (
                past or not self._superseded(fact, start)
            )
            if claimed and not self._is_given_away(position, fact, start, starts):
                return None
        if self._says_limit(fact):
            return None
        label = f" of {fact.about}" if fact.about else ""
        return f"the {fact.kind}{label} is not stated as {fact.value!r}"

    def _part_labels(self) -> Labels:
        """The labels of the facts and of their rivals, so that a part with another label is not taken for one without a
        label."""
        names = (bare_label(name) for fact in self.facts if fact.about for name in (fact.about, *fact.others))
        return labels_in(self.answer, tuple(dict.fromkeys(names)))

    def disclosed(self, withheld: Sequence[Fact]) -> str | None:
        """Find a withheld value that stands in the answer, hedged or not, unless a fact that is told or `allowed` has
        the same value."""
        for fact in withheld:
            if fact.kind == "bool":
                if self._fact(-1, fact) is None:
                    return f"{DISCLOSES} what is withheld: {'yes or done' if fact.value else 'no or not done'}"
            elif not self._fine(fact.kind, fact.value) and (said := self._said(fact) or self._hinted(fact)):
                return f"{DISCLOSES} the {fact.kind} that is withheld: {self.answer.text[said[0] : said[1]]}"
        return None

    def _hinted(self, fact: Fact) -> tuple[int, int] | None:
        """Return where an amount stands that nothing gave, and that comes close to a withheld one."""
        for mention in self.values if fact.kind == "money" and self.shown.rows else ():
            close = mention.kind == "money" and any(
                abs(reading - int(fact.value)) <= abs(int(fact.value)) * HINT for reading in mention.readings
            )
            if close and not any(
                ("money", reading) in self.shown.values or self._fine("money", reading) for reading in mention.readings
            ):
                return mention.start, mention.end
        return None

    def _said(self, fact: Fact) -> tuple[int, int] | None:
        """Return where a value stands, in any reading and however firmly, outside of what may be said."""
        for mention in self.values:
            if mention.kind == fact.kind and str(fact.value).lower() in {
                str(reading).lower() for reading in mention.readings
            }:
                return mention.start, mention.end
        if fact.kind not in ("text", "id", "digits"):
            return None
        fine = [span for kind, value in self.allowed if kind == "text" for span in self._spans(str(value))]
        fine += [span for fact in self.facts if fact.about for span in self._spans(bare_label(fact.about))]
        return next((span for span in self._spans(str(fact.value)) if not _overlaps(*span, (*self.texts, *fine))), None)


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)
