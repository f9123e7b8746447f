"""A recorded candidate on trial: everything the gates look at, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from toolscale.environment import Environment
from toolscale.language import mentions, state_facts
from toolscale.language import grade_answer as grade_text
from toolscale.language.deeds import Deeds
from toolscale.language.shown import Shown
from toolscale.records import Candidate, Fact, ToolCall
from toolscale.sandbox import Key, NetChanges
from toolscale.sql import CompiledReturn
from toolscale.tasks.plan import Plan
from toolscale.tasks.record import Inputs, Recording
from toolscale.tasks.tools import output_type
from toolscale.verify.states import Changes, EndState, EndStates
from toolscale.verify.trajectories import Trajectory

KINDS = {"cents": "money", "date": "date", "datetime": "date", "int": "number"}


@dataclass
class Subject:
    """One recorded candidate. `accepted` are the end states that count as right."""

    environment: Environment
    plan: Plan
    candidate: Candidate
    inputs: Inputs
    recording: Recording
    states: EndStates
    net: NetChanges
    """Net row changes of the recorded episode, volatile columns included."""
    touched: tuple[tuple[str, Key], ...]
    golden: EndState
    accepted: set[Changes]
    answer: str
    observed: Mapping[str, frozenset[Any]]
    allowed: frozenset[Any]
    shown: Shown
    """What the golden calls showed."""
    deeds: Deeds
    """What they did."""
    vocabulary: Mapping[str, frozenset[str]]
    _texts: dict[str, str | None] = field(default_factory=dict)

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What must be told, and what must not."""
        return tuple(self.recording.facts)

    @cached_property
    def told(self) -> tuple[Fact, ...]:
        """What must be told."""
        return tuple(fact for fact in self.recording.facts if not fact.withheld)

    @cached_property
    def writes(self) -> tuple[ToolCall, ...]:
        """The golden writes."""
        return self.recording.write_calls

    @property
    def today(self) -> str:
        """The date of the environment's clock."""
        return self.environment.spec.world.today

    def text_finding(self, answer: str) -> str | None:
        """What is wrong with a final message; None if it states every fact."""
        if answer not in self._texts:
            self._texts[answer] = self.finding_of(answer, self.shown, self.deeds)
        return self._texts[answer]

    def finding_of(self, answer: str, shown: Shown, deeds: Deeds) -> str | None:
        """What is wrong with the final message of a rollout whose calls showed this; None if it states every fact."""
        budget = 1 if self.writes else 0
        return grade_text(
            answer, self.facts, allowed=self.allowed, observed=self.observed, today=self.today, budget=budget, shown=shown,
            deeds=deeds,
        )  # fmt: skip

    def end_state(self, trajectory: Trajectory) -> EndState:
        """What the calls of a trajectory leave behind; look-ups are made only where the trajectory asks for it."""
        return self.states.of(self._graded(trajectory))

    def answer_of(self, trajectory: Trajectory) -> str:
        """The final message of a trajectory: its own, else the golden one."""
        return self.answer if trajectory.answer is None else trajectory.answer

    def score(self, trajectory: Trajectory) -> int:
        """1 if the calls end in an accepted state and the answer (the golden one by default) states the facts, else 0. The state decides first."""
        if self.end_state(trajectory).changes not in self.accepted:
            return 0
        return int(self.text_finding(self.answer_of(trajectory)) is None)

    def run_ahead(self, trajectories: Iterable[Trajectory], others: Iterable[tuple[ToolCall, ...]] = ()) -> None:
        """Run trajectories that will be scored, and other lists that will be asked for, together: they share most of their calls."""
        self.states.run_ahead([*[self._graded(trajectory) for trajectory in trajectories], *others])

    def _graded(self, trajectory: Trajectory) -> tuple[ToolCall, ...]:
        return trajectory.calls if trajectory.with_reads else self.states.writes(trajectory.calls)


def observed_values(environment: Environment, recording: Recording) -> dict[str, frozenset[Any]]:
    """Every money amount, date, number and text that the golden results showed, by kind of fact."""
    found: dict[str, set[Any]] = {"money": set(), "date": set(), "number": set(), "text": set()}
    texts = _text_columns(recording)
    for recorded in recording.calls:
        tool = environment.tools[recorded.call.name]
        for result in tool.returns:
            rows = _as_rows(result, recorded.call.result[result.name])
            for position, column in enumerate(result.statement.columns):
                kind = KINDS.get(output_type(result, position))
                values = {row[column] for row in rows if row[column] is not None}
                if kind == "date":
                    values = {value[:10] for value in values}
                if kind is not None:
                    found[kind] |= values
                elif column in texts:
                    found["text"] |= values
    return {kind: frozenset(values) for kind, values in found.items()}


def _as_rows(result: CompiledReturn, part: Any) -> list[dict[str, Any]]:
    if result.mode == "value":
        return [{result.statement.columns[0]: part}]
    return list(part) if result.mode == "rows" else [] if part is None else [part]


def _text_columns(recording: Recording) -> set[str]:
    told = {fact.value for fact in recording.facts if fact.kind == "text"}
    return {column for rows in recording.observed.values() for row in rows for column, value in row.items() if value in told}


def allowed_values(environment: Environment, recording: Recording, request: str, today: str) -> frozenset[Any]:
    """What a final message may say without giving a rival value: what the request said, what was written, and the facts themselves."""
    found: set[Any] = {(fact.kind, fact.value) for fact in recording.facts if not fact.withheld}
    for tense in ("past", "future"):
        for mention in mentions(request, today, tense):
            found |= {(mention.kind, reading) for reading in mention.readings}
    found |= _said_in_rules(environment.spec.policy_text, today)
    for recorded in recording.writes:
        for value in _scalars([recorded.call.arguments, recorded.call.result]):
            found |= {("money", value), ("number", value)} if isinstance(value, int) else {("date", str(value)[:10]), ("text", value)}
    return frozenset(found)


@lru_cache(maxsize=64)
def _said_in_rules(policy: str, today: str) -> frozenset[Any]:
    """Return the amounts that the policy names: whoever gives a reason may say them."""
    return frozenset(("money", reading) for mention in mentions(policy, today) if mention.kind == "money" for reading in mention.readings)


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [item for part in value.values() for item in _scalars(part)]
    if isinstance(value, list):
        return [item for part in value for item in _scalars(part)]
    return [] if value is None else [value]


def golden_answer(facts: tuple[Fact, ...], today: str) -> str:
    """The final message of the golden trajectory."""
    return state_facts([fact for fact in facts if not fact.withheld], today)
