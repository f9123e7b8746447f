"""Other projects' own runners play exported tasks: the right solution scores 1, idle agents and wrong ones score 0.

`make hosts` makes a virtual environment for each host from its lock, in .venv-hosts, and runs this. A host without one
is skipped; one that lives in ours (`here`) never is. All of it is slow, and `make hosts` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolscale.exports.writing import export
from toolscale.records import Answer

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv-hosts"
HOSTS: list[tuple[str, Answer]] = [
    *((path.parent.name, "message") for path in sorted(HERE.glob("*/run.py")) if path.parent.name != "harbor"),
    ("harbor", "form"),  # nobody reads messages there
    ("tau2", "form"),  # these bind tools to an environment: there all tasks of a domain share one `final_answer`
    ("trl", "form"),
]


@pytest.mark.slow("tests/exports/test_trl.py")
@pytest.mark.parametrize(("host", "answer"), HOSTS)
def test_a_host_pays_for_what_is_right_and_for_nothing_else(
    host: str, answer: Answer, played: Callable[[Answer, bool], Any], tmp_path: Path
) -> None:
    settings = json.loads((HERE / host / "host.json").read_text())
    python = Path(sys.executable) if settings.get("here") else ENVIRONMENTS / host / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python.relative_to(ROOT)} is not there; make hosts HOSTS={host} makes it")
    given = played(answer, settings.get("tools") == "of the task")
    scripts = given.scripts
    export(given.dataset, settings["format"], tmp_path / "export")
    started = time.monotonic()
    done = subprocess.run(
        [python, HERE / host / "run.py", tmp_path / "export", given.file],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        timeout=900,
        env=os.environ
        | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(tmp_path / "export"), "TOOLSCALE_PYTHON": sys.executable},
    )
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    [about] = [line for line in lines if "host" in line]
    scores = {kind: {} for kind in ("golden", "idle", "told", "mutant")}  # type: dict[str, dict[str, list[float]]]
    for line in lines:
        if "kind" in line:
            scores[line["kind"]].setdefault(line["task"], []).append(line["score"])
    seconds = (time.monotonic() - started) / (len(lines) - 1)
    print(f"{about['host']} {about['version']}: {len(scripts)} tasks, {seconds:.2f} s a play")
    for kind, wanted in (("golden", 1.0), ("idle", 0.0), ("mutant", 0.0)):
        assert scores[kind] == {each["task"]: [wanted] * len(each[kind]) for each in scripts}, kind
    # What changes no row can be won by words alone; nothing else can.
    assert scores["told"] == {each["task"]: [0.0 if each["changes"] else 1.0] for each in scripts}
    assert about["interleaved"] == [1.0, 0.0]
