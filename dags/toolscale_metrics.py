"""Figures of the pipeline as metrics of Airflow: to StatsD or OpenTelemetry, whichever the environment turns on, and to
nobody otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any


def measure_judging(domain: str, judge: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    """Judge a shard and return its figures. Counted: candidates, accepted, those without a case, and those that each
    gate rejected."""
    figures, took = _timed(judge, *arguments)
    counts = {f"{name}.{domain}": figures[name] for name in ("candidates", "accepted", "no_case")}
    rejected = {f"rejected.{domain}.{gate}": count for gate, count in figures["gates"].items()}
    _tell("judge", domain, counts | rejected, took)
    return figures


def measure_assembling(domain: str, assemble: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    """Assemble the dataset of a domain and return its figures. Counted: the tasks that were asked for, and those that
    it has."""
    figures, took = _timed(assemble, *arguments)
    _tell("assemble", domain, {f"{name}.{domain}": figures["counts"][name] for name in ("asked", "accepted")}, took)
    return figures


def _timed(work: Callable[..., dict[str, Any]], *arguments: str) -> tuple[dict[str, Any], timedelta]:
    """What the work returns, and how long it took. What fails is not counted: Airflow counts failed tasks itself."""
    begin = time.monotonic()
    figures = work(*arguments)
    return figures, timedelta(seconds=time.monotonic() - begin)


def _tell(stage: str, domain: str, counts: Mapping[str, int], took: timedelta) -> None:
    """The domain and the gate are parts of the names: plain StatsD has no tags."""
    from airflow.sdk.observability.stats import Stats

    for name, count in counts.items():
        Stats.incr(f"toolscale.{stage}.{name}", count)
    Stats.timing(f"toolscale.{stage}.duration.{domain}", took)
