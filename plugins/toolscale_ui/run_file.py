"""`run.json`: what a scheduled run says about itself before it works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunFile:
    """A scheduled run."""

    dag_id: str
    run_id: str
    started: str
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
    domains = about.get("domains")
    return RunFile(
        dag_id=str(dag_id),
        run_id=sayable(run_id),
        started=sayable(about.get("started") or ""),
        domains=[sayable(domain) for domain in domains] if isinstance(domains, list) else [],
        night=sayable(about.get("night") or ""),
    )


def sayable(value: Any) -> str:
    """Return a text that can stand in an address: JSON may hold half of a surrogate pair, which UTF-8 cannot."""
    return str(value).encode(errors="replace").decode()
