"""The plots of an evaluation: accuracy against what it takes, and whom policies call."""

from __future__ import annotations

from collections.abc import Sequence

from eval.statistics import Estimate
from eval.summary import Summary
from toolscale.dataset.describing.charts import BAR, BOUND, FONT, INK, OTHER, open_axes, svg_of
from toolscale.dataset.describing.drawing import own_settings

MOST_TOOLS = 16


def draw_charts(summaries: Sequence[Summary]) -> dict[str, str]:
    """Return title -> SVG. Policies that cost nothing (idle, golden), or nobody knows what, have no place on an axis
    of costs."""
    charts = {}
    for title, name, label, scale in (
        ("Right answers against cost", "cost", "cents of a task", 100.0),
        ("Right answers against latency", "latency", "seconds of a task", 1.0),
    ):
        points = [
            (each.policy, spent, each.accuracy)
            for each in summaries
            if each.accuracy is not None and (spent := getattr(each, name)) is not None and spent.value > 0
        ]
        if len(points) > 1:
            charts[title] = _against(points, label, scale)
    for each in summaries:
        if each.uses:
            charts[f"Calls of each rollout: {each.policy}"] = _shares(each)
    return charts


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return which points nobody beats, by cost (lower) and accuracy (higher), from the cheapest on."""
    order = sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1]))
    front: list[int] = []
    for place in order:
        if not front or points[place][1] > points[front[-1]][1]:
            front.append(place)
    return front


@own_settings()
def _against(points: Sequence[tuple[str, Estimate, Estimate]], label: str, scale: float) -> str:
    figure, axes = open_axes(3.4)
    names: dict[tuple[float, float], list[str]] = {}
    spans: dict[tuple[float, float], tuple[Estimate, Estimate]] = {}
    for name, each, right in points:  # policies that did the same are one point with several names
        place = (scale * each.value, 100 * right.value)
        names.setdefault(place, []).append(name)
        spans[place] = (each, right)
    places = list(names)
    front = [places[number] for number in pareto(places)]
    axes.step(*zip(*front, strict=True), where="post", color=BOUND, linestyle="--", linewidth=1.2)
    for (x, y), (each, right) in spans.items():
        axes.errorbar(
            x, y, color=BAR if (x, y) in front else OTHER, marker="o", markersize=5, linewidth=1.2,
            xerr=[[max(0.0, x - scale * max(each.low, 0))], [max(0.0, scale * each.high - x)]],
            yerr=[[max(0.0, y - 100 * right.low)], [max(0.0, 100 * right.high - y)]],
        )  # fmt: skip
        axes.annotate(
            ", ".join(names[x, y]), (x, y), xytext=(5, 5), textcoords="offset points", fontsize=FONT - 1, color=INK
        )
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=f"{label} (logarithmic)", ylabel="right, %")
    axes.margins(x=0.2, y=0.12)
    return svg_of(figure, axes)


@own_settings()
def _shares(summary: Summary) -> str:
    uses = dict(list(summary.uses.items())[:MOST_TOOLS])
    figure, axes = open_axes(0.27 * len(uses) + 0.6)
    bars = axes.barh(range(len(uses)), list(uses.values()), color=BAR, height=0.7)
    axes.set_yticks(range(len(uses)), list(uses))
    axes.bar_label(bars, [f"{value:.2g}" for value in uses.values()], padding=3, fontsize=FONT, color=INK)
    axes.set_ylim(len(uses) - 0.5, -0.5)
    axes.margins(x=0.15)
    return svg_of(figure, axes)
