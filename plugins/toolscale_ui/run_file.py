"""`run.json`: what a scheduled run says about itself before it works."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunFile:
    """A scheduled run."""

    dag_id: str
    run_id: str
    started: str
    seed: int | None
    params: Mapping[str, Any]
    domains: Sequence[str]
    night: str = ""
    """Which night it stands for, ISO 8601; nothing if it was triggered by hand."""


def run_of(content: bytes) -> RunFile | str:
    """Return what a `run.json` says, or in words why it cannot be read."""
    try:
        about = json.loads(content)
        dag_id, run_id = about["dag_id"], about["run_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "not the JSON of a run"
    params, domains, seed = about.get("params"), about.get("domains"), about.get("seed")
    return RunFile(
        dag_id=str(dag_id),
        run_id=sayable(run_id),
        started=sayable(about.get("started") or ""),
        seed=seed if isinstance(seed, int) else None,
        params=params if isinstance(params, dict) else {},
        domains=[sayable(domain) for domain in domains] if isinstance(domains, list) else [],
        night=sayable(about.get("night") or ""),
    )


def sayable(value: Any) -> str:
    """Return a text that can stand in an address: JSON may hold half of a surrogate pair, which UTF-8 cannot."""
    return str(value).encode(errors="replace").decode()
