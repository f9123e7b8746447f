"""What runs of several seeds say together: means with 95 % intervals of Student's t."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

FIGURES = ("utility", "share", "right", "cost_usd", "latency_s", "best")
TABLES = (
    *("a", "d", "third", "beyond", "wording", "weights", "strangers", "accurate", "thrifty", "hasty"),
    *("wished", "wished_strangers", "denied"),
)
WHOLE = "whole"
"""The kind of run that is the configuration itself, with the full reward; others are named by their reward."""
FULL = "absolute"
"""Its reward."""
Measured = Mapping[str, Mapping[str, Any]]
"""Name of a run, `kind-seed` -> what `experiments.measure` found."""
Spread = tuple[float, float | None]
"""A mean, and the half width of its 95 % interval; none: it is of one value."""


def means_of(found: Sequence[Any]) -> Any:
    """Return one mapping with the means over seeds of numbers at the same places."""
    if isinstance(found[0], Mapping):
        return {name: means_of([each[name] for each in found]) for name in found[0]}
    return float(np.mean(found))


def kind_of(name: str) -> str:
    """Return the kind of a run, from its name `kind-seed`."""
    return name.rpartition("-")[0]


def of_kind(measured: Measured, kind: str) -> list[Mapping[str, Any]]:
    """Return what was found for the runs of a kind, in the order of their names."""
    return [run for name, run in sorted(measured.items()) if kind_of(name) == kind]


def interval(values: Sequence[float]) -> Spread:
    """Return the mean and the half width of its 95 % interval (Student's t)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    return mean, float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def shown(spread: Spread) -> str:
    """Return a share and its spread, %."""
    mean, half = spread
    return f"{mean:.1%} (one seed)" if half is None else f"{mean:.1%} ± {half:.1%}"


def over_seeds(measured: Measured, kind: str, table: str) -> dict[str, dict[str, Spread]]:
    """Return policy -> figure -> (mean, half width), over the seeds of one kind of reward."""
    tables = [found[table] for found in of_kind(measured, kind)]
    policies = [row["policy"] for row in tables[0]]
    rows = {policy: [row for each in tables for row in each if row["policy"] == policy] for policy in policies}
    return {
        policy: {figure: interval([row[figure] for row in found]) for figure in FIGURES}
        for policy, found in rows.items()
    }


def rewards_of(measured: Measured) -> dict[str, dict[str, Any]]:
    """Return reward -> what its runs reach: figure -> (mean, half width) in words of training (`a`), on the clean split
    (`wording`) and there without wishes about single tools (`weights`), and `pairs`. The full reward comes first, with
    the seeds alone that the others have too."""
    others = list(dict.fromkeys(kind_of(name) for name in measured if kind_of(name) != WHOLE))
    seeds = {name.rpartition("-")[2] for name in measured if kind_of(name) in others}
    alike = {name: run for name, run in measured.items() if name.rpartition("-")[2] in seeds}
    return {
        FULL if kind == WHOLE else kind: {
            **{table: over_seeds(alike, kind, table)["trained"] for table in ("a", "wording", "weights")},
            "pairs": means_of([run["pairs"]["trained"] for run in of_kind(alike, kind)]),
        }
        for kind in (WHOLE, *others)
    }
