"""A recorded candidate on trial: everything the gates look at, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolscale.environment.environment import Environment
from toolscale.language.heard import Heard
from toolscale.records import Candidate, Fact, Script, ToolCall
from toolscale.sandbox.base import Key, NetChanges
from toolscale.tasks.form import Done
from toolscale.tasks.plan import Plan
from toolscale.tasks.record import Inputs, Recording
from toolscale.verify.brief import DONE, Brief
from toolscale.verify.states import Changes, EndState, EndStates
from toolscale.verify.trajectories import Trajectory


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
    filled: str
    """The form filled in rightly: what gates judge, however the task is answered."""
    brief: Brief
    """What is asked of the answer."""
    broken_on_the_way: Callable[[Sequence[ToolCall]], str | None]
    """The first of some writes that breaks a rule when its turn comes."""
    added: set[Changes] = field(default_factory=set)
    """Those of `accepted` that a person added."""
    ways: list[tuple[ToolCall, ...]] = field(default_factory=list)
    """The writes that lead to accepted end states: the golden ones first."""

    @property
    def heard(self) -> Heard:
        """All that an agent learns from the person that asks for everything."""
        return self.brief.heard

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What must be told, and what must not."""
        return tuple(self.recording.facts)

    @cached_property
    def told(self) -> tuple[Fact, ...]:
        """What must be told."""
        return tuple(fact for fact in self.recording.facts if not fact.withheld)

    @cached_property
    def answer(self) -> str:
        """The golden answer, as the task is answered: a filled form, or a message."""
        return self.filled if self.candidate.answer == "form" else self.brief.message()

    def say(self, facts: Sequence[Fact], style: int = 0, done: Done | None = None) -> str:
        """Return a filled form that states facts. `done`: instead of what is done."""
        return self.brief.say(facts, style, done)

    @cached_property
    def writes(self) -> tuple[ToolCall, ...]:
        """The golden writes."""
        return self.recording.write_calls

    @property
    def today(self) -> str:
        """The date of the environment's clock."""
        return self.environment.spec.world.today

    @property
    def observed(self) -> Mapping[str, frozenset[Any]]:
        """Every value that the golden results showed, by kind of fact."""
        return self.brief.observed

    @property
    def allowed(self) -> frozenset[Any]:
        """(kind, value) of what the answer may say besides the facts."""
        return self.brief.allowed

    def form_finding(self, filled: str) -> str | None:
        """What is wrong with a filled form; None if it states every fact."""
        return self.brief.finding(filled)

    def end_state(self, trajectory: Trajectory) -> EndState:
        """What the calls of a trajectory leave behind; look-ups are made only where the trajectory asks for it."""
        return self.states.of(self._graded(trajectory))

    def form_of(self, trajectory: Trajectory) -> str:
        """The filled form of a trajectory: its own, else the golden one."""
        return self.filled if trajectory.answer is None else trajectory.answer

    def script(self, trajectory: Trajectory) -> Script:
        """A trajectory as somebody plays it, with an answer as the task takes it: the look-ups of the golden one stand
        around what it writes, since who errs has looked things up too."""
        writes = list(trajectory.calls)
        calls: list[ToolCall] = []
        aligned = len(writes) == len(self.writes)
        for recorded in () if trajectory.with_reads else self.recording.calls:
            if not recorded.mutates:
                calls.append(recorded.as_made)
            elif aligned:
                calls.append(writes.pop(0))
        answer = self.answer if trajectory.answer is None else trajectory.answer
        if trajectory.answer is not None and self.candidate.answer == "message":
            answer = DONE  # what it says wrongly in a form, it leaves unsaid in a message
        return Script(calls=(*calls, *writes), answer=answer)

    def score(self, trajectory: Trajectory) -> int:
        """1 if the calls end in an accepted state and the form (the golden one by default) states the facts, else 0.
        The state decides first."""
        if self.end_state(trajectory).changes not in self.accepted:
            return 0
        return int(self.form_finding(self.form_of(trajectory)) is None)

    def run_ahead(self, trajectories: Iterable[Trajectory], others: Iterable[tuple[ToolCall, ...]] = ()) -> None:
        """Run trajectories that will be scored, and other lists that will be asked for, together: they share most of
        their calls."""
        self.states.run_ahead([*[self._graded(trajectory) for trajectory in trajectories], *others])

    def _graded(self, trajectory: Trajectory) -> tuple[ToolCall, ...]:
        return trajectory.calls if trajectory.with_reads else self.states.writes(trajectory.calls)
