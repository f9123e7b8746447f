"""The plots of the report, as SVG that takes its colours from the page: one drawing for light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolscale.config import MOST_SELF_BLEU, NEAR_COSINE, SELF_BLEU_TEXTS, VENDI_FEW
from toolscale.dataset.describing.drawing import own_settings
from toolscale.dataset.describing.figures import Figures
from toolscale.dataset.describing.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"#010203": "var(--ink)", "#010204": "var(--bar)", "#010205": "var(--other)", "#010206": "var(--bound)"}
"""What is drawn with -> what the page calls it."""

INK, BAR, OTHER, BOUND = COLOURS
WIDTH, FONT = 5.0, 11
"""Inches and points: on a phone 400 pixels wide, text is still 10 pixels high."""

MOST_BARS = 24


def draw_charts(parts: Sequence[Measured], outside: Sequence[Measured], figures: Figures) -> dict[str, str]:
    """Return title -> SVG. `figures` are those of all domains together; plots of what was not measured are left out."""
    every = [*parts, *outside]
    repeated = _compared(every, "self_bleu", MOST_SELF_BLEU, len(parts))
    charts = {f"Self-BLEU-4 of {SELF_BLEU_TEXTS}: lower repeats less": repeated}
    if any(item.texts.vendi is not None for item in every):
        charts[f"Vendi score of {VENDI_FEW}: higher is more varied"] = _compared(
            every, "vendi_of_few", None, len(parts)
        )
    if alike := [cosine for part in parts for cosine in part.texts.likeness]:
        charts["How near requests are to the nearest earlier one"] = _histogram(alike)
    charts["Golden calls of a task"] = _columns(figures.calls)
    tools = dict(list(figures.tools.items())[:MOST_BARS])
    most = f", the {MOST_BARS} most used" if len(figures.tools) > MOST_BARS else ""
    charts[f"Golden calls to each tool{most}"] = draw_bars(tools)
    return charts


def _compared(items: Sequence[Measured], name: str, bound: float | None, ours: int) -> str:
    values = {item.name: getattr(item.texts, name) or 0.0 for item in items}
    return draw_bars(values, bound, ours)


@own_settings()
def draw_bars(values: Mapping[str, float], bound: float | None = None, ours: int | None = None) -> str:
    """Return bars from top to bottom; `bound`: a dashed line, `ours`: so many have the colour of what is ours."""
    figure, axes = open_axes(0.27 * len(values) + 0.6)
    names = [_short(name) for name in values]
    colours = [BAR if ours is None or place < ours else OTHER for place in range(len(values))]
    bars = axes.barh(range(len(values)), list(values.values()), color=colours, height=0.7)
    axes.set_yticks(range(len(values)), names)
    axes.bar_label(bars, [f"{value:.3g}" for value in values.values()], padding=3, fontsize=FONT, color=INK)
    if bound is not None:
        axes.axvline(bound, color=BOUND, linestyle="--", linewidth=1.2)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.margins(x=0.15)
    return svg_of(figure, axes)


@own_settings()
def _columns(values: Mapping[int, int]) -> str:
    figure, axes = open_axes(2.4)
    bars = axes.bar([str(key) for key in values], list(values.values()), color=BAR)
    axes.bar_label(bars, padding=2, fontsize=FONT - 1, color=INK)
    axes.set(xlabel="golden calls", ylabel="tasks")
    axes.margins(y=0.12)
    return svg_of(figure, axes)


@own_settings()
def _histogram(values: Sequence[float]) -> str:
    figure, axes = open_axes(2.4)
    axes.hist(values, bins=[step / 40 for step in range(41)], color=BAR)
    axes.axvline(NEAR_COSINE, color=BOUND, linestyle="--", linewidth=1.2)
    axes.set(xlabel="cosine with the nearest earlier request", ylabel="requests", xlim=(0, 1))
    return svg_of(figure, axes)


def open_axes(height: float) -> tuple[Any, Axes]:
    """Return an empty drawing of this height, in inches, and its axes."""
    from matplotlib.figure import Figure  # loads for half a second: not for those who draw nothing

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def svg_of(figure: Any, axes: Axes) -> str:
    """Return the drawing alone, text as text, its colours those of the page."""
    import matplotlib as mpl

    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.tick_params(labelsize=FONT, color=INK, labelcolor=INK)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(size=FONT, color=INK)
    buffer = io.StringIO()
    # What drawings refer to is named by a hash of its content and the salt.
    salt = f"{axes.get_xlabel()} {axes.get_yticklabels()} {axes.get_xlim()}"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "font.family": "sans-serif"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*" ', r"<svg \1", text, count=1)
    text = re.sub(r'(<svg [^>]*?)height="[^"]*" ', r"\1", text, count=1)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # nothing refers to them, and every drawing has the same ones
    for drawn, said in COLOURS.items():
        text = text.replace(drawn, said)
    return text


def _short(name: str) -> str:
    return name if len(name) <= 28 else "…" + name[-27:]
