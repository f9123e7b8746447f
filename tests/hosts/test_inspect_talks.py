"""Inspect has somebody who answers: golden dialogues, and tasks answered by a form, go through word by word."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from toolscale.exports.writing import export
from toolscale.pipeline import synthesize

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-hosts/inspect/bin/python"
TASKS = 4


@pytest.mark.parametrize("interaction", ["dialogue", "form"])
def test_what_is_said_is_said_word_by_word(interaction: Literal["dialogue", "form"], tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("the environment of inspect is not there; make hosts HOSTS=inspect makes it")
    synthesize("mock", tmp_path / "mock", tasks=TASKS, seed=0, interaction=interaction)
    export(tmp_path / "mock", "inspect", tmp_path / "export")
    done = subprocess.run(
        [PYTHON, HERE / "inspect" / "converse.py"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "export")},
    )
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines == [{"interaction": interaction, "score": "C", "same": True}] * TASKS
