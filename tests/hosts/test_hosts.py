"""Other projects' own runners play exported tasks: each solution of known score gets that score.

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
from typing import TYPE_CHECKING

import pytest

from tests.hosts.parity import note
from toolscale.exports.writing import export
from toolscale.records import Answer

if TYPE_CHECKING:
    from tests.hosts.conftest import Played

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = ROOT / ".venv-hosts"
NAMES = sorted(path.parent.name for path in HERE.glob("*/run.py"))
HOSTS: list[tuple[str, Answer]] = [
    *((name, "form") for name in NAMES),
    *((name, "message") for name in NAMES if name != "harbor"),  # nobody reads messages there
]


@pytest.mark.slow("tests/exports/test_trl.py")
@pytest.mark.parametrize(("host", "answer"), HOSTS)
def test_every_solution_of_known_score_gets_it_in_a_host(
    host: str, answer: Answer, played: Callable[[Answer, bool, int], Played], tmp_path: Path
) -> None:
    settings = json.loads((HERE / host / "host.json").read_text())
    python = Path(sys.executable) if settings.get("here") else ENVIRONMENTS / host / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python.relative_to(ROOT)} is not there; make hosts HOSTS={host} makes it")
    given = played(answer, settings.get("form") != "of the domain", settings.get("every", 1))
    export(given.dataset, settings["format"], tmp_path / "export")
    started = time.monotonic()
    done = subprocess.run(
        [python, HERE / host / "run.py", tmp_path / "export", given.file],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        timeout=3_600,
        env=os.environ
        | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(tmp_path / "export"), "TOOLSCALE_PYTHON": sys.executable},
    )
    assert done.returncode == 0
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    [about] = [line for line in lines if "host" in line]
    scores: dict[str, dict[str, list[float]]] = {kind: {} for kind in given.scores}
    for line in lines:
        if "kind" in line:
            scores[line["kind"]].setdefault(line["task"], []).append(line["score"])
    seconds = (time.monotonic() - started) / (len(lines) - 1)
    print(f"{about['host']} {about['version']}: {len(given.scripts)} tasks, {seconds:.2f} s a play")
    note(about["host"], about["version"], answer, given.scores, scores)
    assert scores == given.scores
    assert about["interleaved"] == [1.0, 0.0]
