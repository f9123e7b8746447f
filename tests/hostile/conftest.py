"""What the attacks share: bounded runs, and copies of what is attacked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.bounded import Bounded
from toolscale.environment.registry import discover


@pytest.fixture(scope="session")
def bounded() -> Iterator[Bounded]:
    """Runs verbs with little time and memory."""
    found = Bounded()
    yield found
    found.close()


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    """A copy of the mock domain."""
    return Path(shutil.copytree(discover()["mock"], tmp_path / "mock", ignore=shutil.ignore_patterns("admission.json")))


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    """A copy of the small dataset."""
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))
