"""How tests run a policy on the questions (`play` of conftest.py), and lines of runs that never took place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from eval.records import Line
from eval.storage import read_results

TASKS = 12
"""Questions of the test split that are played."""

Play = Callable[..., Path]
"""(player, samples, out, at_once) -> the folder of its results."""


def made_up(policy: str, **given: Any) -> Line:
    """A line of a run that never took place; one without a score is an error."""
    usual = {
        "policy": policy, "policy_hash": policy, "sample": 0, "status": "error" if given["score"] is None else "scored",
        "finding": "", "stop": "answered", "judge": "hand", "cost_usd": 0.01, "latency_s": 1.0,
        "own_cost_usd": 0.0, "own_latency_s": 0.0, "input_tokens": 0, "output_tokens": 0, "turns": 1, "malformed": 0,
        "uses": {},
    }  # fmt: skip
    return Line.model_validate({**usual, **given})


def timeless(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run without what a clock measured."""
    clocked = {"latency_s", "own_latency_s", "utility"}
    return [line.model_dump(exclude=clocked) for line in read_results(folder)[1]]
