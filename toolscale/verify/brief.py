"""What a task asks of its answer: the facts, and all that may be said beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from toolscale.environment.column_kinds import values_of_column
from toolscale.environment.environment import Environment
from toolscale.environment.moments import is_time
from toolscale.language.answers import state_facts
from toolscale.language.heard import Heard
from toolscale.language.mentions import mentions
from toolscale.language.told import disclosed, untold
from toolscale.records import Fact, GoldenCall
from toolscale.sql.compiled import CompiledReturn
from toolscale.tasks.form import Done, Form
from toolscale.tasks.lookups import output_type
from toolscale.verify.filled import fill, form_finding

DONE = "That is done."
"""The golden message where things were done and nothing was asked: a solver answers, and an empty message is none."""


@dataclass
class Brief:
    """A task as the grader of its answers knows it. Gates judge every task by its form, also one that is answered by a
    message: rules can read a form for certain."""

    environment: Environment
    heard: Heard
    """What the person says."""
    facts: tuple[Fact, ...]
    calls: Sequence[GoldenCall]
    """The golden calls with their results."""
    form: Form
    done: Done
    """What is done of the deeds that the request wants."""
    standing: Sequence[Fact] = ()
    """What need not be told since a condition does not hold, and is so all the same."""
    _findings: dict[str, str | None] = field(default_factory=dict)

    def finding(self, filled: str) -> str | None:
        """What is wrong with a filled form; None if it states every fact."""
        if filled not in self._findings:
            self._findings[filled] = form_finding(
                self.form,
                self.facts,
                filled,
                today=self.environment.spec.world.today,
                done=self.done,
                said=self.allowed,
                standing=self.standing,
            )
        return self._findings[filled]

    def message_finding(self, message: str) -> str | None:
        """What is wrong for certain with a message: it is empty, lacks the value of a fact, or has one that is
        withheld. None does not say that it is right: a judge decides that."""
        if not message.strip():
            return "the message is empty"
        today = self.environment.spec.world.today
        return untold(message, self.facts, today) or disclosed(message, self.facts, self.allowed, today)

    def say(self, facts: Sequence[Fact], style: int = 0, done: Done | None = None) -> str:
        """Return the form filled with facts, in one of its written forms. `done`: instead of what is done."""
        return fill(self.form, facts, done or self.done, style)

    def message(self) -> str:
        """Return the golden message."""
        stated = state_facts(self.facts, self.environment.spec.world.today)
        return stated or (DONE if self._writes else "")

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
        """(kind, value) pairs that an answer may say without claiming anything: the facts, and what the request,
        the policy and the writing calls say."""
        today = self.environment.spec.world.today
        found: set[Any] = {(fact.kind, fact.value) for fact in self.facts if not fact.withheld}
        found |= {(mention.kind, reading) for mention in self.heard.either_way() for reading in mention.readings}
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
