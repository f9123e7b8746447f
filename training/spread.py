"""What runs of several seeds say together: means with 95 % intervals of Student's t, and who is ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

FIGURES = ("utility", "share", "right", "cost_usd", "latency_s", "best")
RIVAL = "tools, else cheapest"
"""The rule that a user would begin with: it knows which tool fits and what experts cost, and nothing else."""
AVERAGE, TOLD = "best for the average user", "tools, else by the wish"
"""The best that reads no wish, and a rule that is told it."""
TABLES = (
    *("a", "d", "third", "beyond", "wording", "weights", "strangers", "accurate", "thrifty", "hasty"),
    *("wished", "wished_strangers", "denied"),
)
WHOLE = "whole"
"""The kind of run that is the configuration itself, with the full reward; others are named by their reward."""
FULL = "absolute"
"""Its reward."""
CHAINED = "two_steps"
"""The kind of run that has questions of two steps among its tasks."""
PARTS = ("all", "both", "lacking")
"""Its tables: all tasks, questions of two steps with both tools, and those that lack one."""
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


def seed_of(name: str) -> int:
    """Return the seed of a run, from its name `kind-seed`."""
    return int(name.rpartition("-")[2])


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


def narrow(spread: Spread, most: float) -> bool:
    """Whether the half width is known and at most this."""
    return spread[1] is not None and spread[1] <= most


def positive(values: Sequence[float]) -> bool | None:
    """Whether values, one a seed, are surely above 0: by their 95 % interval. None: they are on average, and the
    interval reaches 0 or there is one seed."""
    mean, half = interval(values)
    return (None if half is None or half >= mean else True) if mean > 0 else False


def every(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all of several things are so; None: none of them is not so, and some are not sure."""
    return False if False in verdicts else None if None in verdicts else True


def figures_of(measured: Measured, kind: str, table: str, policy: str, figure: str = "share") -> list[float]:
    """Return one figure of one policy, seed by seed."""
    return [row[figure] for run in of_kind(measured, kind) for row in run[table] if row["policy"] == policy]


def leads(measured: Measured, kind: str, table: str, figure: str = "share", rival: str = RIVAL) -> list[float]:
    """Return by how much the trained model has more than a rival, seed by seed."""
    own, others = (figures_of(measured, kind, table, policy, figure) for policy in ("trained", rival))
    return [one - other for one, other in zip(own, others, strict=True)]


def ahead(measured: Measured, kind: str, table: str, figure: str = "share", rival: str = RIVAL) -> bool | None:
    """Whether the trained model surely has more than a rival."""
    return positive(leads(measured, kind, table, figure, rival))


def over_seeds(measured: Measured, kind: str, table: str) -> dict[str, dict[str, Spread]]:
    """Return policy -> figure -> (mean, half width), over the seeds of one kind of reward."""
    tables = [found[table] for found in of_kind(measured, kind)]
    policies = [row["policy"] for row in tables[0]]
    rows = {policy: [row for each in tables for row in each if row["policy"] == policy] for policy in policies}
    return {
        policy: {figure: interval([row[figure] for row in found]) for figure in FIGURES}
        for policy, found in rows.items()
    }


def with_seeds_of(measured: Measured, kinds: Sequence[str]) -> Measured:
    """Return the runs, of all kinds, with the seeds alone that these kinds have."""
    seeds = {seed_of(name) for name in measured if kind_of(name) in kinds}
    return {name: run for name, run in measured.items() if seed_of(name) in seeds}


def rewards_of(measured: Measured) -> dict[str, dict[str, Any]]:
    """Return reward -> what its runs reach: figure -> (mean, half width) in words of training (`a`), on the clean split
    (`wording`) and there without wishes about single tools (`weights`), and `pairs`. The full reward comes first, with
    the seeds alone that the others have too."""
    others = list(dict.fromkeys(kind_of(name) for name in measured if kind_of(name) not in (WHOLE, CHAINED)))
    alike = with_seeds_of(measured, others)
    return {
        FULL if kind == WHOLE else kind: {
            **{table: over_seeds(alike, kind, table)["trained"] for table in ("a", "wording", "weights")},
            "pairs": means_of([run["pairs"]["trained"] for run in of_kind(alike, kind)]),
        }
        for kind in (WHOLE, *others)
    }
