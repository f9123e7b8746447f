"""The mock domain, and copies of it with one thing changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolscale.environment.admission import admit
from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.records import Admission
from toolscale.sandbox.base import Rows

Spoil = Callable[..., Path]


@pytest.fixture(scope="session")
def mock_environment() -> Environment:
    return load_environment("mock")


@pytest.fixture(scope="session")
def mock_rows(mock_environment: Environment) -> Rows:
    return populate(mock_environment)


@pytest.fixture
def mock_world(mock_environment: Environment, mock_rows: Rows) -> World:
    return World(mock_environment, mock_rows)


@pytest.fixture(scope="session")
def first_trial(mock_environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Admission]:
    cache = tmp_path_factory.mktemp("tried")
    return cache, admit(mock_environment, cache)


@pytest.fixture(scope="session")
def mock_admission(first_trial: tuple[Path, Admission]) -> Admission:
    """What admission finds of the mock domain when it tries all of it."""
    return first_trial[1]


@pytest.fixture
def tried(first_trial: tuple[Path, Admission], tmp_path: Path) -> Path:
    """A cache with the tools of the mock domain: those that a test leaves as they are need not be tried again."""
    return Path(shutil.copytree(first_trial[0], tmp_path / "tried"))


@pytest.fixture
def spoil(tmp_path: Path) -> Spoil:
    """Copy the mock domain and replace text in its files: `spoil((file, old, new), ...)`; None as new removes the
    file."""

    def copy(*edits: tuple[str, str, str | None]) -> Path:
        folder = tmp_path / "mock"
        shutil.copytree(discover()["mock"], folder, ignore=shutil.ignore_patterns("admission.json"))
        for file, old, new in edits:
            path = folder / file
            if new is None:
                path.unlink()
                continue
            text = path.read_text(encoding="utf-8")
            assert old in text, f"{old!r} does not stand in {file}"
            path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return folder

    return copy
