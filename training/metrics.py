"""Figures of a run: JSON lines, progress on a terminal, Trackio or Weights & Biases where they are installed and
configured, plots at the end."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from toolscale.errors import StorageError, UsageError
from training.config import MetricsSettings

FILE = "metrics.jsonl"
PLOTTED = ("loss", "reward", "right", "cost_usd", "latency_s", "groups_kept", "entropy", "malformed")

SHOWN = ("reward", "right", "loss")
"""Figures beside the bar."""


class Metrics:
    """Where the figures of a run go. Only the first rank has one."""

    def __init__(self, folder: Path, settings: MetricsSettings, config: Mapping[str, Any]):
        self._path = folder / FILE
        self._settings = settings
        self._trackers = [
            _tracker(name, project, config) for name in ("trackio", "wandb") if (project := getattr(settings, name))
        ]

    def position(self) -> int:
        """How many bytes are written."""
        return self._path.stat().st_size if self._path.exists() else 0

    def rewind(self, position: int) -> None:
        """Drop what was written after a position: steps that are made again."""
        if self.position() < position:
            raise StorageError(
                f"{self._path} is shorter than the checkpoint says ({position} bytes); "
                "restore it, or begin in another folder"
            )
        if self._path.exists():
            os.truncate(self._path, position)

    def write(self, figures: Mapping[str, Any]) -> None:
        """Append the figures of a step as one line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures, ensure_ascii=False) + "\n")
        for tracker in self._trackers:
            tracker.log({name: value for name, value in figures.items() if isinstance(value, int | float)})

    def close(self) -> None:
        """End the trackers, and draw the plots."""
        for tracker in self._trackers:
            tracker.finish()
        if self._settings.plots:
            draw_plots(self._path)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The figures of all steps in a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def draw_plots(path: Path) -> None:
    """Draw the course of the main figures into metrics.png beside the file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = read_metrics(path)
    names = [name for name in PLOTTED if lines and name in lines[0]]
    if not names:
        return
    figure, panels = pyplot.subplots(2, 4, figsize=(16, 7), constrained_layout=True)
    for panel, name in zip(panels.flat, names, strict=False):
        panel.plot([line["step"] for line in lines], [line[name] for line in lines], linewidth=1)
        panel.set_title(name)
        panel.set_xlabel("step")
    figure.savefig(path.with_suffix(".png"), dpi=110)
    pyplot.close(figure)


def _tracker(name: str, project: str, config: Mapping[str, Any]) -> Any:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"metrics.{name} is set, and {name} is not installed; install it, or remove the key"
        ) from error
    module.init(project=project, config=dict(config))
    return module


@contextmanager
def progress(total: int, done: int, shown: bool) -> Iterator[Any]:
    """A bar with the time that is left, on a terminal; gives a function that takes the figures of a step."""
    console = Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task("training", total=total, completed=done)

        def advance(figures: Mapping[str, Any]) -> None:
            bar.update(
                task,
                completed=figures["step"] + 1,
                description=" ".join(f"{name} {figures[name]:.3f}" for name in SHOWN if name in figures),
            )

        yield advance
