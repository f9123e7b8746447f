"""What evaluations of checkpoints gave: right answers by benchmark and policy, what the gate said, and their trend."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolscale_ui.data_folder import DataFolder, Listing
from toolscale_ui.lineage import MOST_TEXT
from toolscale_ui.run_file import sayable

PAGE_EVALUATIONS = 20
"""Evaluations of one page."""
MOST_DRAWN = 60
"""Evaluations in a trend: the latest ones."""
MOST_BENCHMARKS = 24

BOX, MARGIN = (200, 44), 5
"""Width and height of the drawing of a trend, and what is left free around it."""

TRAINED, SHOWN = "trained", ("accepted", "untrained", "idle", "golden")
"""The policy that is evaluated, and those that are shown beside it."""


@dataclass(frozen=True)
class Right:
    """The share of tasks that a policy gets right, with its 95 % interval, and dollars for a task where they are
    known."""

    value: float
    low: float
    high: float
    tasks: int
    dollars: float | None

    @property
    def interval(self) -> str:
        """The interval for people."""
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}"


@dataclass(frozen=True)
class Benchmark:
    """What one benchmark gave."""

    name: str
    policies: Mapping[str, Right]
    problem: str = ""
    has_report: bool = False

    @property
    def trained(self) -> Right | None:
        """The checkpoint that was evaluated."""
        return self.policies.get(TRAINED)


@dataclass(frozen=True)
class Gate:
    """What the regression gate said: when, and of which checkpoint."""

    finished: str
    checkpoint: str
    passed: bool
    verdicts: Mapping[str, str]
    """Benchmark -> the verdict against the checkpoint that was accepted before; empty for the first one."""


@dataclass(frozen=True)
class Evaluation:
    """A checkpoint on all its benchmarks."""

    name: str
    gate: Gate | None
    """None while it runs, where it was stopped, and where what the gate said cannot be read."""
    benchmarks: Sequence[Benchmark]
    problem: str = ""
    """Why what the gate said cannot be read."""


@dataclass(frozen=True)
class Trend:
    """The right answers of trained checkpoints on one benchmark, over evaluations that the gate has seen."""

    benchmark: str
    values: Sequence[float]
    refused: int
    """How many were worse than the one accepted before."""
    is_refused: bool
    """Whether the last one was."""
    points: Sequence[tuple[float, float]]
    """In BOX: numbers only, so that nothing from data reaches the drawing."""
    dots: Sequence[tuple[float, float, bool]]
    """Those that are drawn as one, and whether it was refused: the refused ones, and the last."""

    @property
    def words(self) -> str:
        """What the line shows, for whoever does not see it."""
        many = "evaluation" if len(self.values) == 1 else "evaluations"
        told = f"Right answers on {self.benchmark} over {len(self.values)} {many}, the oldest first: from "
        told += f"{100 * self.values[0]:.1f} % to {100 * self.values[-1]:.1f} %"
        return told + (f"; {self.refused} marked as worse than the one accepted before" if self.refused else "")


@dataclass(frozen=True)
class EvaluationsPage:
    """One page of evaluations, newest first, with the trends over all of them."""

    evaluations: Sequence[Evaluation]
    trends: Sequence[Trend]
    number: int
    pages: int
    total: int


class Evaluations:
    """All evaluations below a data folder. Threads may share it."""

    def __init__(self, folder: DataFolder):
        self.folder = folder

    def page(self, number: int) -> EvaluationsPage:
        """Return one page."""
        found = self._all(self.folder.listing())
        shown = found[(number - 1) * PAGE_EVALUATIONS : number * PAGE_EVALUATIONS]
        return EvaluationsPage(shown, trends_of(found), number, -(-len(found) // PAGE_EVALUATIONS), len(found))

    def report(self, evaluation: str, benchmark: str) -> bytes:
        """Return a report, one HTML page. KeyError if there is none: the names are looked up before they make a
        path."""
        return self.folder.read(
            self.folder.listing()["evaluation_report"][f"evaluations/{evaluation}/{benchmark}/report.html"].path
        )

    def _all(self, listing: Listing) -> list[Evaluation]:
        gates = self.folder.parsed(listing["gate"].values(), gate_of)
        figures = self.folder.parsed(listing["evaluated"].values(), policies_of)
        by_name: dict[str, list[Benchmark]] = {path.split("/")[1]: [] for path in gates}
        for path, found in sorted(figures.items()):
            _, name, benchmark, _ = path.split("/")
            policies, problem = (found, "") if isinstance(found, dict) else ({}, f"{path}: {found}")
            report = f"evaluations/{name}/{benchmark}/report.html" in listing["evaluation_report"]
            by_name.setdefault(name, []).append(Benchmark(benchmark, policies, problem, report))
        made = [
            _evaluation(name, gates.get(f"evaluations/{name}/gate.json"), benchmarks[:MOST_BENCHMARKS])
            for name, benchmarks in by_name.items()
        ]
        return sorted(made, key=_newest, reverse=True)


def _evaluation(name: str, gate: Gate | str | None, benchmarks: Sequence[Benchmark]) -> Evaluation:
    if isinstance(gate, str):
        return Evaluation(name, None, benchmarks, f"evaluations/{name}/gate.json: {gate}")
    return Evaluation(name, gate, benchmarks)


def _newest(evaluation: Evaluation) -> tuple[bool, str, str]:
    """The order of evaluations: those without a word of the gate are the newest."""
    gate = evaluation.gate
    return gate is None, gate.finished if gate else "", evaluation.name


def trends_of(evaluations: Sequence[Evaluation]) -> list[Trend]:
    """Return the trend of each benchmark over evaluations, given newest first."""
    points: dict[str, list[tuple[float, bool]]] = {}
    for evaluation in reversed(evaluations):
        verdicts = evaluation.gate.verdicts if evaluation.gate else None
        for benchmark in evaluation.benchmarks:
            if benchmark.trained is not None and verdicts is not None:
                point = benchmark.trained.value, verdicts.get(benchmark.name) == "worse"
                points.setdefault(benchmark.name, []).append(point)
    trends = []
    for name, all_points in sorted(points.items())[:MOST_BENCHMARKS]:
        drawn = all_points[-MOST_DRAWN:]
        values, marked = [value for value, _ in drawn], [worse for _, worse in drawn]
        line = _line(values)
        dots = [(*point, mark) for point, mark in zip(line, marked, strict=True) if mark or point == line[-1]]
        trends.append(Trend(name, values, sum(marked), marked[-1], line, dots))
    return trends


def _line(values: Sequence[float]) -> list[tuple[float, float]]:
    """Where values stand in BOX, from left to right."""
    low, span = min(values), max(values) - min(values)
    wide, high = (side - 2 * MARGIN for side in BOX)
    return [
        (
            round(MARGIN + wide * (place / (len(values) - 1) if len(values) > 1 else 0.5), 1),
            round(MARGIN + high * (1 - (value - low) / span if span else 0.5), 1),
        )
        for place, value in enumerate(values)
    ]


def gate_of(content: bytes) -> Gate | str:
    """Return what a `gate.json` says, or in words why it cannot be read."""
    try:
        about = json.loads(content)
        verdicts = {_short(name): _short(verdict) for name, verdict in about["verdicts"].items()}
        return Gate(_short(about["finished"]), _short(about["checkpoint"]), about["passed"] is True, verdicts)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "not the word of a gate"


def policies_of(content: bytes) -> dict[str, Right] | str:
    """Return policy -> what it got right, of the figures of a benchmark, or in words why they cannot be read. Policies
    of which nothing was scored are left out."""
    try:
        about = json.loads(content)
        return {_short(name): right for name, told in about.items() if (right := _right_of(told)) is not None}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return "not the figures of a benchmark"


def _right_of(told: Mapping[str, Any]) -> Right | None:
    right, cost = told["accuracy"], told.get("cost")
    if right is None:
        return None
    value, low, high = (float(right[name]) for name in ("value", "low", "high"))
    if not 0 <= low <= value <= high <= 1:
        raise ValueError(f"{value} between {low} and {high} is no share")
    return Right(value, low, high, int(told["tasks"]), float(cost["value"]) if cost else None)


def _short(value: Any) -> str:
    return sayable(value)[:MOST_TEXT]
