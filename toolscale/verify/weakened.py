"""The judge's own mutation test: verifiers with one check taken away. Each must be visibly weaker than the full one,
else the check checks nothing.

The trajectories are labelled from meaning before anybody judges them, and drawn anew: siblings, branches and facts are
those that the gate tried, strangers and extra writes are others. Every verifier sees the same end states and answers;
only its comparison is its own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import islice

from toolscale.canonical import stable_int
from toolscale.environment.environment import Environment
from toolscale.environment.world import World
from toolscale.errors import UsageError
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.lookups import parameter_types
from toolscale.verify.equivalents import equivalents, exchanged, idle_agents
from toolscale.verify.judge import Judge
from toolscale.verify.mutants import MutantMaker
from toolscale.verify.states import NOTHING, Changes, EndState, masked
from toolscale.verify.subject import Subject
from toolscale.verify.trajectories import Trajectory

VISIBLE = 0.005
"""The share of wrong trajectories accepted, or of right ones refused, from which a verifier counts as weaker. A task is
tried with some forty wrong trajectories, half of them idle agents, so one in two hundred is a task in five that pays
for a mistake: training finds that. One survivor could be an accident of the draw; a share of all is not."""

EXTRAS = 8
"""Extra writes tried for a task."""

MONEY = "money volatile"

DRAWS = 5
"""Candidates drawn for each task wanted, at most, before the draw is given up."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A trajectory of a recorded task before a verifier."""

    subject: Subject
    trajectory: Trajectory
    state: EndState
    right: bool
    idle: bool
    """Whether it is an agent that does not do the task; such a one is wrong."""

    @property
    def ends_right(self) -> bool:
        """Whether the end state is an accepted one."""
        return self.state.changes in self.subject.accepted

    @property
    def tells(self) -> bool:
        """Whether the form states the facts."""
        return self.subject.form_finding(self.subject.form_of(self.trajectory)) is None

    def ends_alike(self, view: Callable[[Subject, Changes], Hashable]) -> bool:
        """Whether the end state looks like an accepted one to somebody who sees a part of it."""
        if self.ends_right:
            return True
        seen = view(self.subject, self.state.changes)
        return any(view(self.subject, accepted) == seen for accepted in self.subject.accepted)


@dataclass(frozen=True, slots=True)
class WeakenedVerifier:
    """A way to grade: what it is called, what it does in words, and whether it accepts a trajectory."""

    name: str
    what: str
    accepts: Callable[[Trial], bool]


@dataclass(frozen=True)
class WeakenedResult:
    """What a verifier made of a draw. The shares are of `wrong`, `right` and `idle` trajectories; the idle ones are
    among the wrong."""

    name: str
    what: str
    wrong_killed: float
    right_accepted: float
    idle_killed: float
    wrong: int
    right: int
    idle: int

    @property
    def visibly_weaker(self) -> bool:
        """Whether wrong trajectories survive, or right ones are refused, in numbers that no draw can hide."""
        return min(self.wrong_killed, self.right_accepted) <= 1 - VISIBLE


def measure(environment: Environment, rows: Rows, *, tasks: int, seed: int) -> tuple[WeakenedResult, ...]:
    """Draw `tasks` accepted tasks under a seed and return what each verifier makes of their wrong and right
    trajectories. Where no tool takes an amount of money, no wrong call is wrong by money alone, and there is no
    verifier that overlooks money.

    Raises UsageError if the environment does not yield so many.
    """
    takes_money = any("cents" in parameter_types(tool).values() for tool in environment.tools.values())
    verifiers = [verifier for verifier in VERIFIERS if takes_money or verifier.name != MONEY]
    judge, source = (
        Judge(environment, rows, audit_share=0, replica=False),
        CandidateSource(environment, World(environment, rows)),
    )
    maker, counts = MutantMaker(environment, rows), {verifier.name: Counter[str]() for verifier in verifiers}
    totals: Counter[str] = Counter()
    try:
        for subject in accepted_subjects(judge, source, tasks, seed):
            for trial in trials(subject, maker, judge, seed):
                kinds = _kinds(trial)
                totals.update(kinds)
                for verifier in verifiers:
                    if verifier.accepts(trial) == trial.right:
                        counts[verifier.name].update(kinds)
    finally:
        judge.close()
        source.world.close()
    return tuple(_result(verifier, counts[verifier.name], totals) for verifier in verifiers)


def _kinds(trial: Trial) -> list[str]:
    if trial.right:
        return ["right"]
    return ["wrong", "idle"] if trial.idle else ["wrong"]


def _result(verifier: WeakenedVerifier, agreed: Counter[str], totals: Counter[str]) -> WeakenedResult:
    wrong, right, idle = (agreed[kind] / totals[kind] for kind in ("wrong", "right", "idle"))
    return WeakenedResult(
        verifier.name, verifier.what, wrong, right, idle, totals["wrong"], totals["right"], totals["idle"]
    )


def accepted_subjects(judge: Judge, source: CandidateSource, tasks: int, seed: int) -> Iterator[Subject]:
    """Yield the first accepted candidates of a seed, recorded. Each holds until the next is asked for."""
    found = 0
    for number in range(tasks * DRAWS):
        candidate = source.draw(seed, number, "mixed")
        if candidate is not None and judge.judge(candidate).verdict.accepted:
            yield judge.subject(candidate)
            found += 1
            if found == tasks:
                return
    raise UsageError(
        f"{source.environment.domain}: {found} of {tasks * DRAWS} candidates of seed {seed} are accepted; "
        "ask for fewer tasks"
    )


def trials(subject: Subject, maker: MutantMaker, judge: Judge, seed: int) -> Iterator[Trial]:
    """Yield the trajectories of a task: mutants, idle agents and equivalents. A mutant labelled `open` is right if it
    ends in an accepted state."""
    rng = random.Random(stable_int("weakened", seed, subject.candidate.seed, subject.candidate.number))
    mutants = maker.make(subject, judge.recorder, rng)
    for trajectory in (
        *mutants,
        *islice(maker.extras(subject, rng), EXTRAS),
        *equivalents(subject, exchanged(subject)),
    ):
        state = subject.end_state(trajectory)
        right = state.changes in subject.accepted if trajectory.label == "open" else trajectory.label == "right"
        yield Trial(subject, trajectory, state, right=right, idle=False)
    for trajectory in idle_agents(subject):
        yield Trial(subject, trajectory, subject.end_state(trajectory), right=False, idle=True)


def _says(trial: Trial) -> bool:
    """Whether the value of every fact stands somewhere in the form, in whatever field. Yes and no have none."""
    said = trial.subject.form_of(trial.trajectory).casefold()
    return all(str(fact.value).casefold() in said for fact in trial.subject.told if fact.kind != "bool")


def _keys(_: Subject, changes: Changes) -> Hashable:
    return frozenset((table, key) for table, key, _, _ in changes)


def _row_counts(_: Subject, changes: Changes) -> Hashable:
    kinds = Counter((table, before is None, after is None) for table, _, before, after in changes)
    return frozenset(kinds.items())


def _without_money(subject: Subject, changes: Changes) -> Hashable:
    tables = {table for table, *_ in changes}
    return masked(changes, {table: _money_columns(subject, table) for table in tables})


def _money_columns(subject: Subject, table: str) -> frozenset[int]:
    columns = subject.environment.schema.tables[table].columns.values()
    return frozenset(position for position, column in enumerate(columns) if column.type == "cents")


def _same_names(trial: Trial) -> bool:
    made = trial.subject.states.writes(trial.trajectory.calls)
    return Counter(call.name for call in made) == Counter(call.name for call in trial.subject.writes)


def _golden_contained(trial: Trial) -> bool:
    """Whether every golden write was made. The look-ups are left out, since a mutant names its writes only: that would
    kill it by accident."""
    made = [(call.name, call.arguments) for call in trial.trajectory.calls]
    return all((call.name, call.arguments) in made for call in trial.subject.writes)


def _full(trial: Trial) -> bool:
    return bool(trial.subject.score(trial.trajectory))


def _nothing_to_do(trial: Trial) -> bool:
    return not trial.subject.writes and trial.state.changes == NOTHING


VERIFIERS = tuple(
    WeakenedVerifier(name, what, accepts)
    for name, what, accepts in (
        ("full", "end state, facts: the verifier itself", _full),
        ("state only", "end state; the form is not read", lambda t: t.ends_right),
        ("substring facts", "end state, the value of each fact anywhere", lambda t: t.ends_right and _says(t)),
        ("touched keys", "which rows changed, not to what; facts", lambda t: t.ends_alike(_keys) and t.tells),
        (
            "row counts",
            "how many rows of each table were inserted, updated, deleted; facts",
            lambda t: t.ends_alike(_row_counts) and t.tells,
        ),
        ("names of calls", "which writing tools were called, and how often; nothing else", _same_names),
        ("golden calls contained", "whether every golden write was made; nothing else", _golden_contained),
        (
            MONEY,
            "end state without columns of money; facts",
            lambda t: t.ends_alike(_without_money) and t.tells,
        ),
        (
            "no idle gate",
            "as the full one, but nothing at all where a task wants no change and none was made",
            lambda t: _nothing_to_do(t) or _full(t),
        ),
    )
)
"""The full verifier first."""
