"""What a task asks of a final message: the facts, and all that decides how they may be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from toolscale.environment.column_kinds import values_of_column
from toolscale.environment.environment import Environment
from toolscale.environment.moments import is_time
from toolscale.language.answers import STYLES as PROSE_STYLES
from toolscale.language.answers import state_facts
from toolscale.language.deeds import NO_DEEDS, Deeds
from toolscale.language.facts import DISCLOSES, grade_answer, holds_values
from toolscale.language.mentions import mentions
from toolscale.language.shown import Shown
from toolscale.records import Fact, GoldenCall
from toolscale.sql.compiled import CompiledReturn
from toolscale.tasks.form import Form
from toolscale.tasks.lookups import output_type
from toolscale.verify.filled import STYLES as FORM_STYLES
from toolscale.verify.filled import fill, form_finding
from toolscale.verify.shown import Lexicon, deeds_of, shown_by

DONE = "That is done."
"""The golden message where things were done and nothing was asked: a solver answers, and an empty message is none."""


@dataclass
class Brief:
    """A task as the grader of its messages knows it."""

    environment: Environment
    lexicon: Lexicon
    request: str
    facts: tuple[Fact, ...]
    calls: Sequence[GoldenCall]
    """The golden calls with their results."""
    declined: frozenset[str] = frozenset()
    """Tools that the request wants called and that are not called for all that it wants: because a rule forbids it, or
    a condition does not hold."""
    asked: frozenset[tuple[str, Any]] = frozenset()
    """Where the condition of a request does not hold: (kind, value) of the rows that it is about. They may be told."""
    form: Form | None = None
    """The form that takes the answer; None if the answer is prose."""
    _findings: dict[str, str | None] = field(default_factory=dict)

    def finding(self, answer: str) -> str | None:
        """What is wrong with a final message after the golden calls; None if it states every fact and is honest about
        what was done."""
        if answer not in self._findings:
            self._findings[answer] = self._grade(answer, self.shown, self.deeds)
        return self._findings[answer]

    def facts_finding(self, answer: str) -> str | None:
        """The same as `finding`, but what the message says of deeds is not looked at."""
        return self._grade(answer, self.shown, NO_DEEDS)

    def finding_after(self, answer: str, calls: Sequence[GoldenCall]) -> str | None:
        """The same after other calls, which succeeded: they decide what the message can know, and what was done."""
        shown = shown_by(self.environment, calls, self.lexicon)
        return self._grade(
            answer, shown, deeds_of(self.environment, calls, shown, self.lexicon.verbs, self.declined, self._grants_all)
        )

    def say(self, facts: Sequence[Fact], style: int = 0) -> str:
        """Return a final answer that states facts, in one of the written forms of the way in which it is answered."""
        if self.form is not None:
            return fill(self.form, facts, style)
        told = [fact for fact in facts if not fact.withheld]
        return state_facts(told, self.environment.spec.world.today, style=style) or (DONE if self._writes else "")

    @property
    def styles(self) -> int:
        """How many written forms there are."""
        return PROSE_STYLES if self.form is None else FORM_STYLES

    def is_undecided(self, answer: str, finding: str | None) -> bool:
        """Whether rules cannot tell: a message in prose is refused for its words, holds the value of every fact, and
        discloses nothing."""
        if finding is None or self.form is not None or finding.startswith(DISCLOSES):
            return False
        return bool(answer.strip()) and holds_values(answer, self.facts, self.environment.spec.world.today)

    def _grade(self, answer: str, shown: Shown, deeds: Deeds) -> str | None:
        if self.form is not None:
            certain = bool(self._writes) and not self.declined
            return form_finding(
                self.form,
                self.facts,
                answer,
                shown=shown.values,
                today=self.environment.spec.world.today,
                certain=certain,
                said=self.allowed,
            )
        budget = 1 if self._writes else 0
        return grade_answer(
            answer,
            self.facts,
            allowed=self.allowed,
            observed=self.observed,
            today=self.environment.spec.world.today,
            budget=budget,
            shown=shown,
            deeds=deeds,
            request=self.request,
        )

    @cached_property
    def shown(self) -> Shown:
        """What the golden calls showed."""
        return shown_by(self.environment, self.calls, self.lexicon)

    @cached_property
    def deeds(self) -> Deeds:
        """What they did."""
        return deeds_of(self.environment, self.calls, self.shown, self.lexicon.verbs, self.declined, self._grants_all)

    @property
    def _grants_all(self) -> bool:
        """Whether no part of the request is refused."""
        return not any(fact.kind == "bool" and not fact.value for fact in self.facts)

    @cached_property
    def _writes(self) -> list[GoldenCall]:
        return [call for call in self.calls if self.environment.tools[call.name].mutates_state]

    @cached_property
    def observed(self) -> dict[str, frozenset[Any]]:
        """Every amount, date, number and text that the golden results showed, by kind of fact; of the texts, only those
        in columns that hold a told text."""
        kinds = ("money", "date", "time", "duration", "number", "text")
        found: dict[str, set[Any]] = {kind: set() for kind in kinds}
        told = {fact.value for fact in self.facts if fact.kind == "text"}
        texts: dict[str, set[str]] = {}
        for call in self.calls:
            for result in self.environment.tools[call.name].returns:
                rows = _as_rows(result, call.result[result.name])
                for position, column in enumerate(result.statement.columns):
                    column_type = output_type(result, position)
                    values = {row[column] for row in rows if row[column] is not None}
                    if column_type not in ("text", "bool"):
                        for value in values:
                            for kind, told_as in values_of_column(column, column_type, value):
                                found[kind].add(told_as)
                    elif rows:
                        texts.setdefault(column, set()).update(value for value in values if isinstance(value, str))
        found["text"] = {value for values in texts.values() if values & told for value in values}
        return {kind: frozenset(values) for kind, values in found.items()}

    @cached_property
    def allowed(self) -> frozenset[Any]:
        """(kind, value) pairs that a message may say without offering a rival value: the facts, and what the request,
        the policy and the writing calls say."""
        today = self.environment.spec.world.today
        found: set[Any] = {(fact.kind, fact.value) for fact in self.facts if not fact.withheld} | set(self.asked)
        for tense in ("past", "future"):
            for mention in mentions(self.request, today, tense):
                found |= {(mention.kind, reading) for reading in mention.readings}
        found |= _amounts_in(self.environment.spec.policy_text, today)
        for call in self._writes:
            for value in _scalars([call.arguments, call.result]):
                if isinstance(value, int):
                    found |= {("money", value), ("number", value), ("duration", value)}
                else:
                    text = str(value)
                    time = text if is_time(text) else text[11:16]
                    found |= {("date", text[:10]), ("text", value)} | ({("time", time)} if is_time(time) else set())
        return frozenset(found)


@lru_cache(maxsize=64)
def _amounts_in(policy: str, today: str) -> frozenset[Any]:
    """Return the amounts that the policy names: whoever gives a reason may say them."""
    found = mentions(" ".join(policy.split()), today)
    return frozenset(("money", reading) for mention in found if mention.kind == "money" for reading in mention.readings)


def _as_rows(result: CompiledReturn, part: Any) -> list[dict[str, Any]]:
    if result.mode == "value":
        return [{result.statement.columns[0]: part}]
    return list(part) if result.mode == "rows" else [] if part is None else [part]


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [item for part in value.values() for item in _scalars(part)]
    if isinstance(value, list):
        return [item for part in value for item in _scalars(part)]
    return [] if value is None else [value]
