"""Files of tau2-bench (sierra-research/tau2-bench, MIT): the tasks of a domain, and the simulations of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.errors import UsageError
from toolscale.models.completion import excerpt

BASIS = ("DB", "COMMUNICATE")
"""What a task is rewarded for that does not say it."""

RESULTS = "results.json"
"""The file that `tau2 run` writes."""

REMEDY = "give the folder of a domain in data/tau2/domains of a checkout of tau2-bench 1.0.1"


@dataclass(frozen=True)
class Action:
    """A call of the reference solution. `compare`: the arguments that count; None: those that the other call has."""

    name: str
    arguments: Mapping[str, Any]
    compare: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Tau2Task:
    """A task, as far as it is graded."""

    id: str
    actions: tuple[Action, ...]
    communicate: tuple[str, ...]
    basis: tuple[str, ...]
    raw: Mapping[str, Any]
    """All of it: what identifies it."""

    @property
    def is_judged(self) -> bool:
        """Whether tau2 asks a model of its own what it is worth."""
        criteria = self.raw.get("evaluation_criteria") or {}
        return "NL_ASSERTION" in self.basis and bool(criteria.get("nl_assertions"))


@dataclass(frozen=True)
class Tau2Call:
    """A call of a trajectory, by the agent or by the simulated user."""

    name: str
    arguments: Mapping[str, Any]
    failed: bool


@dataclass(frozen=True)
class Simulation:
    """One trial of one task."""

    task: str
    trial: int
    ending: str
    messages: tuple[Mapping[str, Any], ...]
    cost_usd: float | None
    """None where nobody knows it."""
    seconds: float
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """`reward_info`: what tau2 found when it ran."""
    error: str = ""
    """Why a trial broke, on one line."""

    def calls(self) -> list[Tau2Call]:
        """Return all calls in order, those of the user too."""
        failed = {each.get("id") for each in self.messages if each.get("role") == "tool" and each.get("error")}
        return [
            Tau2Call(call["name"], call.get("arguments") or {}, call.get("id") in failed and call.get("id") is not None)
            for message in self.messages
            if message.get("role") in ("assistant", "user")
            for call in message.get("tool_calls") or ()
        ]

    def said(self) -> list[str]:
        """Return what the agent said to the user."""
        return [
            str(message["content"])
            for message in self.messages
            if message.get("role") == "assistant" and message.get("content") and not message.get("tool_calls")
        ]


@dataclass(frozen=True)
class Run:
    """The simulations of one agent."""

    agent: str
    user: str
    simulations: tuple[Simulation, ...]


def read_tasks(folder: Path, split: str | None) -> list[Tau2Task]:
    """Return the tasks of a domain, in the order of the file; `split`: those of one of its splits. UsageError for a
    file that is missing or none."""
    path = folder / "tasks.json"
    tasks = [_task(raw, path, place) for place, raw in enumerate(_list(_read(path), path))]
    splits = folder / "split_tasks.json"
    if split is None or not splits.is_file():
        if split not in (None, "base"):
            raise UsageError(f"{folder}: has no split {split!r} ({splits.name} is missing); take `base`")
        return tasks
    found = _read(splits)
    if not isinstance(found, dict) or split not in found:
        known = ", ".join(found) if isinstance(found, dict) else "none"
        raise UsageError(f"{splits}: has no split {split!r}; it has {known}")
    wanted = set(map(str, found[split]))
    return [task for task in tasks if task.id in wanted]


def read_run(path: Path) -> Run:
    """Return the simulations of a results file of `tau2 run`. UsageError for a file that is missing or none."""
    found = _read(path)
    if not isinstance(found, dict) or not isinstance(found.get("simulations"), list):
        raise UsageError(f"{path}: has no `simulations`; give the results file that tau2 run wrote")
    info = found.get("info") or {}
    try:
        simulations = tuple(_simulation(raw) for raw in found["simulations"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path}: a simulation cannot be read ({error!r}); write it with tau2 1.0.1") from error
    return Run(_named(info.get("agent_info")), _named(info.get("user_info")), simulations)


def _task(raw: Any, path: Path, place: int) -> Tau2Task:
    try:
        criteria = raw.get("evaluation_criteria") or {}
        actions = tuple(
            Action(
                each["name"],
                each.get("arguments") or {},
                None if each.get("compare_args") is None else tuple(each["compare_args"]),
            )
            for each in criteria.get("actions") or ()
        )
        return Tau2Task(
            id=str(raw["id"]),
            actions=actions,
            communicate=tuple(map(str, criteria.get("communicate_info") or ())),
            basis=tuple(criteria.get("reward_basis") or BASIS) if raw.get("evaluation_criteria") else (),
            raw=raw,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: task {place}: cannot be read ({error!r}); {REMEDY}") from error


def _simulation(raw: Mapping[str, Any]) -> Simulation:
    return Simulation(
        task=str(raw["task_id"]),
        trial=int(raw.get("trial") or 0),
        ending=str(raw.get("termination_reason") or ""),
        messages=tuple(dict(message) for message in raw["messages"]),
        cost_usd=float(raw.get("agent_cost") or 0.0) or None,  # LiteLLM says 0 of what has no price in its table
        seconds=float(raw.get("duration") or 0.0),
        recorded=dict(raw.get("reward_info") or {}),
        error=excerpt(str((raw.get("info") or {}).get("error") or ""), ""),
    )


def _named(info: Any) -> str:
    found = info if isinstance(info, Mapping) else {}
    return str(found.get("llm") or found.get("implementation") or "unknown")


def _list(value: Any, path: Path) -> Sequence[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{path}: is no list of tasks; {REMEDY}")
    return value


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: is missing; {REMEDY}") from error
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path}: cannot be read ({reason}); get the file again") from error
