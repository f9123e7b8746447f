"""A Hub of one's own for each test, and two small datasets to publish there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Hub, serving


@pytest.fixture
def server() -> Iterator[tuple[str, Hub]]:
    with serving() as found:
        yield found


@pytest.fixture
def hub(server: tuple[str, Hub]) -> Hub:
    return server[1]


@pytest.fixture
def dataset(few_tasks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(few_tasks, tmp_path / "mock"))


@pytest.fixture(scope="session")
def later_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same environment, more tasks: the version that follows."""
    from toolscale.pipeline import synthesize

    out = tmp_path_factory.mktemp("later") / "mock"
    synthesize("mock", out, tasks=14, seed=0, workers=1, turns="single", answer="message")
    return out


@pytest.fixture
def toolscale(server: tuple[str, Hub], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(server[0], capsys, monkeypatch)


@pytest.fixture
def apart(server: tuple[str, Hub], tmp_path: Path) -> dict[str, str]:
    """The environment of another process that talks to the server, with no token stored anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return {
        **kept,
        "HF_ENDPOINT": server[0],
        "HF_HOME": str(tmp_path / "home"),
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }
