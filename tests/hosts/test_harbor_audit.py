"""`toolscale audit harbor:` with Harbor itself, on a set of tasks with planted faults; rooms are where they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-hosts" / "harbor" / "bin" / "python"
REWARD = "/logs/verifier/reward.txt"
CHECK = f"if [ -f /app/done ]; then echo 1; else echo 0; fi >{REWARD}\n"
SECRET = "hf_a_secret_of_ours"
TASKS = {
    "sound": ("touch /app/done\n", CHECK, ""),
    "given": ("touch /app/done\n", f"echo 1 >{REWARD}\n", ""),
    "wrong": ("touch /app/other\n", CHECK, ""),
    "unsolved": (None, CHECK, ""),
    "random": ("touch /app/done\n", f"echo 0.$(date +%N) >{REWARD}\n", ""),
    "endless": ("while :; do :; done\n", CHECK, ""),
    "silent": ("touch /app/done\n", "true\n", ""),
    "nosy": (
        "touch /app/done\n",
        f"if env | grep -q {SECRET}; then echo 2; elif [ -f /app/done ]; then echo 1; else echo 0; fi >{REWARD}\n",
        "",
    ),
    "unreadable": ("touch /app/done\n", CHECK, '[environment]\ncpus = "many"\n'),
    "asking": ("touch /app/done\n", CHECK, '[verifier.env]\nTOKEN = "${HF_TOKEN}"\n'),
}
"""Name -> its solution, its tests, and more of its task.toml."""


pytestmark = [
    pytest.mark.slow("tests/audit/test_harbor.py"),
    pytest.mark.skipif(not PYTHON.exists() or os.geteuid() != 0, reason="needs root; make hosts HOSTS=harbor"),
]


def audited(tmp_path: Path, names: Iterable[str], *options: str | Path) -> subprocess.CompletedProcess[str]:
    """What the verb says of some of the tasks."""
    for name in names:
        solution, tests, more = TASKS[name]
        files = {
            "task.toml": f'schema_version = "1.4"\n[task]\nname = "me/{name}"\n[agent]\ntimeout_sec = 36000.0\n{more}',
            "instruction.md": "Make the file done.\n",
            "environment/Dockerfile": "FROM scratch\nWORKDIR /app\n",
            "tests/test.sh": tests,
            **({"solution/solve.sh": f"#!/bin/sh\n{solution}"} if solution else {}),
        }
        for path, content in files.items():
            (tmp_path / "tasks" / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "tasks" / name / path).write_text(content)
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "toolscale", "audit", f"harbor:{tmp_path / 'tasks'}", "--python", PYTHON, "--json"]
    ours = {"PYTHONPATH": str(HERE / "harbor"), "HF_TOKEN": SECRET, "TMPDIR": str(tmp_path / "temporary")}
    return subprocess.run(
        [*command, "--environment", "rooms:Rooms", *options],
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ | ours,
    )


def test_planted_faults_are_found_and_nothing_else(tmp_path: Path) -> None:
    done = audited(tmp_path, TASKS, "--task-timeout", "8", "--html", tmp_path / "audit.html")
    assert done.returncode == 0, done.stderr
    audit = json.loads(done.stdout)
    found = sorted((*each["tasks"], each["kind"]) for each in audit["findings"])
    assert found == [
        ("endless", "solution_loses"),
        ("given", "untouched_wins"),
        ("random", "solution_loses"),
        ("random", "unstable"),
        ("random", "unstable"),
        ("unsolved", "no_solution"),
        ("wrong", "solution_loses"),
    ]
    undecided = sorted((*each["tasks"], each["kind"]) for each in audit["undecided"])
    asked = ["solution_loses", "untouched_wins"]
    assert undecided == [(name, kind) for name in ("asking", "silent", "unreadable") for kind in asked]
    assert SECRET not in done.stdout + done.stderr + (tmp_path / "audit.html").read_text()
    assert [*(tmp_path / "temporary").iterdir()] == []


def test_a_task_without_an_end_ends_with_the_audit(tmp_path: Path) -> None:
    done = audited(tmp_path, ["endless"], "--timeout", "12")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "toolscale: Harbor took longer than 12 seconds; give it more with --timeout\n"
    assert [*(tmp_path / "temporary").iterdir()] == []
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"solve.sh" in read(path)]


def read(path: Path) -> bytes:
    """What a process was started with, nothing if it has just ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
