"""What hosts play: ten tasks, each with its right solution, what idle agents do, and three wrong solutions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolscale.pipeline import synthesize
from toolscale.records import Script
from toolscale.session.playable import Playable

TASKS = 10
MUTANTS = 3


def as_json(script: Script) -> dict[str, Any]:
    return {"calls": [call.model_dump(mode="json") for call in script.calls], "answer": script.answer}


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A dataset whose requests say all, and what is played on each of its tasks: kind -> scripts."""
    folder = tmp_path_factory.mktemp("hosts") / "mock"
    synthesize("mock", folder, tasks=TASKS, seed=0, turns="single", answer="message")
    playable, scripts = Playable(folder), []
    for id_ in playable.ids:
        task = playable.task(id_)
        key = playable.domain(task).key(task)
        scripts.append(
            {
                "task": id_,
                "changes": bool(task.row_changes),
                "golden": [as_json(key.right)],
                "idle": [{"calls": [], "answer": ""}],
                "told": [{"calls": [], "answer": key.right.answer}],
                "mutant": [as_json(script) for script in key.wrong[:MUTANTS]],
            }
        )
    playable.close()
    return folder, scripts


@pytest.fixture(scope="session")
def scripts_file(played: tuple[Path, list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts as a file, for programs in environments of their own."""
    path = tmp_path_factory.mktemp("scripts") / "scripts.json"
    path.write_text(json.dumps(played[1]))
    return path
