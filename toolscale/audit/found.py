"""What an audit says: findings with their evidence, and what it could not decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolscale.errors import UsageError

Kind = Literal[
    "golden_fails", "no_effect", "golden_loses", "idle_wins", "words_win", "shared_goal", "shared_state", "weak_needle",
    "dangling", "unsaid", "unread", "empty_criteria", "empty_part", "not_graded", "untouched_wins", "solution_loses",
    "no_solution", "unstable",
]  # fmt: skip

KINDS: Mapping[Kind, tuple[str, str]] = {
    "golden_fails": ("golden call fails", "A call of the golden answer is an error when it is executed."),
    "no_effect": ("golden call without effect", "A golden call that should change something changes nothing."),
    "golden_loses": ("golden answer loses", "The golden calls and the golden answer together get no reward."),
    "idle_wins": ("idle agent wins", "An agent that makes no call, and says that it cannot help, gets the reward."),
    "words_win": ("words alone win", "An agent that makes no call, and says the golden answer, gets the reward."),
    "shared_goal": ("goal shared", "Several tasks have the same end state, and all else that is graded is equal too."),
    "shared_state": ("end state shared", "Several tasks have the same end state, and differ in what is to be said."),
    "weak_needle": (
        "wrong answer accepted",
        "A wrong answer passes, because the right text is a part of it: 5 is looked for, and It is 15. is accepted.",
    ),
    "dangling": ("dangling reference", "A column that names rows of a table has a value that names none."),
    "unsaid": (
        "argument nobody said",
        "A golden argument is in no instruction, policy, description of a tool or earlier result, nor in the database.",
    ),
    "unread": (
        "argument never read",
        "The same, but that the database has it: the golden calls lack the look-up that finds it.",
    ),
    "empty_criteria": ("criteria empty", "The task names no call, no text to say and no assertion."),
    "empty_part": ("part of the reward empty", "A part of the reward has nothing to compare, and is always met."),
    "not_graded": ("criterion not graded", "A criterion stands in the task, and its reward does not count it."),
    "untouched_wins": ("untouched task wins", "Nobody did anything in the container, and it scores 1 or more."),
    "solution_loses": ("solution loses", "After the task's own solution it scores less than 1."),
    "no_solution": ("no solution", "The task brings no solution, so nothing shows that it can be won."),
    "unstable": ("score differs", "The same run, made twice, scores differently."),
}
"""Kind of finding -> its title, and what it says."""

OF_RUNS: tuple[Kind, ...] = ("untouched_wins", "solution_loses", "no_solution", "unstable")
"""What is looked for in tasks for Harbor."""
OF_CALLS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in OF_RUNS)
"""What is looked for in all other sources."""

EXECUTED: tuple[Kind, ...] = ("golden_fails", "no_effect", "golden_loses", "idle_wins", "words_win", "shared_goal")
"""What only the execution of a task tells."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. `tasks`: whom it concerns, none for a database. `place`: where in the task."""

    kind: Kind
    tasks: tuple[str, ...]
    place: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """One question that the audit cannot answer, and why. `tasks`: whom it concerns, none for all of them."""

    kind: Kind
    tasks: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of one dataset."""

    source: str
    name: str
    tasks: int
    calls: int
    """Golden calls of all tasks."""
    executed: int
    """Golden calls that were executed."""
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    notes: tuple[str, ...] = ()
    """How it was read and run."""
    kinds: tuple[Kind, ...] = OF_CALLS
    """What was looked for."""

    def counts(self) -> dict[Kind, int]:
        """Return how many findings there are of each kind that was looked for, in the order of KINDS."""
        found = Counter(finding.kind for finding in self.findings)
        return {kind: found[kind] for kind in self.kinds}

    def concerned(self, kind: Kind) -> int:
        """Return how many tasks the findings of a kind concern."""
        return len({task for finding in self.findings if finding.kind == kind for task in finding.tasks})

    def open(self, kind: Kind) -> int:
        """Return how many tasks a kind is undecided for."""
        undecided = [each.tasks for each in self.undecided if each.kind == kind]
        return self.tasks if () in undecided else len({task for tasks in undecided for task in tasks})


def bad_input(file: object, place: str, value: Any, remedy: str) -> UsageError:
    """Return the error for input that cannot be read: one line with the file, the place, the value, what to do."""
    told = " ".join(part for part in (f"{place}:" if place else "", value) if part)
    return UsageError(f"{file}: {told}; {remedy}")
