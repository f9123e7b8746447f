"""One small dataset of the mock domain, made once a test process, for all tests that read one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and no verdict on the speed of the machine that runs them.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

TASKS, SEED = 12, 0


@pytest.fixture(scope="session")
def mock_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 12 tasks. Read it; copy it before changing it."""
    from toolscale.pipeline import synthesize

    out = tmp_path_factory.mktemp("datasets") / "mock"
    synthesize("mock", out, tasks=TASKS, seed=SEED)
    return out
