"""What the tests of this folder found, for the table at the end of `make engines`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from engines import Engine

BEGAN = time.monotonic()
ROWS: list[tuple[str, str, str, str]] = []
HEADS = ("server", "what was tried", "importance weights", "seconds")


def tell(engine: Engine, what: str, steps: Sequence[dict[str, Any]] = (), found: str = "") -> None:
    """Add a row. `steps`: figures of measured.py; `found`: what is told instead."""
    tokens = sum(step["tokens"] for step in steps)
    if tokens:
        means = ", ".join(f"{step['mean']:.3f}" for step in steps)
        near = ", ".join(f"{step['near']:.1%}" for step in steps)
        found = f"mean {means}; from 0.8 to 1.25: {near} of {tokens} tokens"
    spent = time.monotonic() - BEGAN - sum(float(row[3]) for row in ROWS)
    ROWS.append((f"{engine.name} {engine.version}", what, found, f"{spent:.0f}"))


def table() -> list[str]:
    """All rows, as lines."""
    rows = [HEADS, *ROWS]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def strange(ours: Any, theirs: Any, place: str = "") -> list[str]:
    """What the stand-in says that the other does not: keys, and values of another type. What is not set may be."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [line for key in ours for line in strange(ours[key], theirs.get(key, ...), f"{place}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        return [line for each in ours[:1] for other in theirs[:1] for line in strange(each, other, f"{place}[0]")]
    alike = theirs is None or type(ours) is type(theirs)
    return [] if alike else [f"{place}: {ours!r}, and vLLM has {theirs!r}"]
