"""The two pictures of the card, as PNG bytes that depend on the figures alone: a process draws each once."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from toolscale.dataset.describing.drawing import own_settings
from toolscale.dataset.describing.figures import Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TOOLS = 24
INK, BAR, FAINT = "#1f2937", "#2f6f9f", "#d9e2ec"


Bars = tuple[tuple[str, float], ...]
"""Label and length of each bar."""


def plot_gates(figures: Figures) -> bytes:
    """Draw the share of candidates that passed each gate."""
    return _gates(tuple((gate, 100 * rate) for gate, rate in figures.pass_rates.items()))


def plot_calls(figures: Figures) -> bytes:
    """Draw how many golden calls tasks have, and how often each tool is called."""
    return _calls(tuple((str(calls), tasks) for calls, tasks in figures.calls.items()), tuple(figures.tools.items()))


@lru_cache(maxsize=16)
@own_settings()
def _gates(rates: Bars) -> bytes:
    from matplotlib.figure import Figure  # loads for half a second: not for those who only read

    figure = Figure(figsize=(8, 0.32 * len(rates) + 1), dpi=110, layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(*_sides(rates), color=BAR, height=0.7)
    axes.bar_label(bars, [f"{rate:.1f} %" for _, rate in rates], padding=3, fontsize=8, color=INK)
    axes.invert_yaxis()
    axes.set(xlim=(0, 108), xlabel="candidates that passed the gate, %")
    return _png(figure, axes)


@lru_cache(maxsize=16)
@own_settings()
def _calls(tasks: Bars, all_tools: Bars) -> bytes:
    from matplotlib.figure import Figure

    tools = all_tools[:MOST_TOOLS]
    figure = Figure(figsize=(10, 0.22 * len(tools) + 1.4), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.bar(*_sides(tasks), color=BAR)
    left.set(xlabel="golden calls", ylabel="tasks")
    bars = right.barh(*_sides(tools), color=BAR, height=0.7)
    right.bar_label(bars, padding=3, fontsize=8, color=INK)
    right.invert_yaxis()
    right.set(
        xlabel="golden calls to the tool"
        if len(tools) == len(all_tools)
        else f"golden calls to the {MOST_TOOLS} most used tools"
    )
    right.margins(x=0.1)
    return _png(figure, left, right)


def _sides(bars: Bars) -> tuple[list[str], list[float]]:
    return [label for label, _ in bars], [length for _, length in bars]


def _png(figure: Figure, *all_axes: Axes) -> bytes:
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, color=FAINT)
    buffer = io.BytesIO()
    # The version of matplotlib would otherwise stand in the file.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
