"""What hosts play: ten tasks, each with its right solution, what idle agents do, and three wrong solutions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from domain_forms import of_domain

from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.pipeline import synthesize
from toolscale.records import Answer, Script
from toolscale.session.playable import Playable
from toolscale.session.sessions import MOST_TRIES

TASKS = 10
MUTANTS = 3

Json = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """A dataset, what is played on each of its tasks (kind -> scripts), and the same as a file, for programs in
    environments of their own."""

    dataset: Path
    scripts: list[Json]
    file: Path


def as_json(script: Script, answer: Answer, own_form: bool = False) -> Json:
    """A script as a host plays it: a form is given by a call of the tool that all tasks of the domain share, or of the
    task's own."""
    calls, said = [call.model_dump(mode="json") for call in script.calls], script.answer
    if answer == "form" and said.startswith("{"):
        calls, said = [*calls, _filled(json.loads(said) if own_form else of_domain(said))], ""
    return {"calls": calls, "answer": said}


def _filled(arguments: Json) -> Json:
    return {"name": FINAL_ANSWER, "arguments": arguments}


def _corrected(right: Json, times: int) -> Json:
    """A right solution that first so often gives a form that does not fit."""
    *calls, last = right["calls"]
    given = last["arguments"]
    wrong = {**given, "values": {**given["values"], "surprise": 1}} if "values" in given else {**given, "surprise": 1}
    return {"calls": [*calls, *[_filled(wrong)] * times, last], "answer": right["answer"]}


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Answer, bool], Played]:
    """What is played on tasks whose requests say all, by the way in which they are answered."""

    @cache
    def make(answer: Answer, own_form: bool) -> Played:
        folder = tmp_path_factory.mktemp("hosts") / "mock"
        synthesize("mock", folder, tasks=TASKS, seed=0, turns="single", answer=answer)
        playable, scripts = Playable(folder), []
        for id_ in playable.ids:
            task = playable.task(id_)
            key = playable.domain(task).key(task)
            right, forms = as_json(key.right, answer, own_form), answer == "form"
            wrong = [as_json(script, answer, own_form) for script in key.wrong[:MUTANTS]]
            scripts.append(
                {
                    "task": id_,
                    "changes": bool(task.row_changes),
                    "golden": [right, *([_corrected(right, MOST_TRIES - 1)] if forms else [])],
                    "idle": [{"calls": [], "answer": ""}],
                    "told": [{"calls": right["calls"][-1:] if forms else [], "answer": right["answer"]}],
                    "mutant": [*wrong, *([_corrected(right, MOST_TRIES)] if forms and not own_form else [])],
                }
            )
        playable.close()
        file = tmp_path_factory.mktemp("scripts") / "scripts.json"
        file.write_text(json.dumps(scripts))
        return Played(folder, scripts, file)

    return make
