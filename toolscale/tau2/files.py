"""Files of tau2-bench: the tasks of a domain, and the simulations of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolscale.dataset.columns import load_cell
from toolscale.errors import UsageError
from toolscale.models.completion import excerpt
from toolscale.tau2.checkout import REMEDY
from toolscale.text_files import printable

BASIS = ("DB", "COMMUNICATE")
"""What a task is rewarded for that does not say it."""

RESULTS = "results.json"
"""The file that `tau2 run` writes."""


@dataclass(frozen=True)
class Source:
    """Where a task stands (`tasks.json: task 3`), and what to do if it cannot be read."""

    place: str
    remedy: str = REMEDY

    def need(self, value: Any, name: str, sort: type, path: str = "") -> Any:
        """Return what a value has under a name. UsageError if it is missing, or of another sort."""
        found = value.get(name) if isinstance(value, Mapping) else None
        if not isinstance(found, sort):
            told = "is missing" if found is None else f"is {printable(repr(found), 60)}"
            raise UsageError(f"{self.place}: `{path}{name}` {told}; {self.remedy}")
        return found


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
    assertions: tuple[str, ...]
    """What a model judges."""
    basis: tuple[str, ...]
    raw: Mapping[str, Any]
    """All of it: what identifies it."""

    @property
    def is_judged(self) -> bool:
        """Whether tau2 asks a model of its own what it is worth."""
        return "NL_ASSERTION" in self.basis and bool(self.assertions)


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
    raw = read_json(path)
    if not isinstance(raw, list):
        raise UsageError(f"{path}: is no list of tasks; {REMEDY}")
    tasks = [read_task(each, Source(f"{path}: task {place}")) for place, each in enumerate(raw)]
    splits = folder / "split_tasks.json"
    if split is None or not splits.is_file():
        if split not in (None, "base"):
            raise UsageError(f"{folder}: has no split {split!r} ({splits.name} is missing); take `base`")
        return tasks
    found = read_json(splits)
    if not isinstance(found, dict) or split not in found:
        known = ", ".join(found) if isinstance(found, dict) else "none"
        raise UsageError(f"{splits}: has no split {split!r}; it has {known}")
    wanted = set(map(str, found[split]))
    return [task for task in tasks if task.id in wanted]


def read_run(path: Path) -> Run:
    """Return the simulations of a results file of `tau2 run`. UsageError for a file that is missing or none."""
    found = read_json(path)
    if not isinstance(found, dict) or not isinstance(found.get("simulations"), list):
        raise UsageError(f"{path}: has no `simulations`; give the results file that tau2 run wrote")
    info = found.get("info") or {}
    try:
        simulations = tuple(_simulation(raw) for raw in found["simulations"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path}: a simulation cannot be read ({error!r}); write it with tau2 1.0.1") from error
    return Run(_named(info.get("agent_info")), _named(info.get("user_info")), simulations)


def read_task(raw: Any, source: Source) -> Tau2Task:
    """Return a task as tau2 has it. UsageError names what it lacks."""
    id_ = source.need(raw, "id", str)
    is_graded = raw.get("evaluation_criteria") is not None
    criteria = source.need(raw, "evaluation_criteria", dict) if is_graded else {}
    actions, said, asserted, parts = (
        [] if criteria.get(name) is None else source.need(criteria, name, list, "evaluation_criteria.")
        for name in ("actions", "communicate_info", "nl_assertions", "reward_basis")
    )
    return Tau2Task(
        id=id_,
        actions=tuple(
            _action(each, source, f"evaluation_criteria.actions[{place}].") for place, each in enumerate(actions)
        ),
        communicate=tuple(map(str, said)),
        assertions=tuple(map(str, asserted)),
        basis=tuple(map(str, parts or BASIS)) if is_graded else (),
        raw=raw,
    )


def _action(raw: Any, source: Source, path: str) -> Action:
    name = source.need(raw, "name", str, path)
    arguments, compare = raw.get("arguments"), raw.get("compare_args")
    if isinstance(arguments, str):  # some copies keep them as JSON
        try:
            arguments = load_cell(arguments)
        except (ValueError, RecursionError):
            arguments = {"": arguments}
    return Action(
        name,
        arguments if isinstance(arguments, dict) else {},
        None if compare is None else tuple(source.need(raw, "compare_args", list, path)),
    )


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


def read_json(path: Path) -> Any:
    """Return what a file of tau2 holds. UsageError if it is missing, or no JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{path}: is missing; {REMEDY}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read ({printable(str(error), 160)}); get the file again") from error
