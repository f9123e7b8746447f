"""The programs of docs/use/serving.md run as they stand there, where `toolscale synthesize` has made a dataset."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolscale.records import Grade

pytestmark = pytest.mark.xdist_group("serving")

ROOT = Path(__file__).parents[2]
TRANSPORT, SESSIONS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "use" / "serving.md").read_text(), re.DOTALL)
PLACE = "http://127.0.0.1:8765"
"""Where the document has its server."""
RIGHT = Grade(
    score=1, execution_correct=True, faithful=True, operations_complete=True, nothing_else=True, finding="right"
)


@pytest.fixture
def folder(mock_dataset: Path, tmp_path: Path) -> Path:
    """A working folder with a dataset in the place that the document names."""
    (tmp_path / "var" / "datasets").mkdir(parents=True)
    (tmp_path / "var" / "datasets" / "finance").symlink_to(mock_dataset)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    """The command of the document on any free port; its URL."""
    command = [sys.executable, "-m", "toolscale", "serve", "var/datasets/finance", "--http", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        yield next(match[1] for line in lines if (match := re.search(r"running on (http://\S+)", line)))
        process.terminate()


def environment() -> dict[str, str]:
    """Programs that run elsewhere find this checkout, whichever is installed."""
    return os.environ | {"PYTHONPATH": str(ROOT)}


def lines_of(program: str, folder: Path) -> list[str]:
    """What a program prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_the_client_of_the_document_plays_a_task_over_http(folder: Path, server: str) -> None:
    tools, *calls, grade = lines_of(TRANSPORT.replace(PLACE, server), folder)
    assert PLACE in TRANSPORT and re.fullmatch(r"\d+ tools", tools)
    assert calls and not [line for line in calls if '{"error":' in line]
    assert grade == str(RIGHT.model_dump(mode="json"))


def test_the_program_of_the_document_plays_a_task_without_a_server(folder: Path) -> None:
    *_, grade = lines_of(SESSIONS, folder)
    assert grade == str(RIGHT)
