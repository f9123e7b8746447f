"""Where the figures of a run go, and that a run that was stopped goes on in the same place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from toolscale.errors import UsageError
from training.config import MetricsSettings
from training.metrics import Metrics, read_metrics

SETTINGS = MetricsSettings(tensorboard=True, plots=False)


def figures(step: int, loss: float) -> dict[str, object]:
    return {"step": step, "loss": loss, "calls": {"python": 3}}


def test_a_run_that_was_stopped_is_one_run_in_tensorboard_too(tmp_path: Path) -> None:
    stopped = Metrics(tmp_path, SETTINGS, {})
    stopped.rewind(0)
    known = stopped.run_id()
    for step in (0, 1):
        stopped.write(figures(step, 1.0))
    position = stopped.position()
    stopped.write(figures(2, 1.0))
    # It was killed: nothing is closed. Step 2 came after the last checkpoint, and is made again.
    going_on = Metrics(tmp_path, SETTINGS, {})
    going_on.rewind(position)
    for step in (2, 3):
        going_on.write(figures(step, 2.0))
    going_on.close()
    assert going_on.run_id() == known
    assert [line["loss"] for line in read_metrics(tmp_path / "metrics.jsonl")] == [1.0, 1.0, 2.0, 2.0]
    shown = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert shown.Tags()["scalars"] == ["loss"]
    assert [(event.step, event.value) for event in shown.Scalars("loss")] == [(0, 1.0), (1, 1.0), (2, 2.0), (3, 2.0)]


def test_another_run_has_another_id(tmp_path: Path) -> None:
    first, second = (Metrics(tmp_path / name, SETTINGS, {}) for name in ("a", "b"))
    assert first.run_id() == first.run_id() != second.run_id()


def test_a_tracker_that_is_not_installed_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"metrics.wandb is set, and wandb is not installed; install it, or remove"):
        Metrics(tmp_path, MetricsSettings(wandb="project"), {})
