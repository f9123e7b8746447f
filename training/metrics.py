"""Figures of a run: JSON lines, progress on a terminal, TensorBoard, Trackio or Weights & Biases where they are
installed and configured, plots at the end.

A run has an id, in the file run-id of its folder: taken up after a stop, it goes on as the same run of a tracker.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from toolscale.dataset.describing.drawing import own_settings
from toolscale.dataset.storage import write_file
from toolscale.errors import StorageError, UsageError
from training.config import MetricsSettings

FILE, RUN_ID = "metrics.jsonl", "run-id"
PLOTTED = ("loss", "reward", "right", "cost_usd", "latency_s", "groups_kept", "entropy", "malformed")

SHOWN = ("reward", "right", "loss")
"""Figures beside the bar."""

TRACKERS = {"tensorboard": "torch.utils.tensorboard", "trackio": "trackio", "wandb": "wandb"}
"""Key of the configuration -> module."""


class Tracker(Protocol):
    """Where figures can be looked at: a module such as wandb, or TensorBoard."""

    def log(self, figures: dict[str, float], *, step: int) -> None:
        """Take the figures of a step."""
        ...

    def finish(self) -> None:
        """The run is over."""
        ...


class TensorBoard:
    """Event files for TensorBoard."""

    def __init__(self, writer: Any):
        self._writer = writer

    def log(self, figures: dict[str, float], *, step: int) -> None:
        """Write the figures of a step: they can be looked at while the run goes on."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def finish(self) -> None:
        """Close the file."""
        self._writer.close()


class Metrics:
    """Where the figures of a run go. Only the first rank has one."""

    def __init__(self, folder: Path, settings: MetricsSettings, config: Mapping[str, Any]):
        self._path = folder / FILE
        self._settings = settings
        self._config = dict(config)
        self._modules = {name: _imported(name, module) for name, module in TRACKERS.items() if getattr(settings, name)}
        self._trackers: list[Tracker] = []

    def position(self) -> int:
        """How many bytes are written."""
        return self._path.stat().st_size if self._path.exists() else 0

    def rewind(self, position: int) -> None:
        """Drop what was written after a position: steps that are made again. Trackers are told which step is next."""
        if self.position() < position:
            raise StorageError(
                f"{self._path} is shorter than the checkpoint says ({position} bytes); "
                "restore it, or begin in another folder"
            )
        if self._path.exists():
            os.truncate(self._path, position)
        step = len(read_metrics(self._path))
        self._trackers = [self._open(name, module, step) for name, module in self._modules.items()]

    def run_id(self) -> str:
        """What trackers know this run by; drawn when it began."""
        path = self._path.with_name(RUN_ID)
        if not path.exists():
            write_file(path, uuid.uuid4().hex.encode())
        return path.read_text(encoding="ascii")

    def _open(self, name: str, module: Any, step: int) -> Tracker:
        if name == "tensorboard":
            # Of a run that was stopped, what stands after its checkpoint is not shown.
            return TensorBoard(module.SummaryWriter(str(self._path.with_name(name)), purge_step=step or None))
        # wandb and Trackio go on with a run that they know: one by its id, the other by its name.
        known = {"id": self.run_id()} if name == "wandb" else {"name": self.run_id()}
        module.init(project=getattr(self._settings, name), config=self._config, resume="allow", **known)
        tracker: Tracker = module
        return tracker

    def write(self, figures: Mapping[str, Any]) -> None:
        """Append the figures of a step as one line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures, ensure_ascii=False) + "\n")
        for tracker in self._trackers:
            tracker.log(
                {name: value for name, value in figures.items() if isinstance(value, int | float) and name != "step"},
                step=figures["step"],
            )

    def close(self) -> None:
        """End the trackers, and draw the plots."""
        for tracker in self._trackers:
            tracker.finish()
        if self._settings.plots:
            draw_plots(self._path)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The figures of all steps in a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


@own_settings()
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


def _imported(name: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"metrics.{name} is set, and {name} is not installed; install it, or remove the key"
        ) from error


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
