"""Rollouts that failed, as a page shows them: what was said and called, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.records import Line
from eval.storage import read_rollouts
from toolscale.records import Rollout

OF_EACH = 2
"""Examples of each kind of failure, for each policy."""
LONGEST = 1_200
"""Characters of one message."""


@dataclass(frozen=True)
class Said:
    """One message."""

    who: str
    text: str


@dataclass(frozen=True)
class Example:
    """One rollout that failed."""

    policy: str
    failure: str
    task: str
    finding: str
    said: tuple[Said, ...]


def find_examples(folders: Sequence[Path]) -> list[Example]:
    """Return the first rollouts of each policy and kind of failure. Only these are read into memory."""
    found: list[Example] = []
    for folder in folders:
        counts: dict[str, int] = {}
        for line, rollout in read_rollouts(folder):
            kind = line.failure
            if kind is None or line.policy in ("idle", "golden") or counts.get(kind, 0) >= OF_EACH:
                continue
            counts[kind] = counts.get(kind, 0) + 1
            found.append(_example(line, rollout))
    return sorted(found, key=lambda each: (each.failure, each.policy))


def _example(line: Line, rollout: Rollout) -> Example:
    said = []
    for message in rollout.messages:
        role = str(message.get("role"))
        if role == "system":
            continue
        if content := message.get("content"):
            said.append(Said(role, str(content)[:LONGEST]))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            said.append(Said(f"{role} calls", f"{function['name']}({function['arguments']})"[:LONGEST]))
    return Example(line.policy, line.failure or "", line.task, line.finding, tuple(said))
