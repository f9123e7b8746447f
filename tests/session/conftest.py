"""Fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolscale.pipeline import synthesize


@pytest.fixture(scope="session")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of the mock domain whose tasks are answered by a form. Read it."""
    out = tmp_path_factory.mktemp("forms") / "mock"
    synthesize("mock", out, tasks=10, seed=0, turns="single")
    return out
