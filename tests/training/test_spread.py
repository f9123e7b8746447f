"""What may be said of measurements of several seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from training.findings import Finding, findings_of
from training.spread import ahead, every, interval, shown


def runs(*shares: tuple[float, float]) -> dict[str, dict[str, Any]]:
    """Measurements of one table: for each seed what the trained model has, and what the rule has."""
    policies = ("trained", "tools, else cheapest")
    return {
        f"whole-{seed}": {"a": [{"policy": name, "share": share} for name, share in zip(policies, row, strict=True)]}
        for seed, row in enumerate(shares)
    }


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        (((0.90, 0.80), (0.91, 0.81), (0.89, 0.80)), "reached"),
        (((0.734, 0.70), (0.739, 0.691), (0.687, 0.698)), "not sure"),
        (((0.79, 0.80), (0.78, 0.81)), "not reached"),
        (((0.99, 0.80),), "not sure"),
    ],
)
def test_a_model_is_ahead_where_the_seeds_leave_no_doubt(shares: tuple[tuple[float, float], ...], verdict: str) -> None:
    assert Finding("", ahead(runs(*shares), "whole", "a")).verdict == verdict


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [((True, True), True), ((True, None), None), ((None, False), False), ((False, None), False)],
)
def test_one_thing_that_is_not_so_outweighs_what_is_not_sure(
    verdicts: tuple[bool | None, ...], together: bool | None
) -> None:
    assert every(verdicts) is together


def test_the_page_tells_what_the_figures_beside_it_show() -> None:
    results = Path("docs/results")
    page = (results / "README.md").read_text(encoding="utf-8")
    findings = findings_of(json.loads((results / "figures.json").read_text(encoding="utf-8"))["runs"])
    told = {"reached": "", "not sure": "**Not sure**: ", "not reached": "**Not reached**: "}
    assert all(f"\n* {told[finding.verdict]}{finding.words}\n" in page for finding in findings)


def test_one_seed_has_no_interval() -> None:
    assert interval([0.5]) == (0.5, None)
    assert shown((0.5, None)) == "50.0% (one seed)"
    assert shown(interval([0.5, 0.6])) == "55.0% ± 63.5%"
