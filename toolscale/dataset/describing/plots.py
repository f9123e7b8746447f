"""The two pictures of the card, as PNG bytes that depend on the figures alone."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from toolscale.dataset.describing.figures import Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TOOLS = 24
INK, BAR, FAINT = "#1f2937", "#2f6f9f", "#d9e2ec"


def plot_gates(figures: Figures) -> bytes:
    """Draw the share of candidates that passed each gate."""
    from matplotlib.figure import Figure  # loads for half a second: not for those who only read

    gates = list(figures.pass_rates)
    figure = Figure(figsize=(8, 0.32 * len(gates) + 1), dpi=110, layout="constrained")
    axes = figure.subplots()
    rates = [100 * figures.pass_rates[gate] for gate in gates]
    bars = axes.barh(gates, rates, color=BAR, height=0.7)
    axes.bar_label(bars, [f"{rate:.1f} %" for rate in rates], padding=3, fontsize=8, color=INK)
    axes.invert_yaxis()
    axes.set(xlim=(0, 108), xlabel="candidates that passed the gate, %")
    return _png(figure, axes)


def plot_calls(figures: Figures) -> bytes:
    """Draw how many golden calls tasks have, and how often each tool is called."""
    from matplotlib.figure import Figure

    tools = dict(list(figures.tools.items())[:MOST_TOOLS])
    figure = Figure(figsize=(10, 0.22 * len(tools) + 1.4), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.bar([str(calls) for calls in figures.calls], list(figures.calls.values()), color=BAR)
    left.set(xlabel="golden calls", ylabel="tasks")
    bars = right.barh(list(tools), list(tools.values()), color=BAR, height=0.7)
    right.bar_label(bars, padding=3, fontsize=8, color=INK)
    right.invert_yaxis()
    right.set(
        xlabel="golden calls to the tool"
        if len(tools) == len(figures.tools)
        else f"golden calls to the {MOST_TOOLS} most used tools"
    )
    right.margins(x=0.1)
    return _png(figure, left, right)


def _png(figure: Figure, *all_axes: Axes) -> bytes:
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, color=FAINT)
    buffer = io.BytesIO()
    # The version of matplotlib would otherwise stand in the file.
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
