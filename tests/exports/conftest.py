"""The golden trajectories that exports are made of, and what is told of all exports alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.exports.golden import Golden, golden_trajectories
from toolscale.pipeline import synthesize


@pytest.fixture(scope="session")
def golden(mock_dataset: Path) -> list[Golden]:
    return list(golden_trajectories(mock_dataset))


@pytest.fixture(scope="session")
def form_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of ten tasks that are answered by a form, some of them dialogues. Read it."""
    out = tmp_path_factory.mktemp("forms") / "mock"
    synthesize("mock", out, tasks=10, seed=0)
    return out
