"""A task of any dataset as the checks read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Made:
    """A golden call. `result`: what it returned, None where it was not executed; `error`: why it failed."""

    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    error: str | None = None
    writes: bool = False
    """Whether its tool changes something, where that is known."""
    changed: bool | None = None
    """Whether anything was another than before when it had been made; None where that is not known."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@dataclass(frozen=True, slots=True)
class Run:
    """What a run without calls, or the golden one, is worth. `reward`: None where it cannot be told, for `why`."""

    said: str
    reward: float | None
    parts: Mapping[str, float]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """A task. `told`: the texts that say what is wanted; `heard`: all else that an agent reads before its first call.

    `start`, `goal`: the state of the databases before and after the golden calls; None where nothing was executed.
    `databases`: what they hold before; None where they are not there.
    """

    id: str
    told: tuple[str, ...]
    heard: tuple[str, ...]
    calls: tuple[Made, ...]
    needles: tuple[str, ...]
    """Texts that the answer must hold."""
    assertions: tuple[str, ...]
    """Other criteria, each as one text."""
    basis: tuple[str, ...]
    """The parts of the reward; none: nothing is compared."""
    ungraded: tuple[str, ...] = ()
    """Criteria that no part of the reward counts, in words."""
    hollow: tuple[str, ...] = ()
    """Parts of the reward that have nothing to compare, in words."""
    start: str | None = None
    goal: str | None = None
    databases: Mapping[str, Any] | None = None
    idle: Run | None = None
    words: Run | None = None
    golden: Run | None = None

    @property
    def idles(self) -> bool | None:
        """Whether the goal is the state that is there before anybody acts; None where that was not executed."""
        return None if self.goal is None or self.start is None else self.goal == self.start
