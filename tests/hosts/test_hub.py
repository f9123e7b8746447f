"""A dataset is published with tasks for Harbor, pulled and verified; Harbor runs them, from the folder and by git."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from tests.publish.hub_server import serving
from toolscale.cli import main
from toolscale.pipeline import synthesize

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-hosts" / "harbor" / "bin" / "python"
TASKS = 3


@contextmanager
def repo_of(folder: Path, work: Path) -> Iterator[str]:
    """Serve a folder as a git repo, as the Hub does; yield its address."""
    shutil.copytree(folder, work / "me" / "mock")
    git = ["git", "-C", str(work / "me" / "mock"), "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "1.0.0"],
        ["config", "uploadpack.allowFilter", "true"],
        ["config", "uploadpack.allowAnySHA1InWant", "true"],
    ):
        subprocess.run([*git, *command], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = ["git", "daemon", "--export-all", "--listen=127.0.0.1", f"--port={port}", f"--base-path={work}", str(work)]
    with subprocess.Popen(daemon) as server:
        while server.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        try:
            yield f"git://127.0.0.1:{port}/me/mock"
        finally:
            server.terminate()


@pytest.mark.slow("tests/publish/test_exports.py")
@pytest.mark.skipif(not PYTHON.exists() or os.geteuid() != 0, reason="needs root; make hosts HOSTS=harbor")
def test_tasks_that_were_published_are_run_by_harbor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, pulled = tmp_path / "mock", tmp_path / "pulled"
    synthesize("mock", dataset, tasks=TASKS, seed=0, workers=1, turns="single", fixtures=None)
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    with serving() as (endpoint, _):
        assert main(["publish", str(dataset), "me/mock", "--with", "harbor", "--push", "--endpoint", endpoint]) == 0
        assert main(["pull", "me/mock", "--out", str(pulled), "--endpoint", endpoint]) == 0
    assert main(["verify", str(pulled), "--workers", "1"]) == 0
    [declared] = yaml.safe_load((pulled / "environment.yaml").read_text())["environments"]
    assert declared["frameworks"]["harbor"]["path"] == "exports/harbor"
    with repo_of(pulled, tmp_path / "git") as address:
        done = subprocess.run(
            [PYTHON, HERE / "harbor" / "pulled.py", pulled / "exports" / "harbor", address],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=1_200,
            env=os.environ | {"TOOLSCALE_PYTHON": sys.executable, "HOME": str(tmp_path)},
        )
    assert done.returncode == 0
    rewards = {"oracle": [1.0] * TASKS, "nop": [0.0] * TASKS}
    assert [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")] == [rewards, rewards]
