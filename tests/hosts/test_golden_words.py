"""What the scripts of test_hosts.py leave out: dialogues, where a host has somebody who answers, and tasks that are
answered by a form. Golden conversations go through word by word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolscale.exports.writing import export
from toolscale.pipeline import synthesize
from toolscale.records import Answer, Turns

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".venv-hosts"
TASKS = 4


@pytest.mark.parametrize(
    ("host", "turns", "answer"),
    [("inspect", "dialogue", "message"), ("inspect", "dialogue", "form"), ("inspect", "single", "form"),
     ("verifiers", "single", "form"), ("tau2", "dialogue", "message"), ("tau2", "dialogue", "form"),
     ("tau2", "single", "form"), ("harbor", "dialogue", "form"), ("harbor", "single", "form")],
)  # fmt: skip
def test_what_is_said_goes_through_word_by_word(host: str, turns: Turns, answer: Answer, tmp_path: Path) -> None:
    python = ENVIRONMENTS / host / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the environment of {host} is not there; make hosts HOSTS={host} makes it")
    synthesize("mock", tmp_path / "mock", tasks=TASKS, seed=0, turns=turns, answer=answer)
    export(tmp_path / "mock", json.loads((HERE / host / "host.json").read_text())["format"], tmp_path / "export")
    done = subprocess.run(
        [python, HERE / host / "converse.py", tmp_path / "export"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "export"), "TOOLSCALE_PYTHON": sys.executable},
    )
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines == [{"turns": turns, "answer": answer, "score": 1.0, "same": True}] * TASKS
