"""A Hub of one's own for each test, and two small datasets to publish there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.publish.hub_server import Hub, serving
from toolscale.cli import main


@pytest.fixture
def server() -> Iterator[tuple[str, Hub]]:
    with serving() as found:
        yield found


@pytest.fixture
def hub(server: tuple[str, Hub]) -> Hub:
    return server[1]


@pytest.fixture
def dataset(mock_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(mock_dataset, tmp_path / "mock"))


@pytest.fixture(scope="session")
def later_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same environment, more tasks: the version that follows."""
    from toolscale.pipeline import synthesize

    out = tmp_path_factory.mktemp("later") / "mock"
    synthesize("mock", out, tasks=14, seed=0, workers=1)
    return out


@dataclass
class Command:
    """`toolscale` as a person runs it against the server."""

    endpoint: str
    capture: pytest.CaptureFixture[str]
    environ: pytest.MonkeyPatch

    def __call__(self, *arguments: str | Path, token: str = "hf_write") -> tuple[int, str, str]:
        """Run a verb; return its exit status, stdout and stderr, with the endpoint written as HUB. The token is in neither."""
        self.environ.setenv("HF_TOKEN", token)
        status = main([*map(str, arguments), "--endpoint", self.endpoint])
        told = self.capture.readouterr()
        assert token not in told.out + told.err
        return status, told.out.replace(self.endpoint, "HUB"), told.err.replace(self.endpoint, "HUB")


@pytest.fixture
def toolscale(server: tuple[str, Hub], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(server[0], capsys, monkeypatch)


@pytest.fixture
def apart(server: tuple[str, Hub], tmp_path: Path) -> dict[str, str]:
    """The environment of another process that talks to the server, with no token stored anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return {**kept, "HF_ENDPOINT": server[0], "HF_HOME": str(tmp_path / "home"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
