"""The golden trajectories that exports are made of, and what is told of all exports alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.exports.golden import Golden, golden_trajectories


@pytest.fixture(scope="session")
def golden(mock_dataset: Path) -> list[Golden]:
    return list(golden_trajectories(mock_dataset))
