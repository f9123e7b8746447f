"""Fixtures of this folder: a benchmark that is open, and runs on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluated import TASKS, Play

from eval.benchmark import Opened, open_benchmark
from eval.harness import Harness
from eval.policies import Player
from eval.records import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configurations name other files from the root of the checkout."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def questions() -> Iterator[Opened]:
    """A dozen questions of the test split."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        opened = open_benchmark("questions", Settings(), TASKS)
        yield opened
        asyncio.run(opened.close())


@pytest.fixture
def play(questions: Opened, tmp_path: Path) -> Play:
    """Run a policy on the questions; return the folder of its results."""

    def run(player: Player, samples: int = 1, out: Path = tmp_path, at_once: int = 4) -> Path:
        harness = Harness("questions", Settings(), questions, out)
        asyncio.run(harness.run(player, samples, at_once))
        return harness.folder_of(player)

    return run
