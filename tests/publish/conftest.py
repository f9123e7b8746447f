"""A Hub of one's own for each test, and two small datasets to publish there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from tests.publish.command import Command
from tests.publish.hub_server import Hub, serving
from toolscale.dataset.manifest import read_manifest, tag_of
from toolscale.publish import publish_dataset


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


@pytest.fixture
def later_dataset(mock_dataset: Path) -> Path:
    """The same environment, more tasks: the version that follows. Read it."""
    return mock_dataset


@pytest.fixture(scope="session")
def first_version(few_tasks: Path) -> Hub:
    """A Hub with the dataset in the repo me/x, as one push leaves it."""
    with serving() as (endpoint, hub):
        publish_dataset(few_tasks, "me/x", push=True, endpoint=endpoint, token="hf_write")
        return hub


@pytest.fixture
def published(hub: Hub, first_version: Hub, dataset: Path) -> str:
    """The dataset in the repo me/x, nothing asked yet; its tag."""
    hub.repos, hub.blobs, hub.large = map(deepcopy, (first_version.repos, first_version.blobs, first_version.large))
    return tag_of(read_manifest(dataset))


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
