"""What hosts play: the fixtures of tasks, so their right solutions, what idle agents do, and wrong solutions; and forms
that are corrected before it is too late, or after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from toolscale.dataset.comparing.combined import combine
from toolscale.dataset.describing.reading import read_dataset
from toolscale.dataset.fixtures import KINDS, read_fixtures
from toolscale.environment.builtins import FINAL_ANSWER
from toolscale.pipeline import synthesize
from toolscale.records import Answer, Fixture
from toolscale.session.sessions import MOST_TRIES
from toolscale.tasks.form import DONE_FIELD, REASONS_FIELD, VALUES_FIELD

DOMAINS: dict[Answer, tuple[tuple[str, int], ...]] = {
    "form": (("finance", 18), ("medicine", 18), ("mock", 18)),
    "message": (("mock", 10),),
}
"""How tasks are answered -> the domains that are played, each with how many tasks."""
LATE: dict[str, int] = {"corrected": MOST_TRIES - 1, "corrected_late": MOST_TRIES}
"""Kind -> how many forms that do not fit come before the right one; the last try decides."""

ALWAYS = ("golden", "without_tools")
"""What is played on every task, however few of its solutions a host plays."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """A dataset, what is played on each of its tasks (kind -> scripts, with the scores that they must get), and the
    same as a file, for programs in environments of their own."""

    dataset: Path
    scripts: list[Json]
    scores: dict[str, dict[str, list[float]]]
    """Kind -> task -> what its scripts must get."""
    file: Path


class Scripts:
    """Fixtures as a host plays them: a form is given by a call of the tool that all tasks of the domain share, or of
    the task's own."""

    def __init__(self, golden: str, own_form: bool) -> None:
        self.own_form = own_form
        self.names = [] if not golden.startswith("{") else sorted(json.loads(golden))

    def script(self, calls: list[Json], answer: str, tries: int = 0) -> Json:
        if not answer.startswith("{"):
            return {"calls": calls, "answer": answer}
        last = _filled(json.loads(answer) if self.own_form else self._of_domain(json.loads(answer)))
        given = last["arguments"]
        inner = given.get(VALUES_FIELD, given)
        misfit = {**given, VALUES_FIELD: {**inner, "surprise": 1}} if inner is not given else {**given, "surprise": 1}
        return {"calls": [*calls, *[_filled(misfit)] * tries, last], "answer": ""}

    def _of_domain(self, flat: Json) -> Json:
        """A form as the shared tool takes it: every name that is listed is there."""
        rest = {name: flat[name] for name in (DONE_FIELD, REASONS_FIELD) if name in flat}
        asked = {name: None for name in self.names if name not in (DONE_FIELD, REASONS_FIELD)}
        return {REASONS_FIELD: [], **rest, VALUES_FIELD: {**asked, **{k: v for k, v in flat.items() if k not in rest}}}


def _filled(arguments: Json) -> Json:
    return {"name": FINAL_ANSWER, "arguments": arguments}


def _plays(fixtures: list[Fixture], own_form: bool) -> Iterator[tuple[str, Json, float]]:
    """Yield (kind, script, score) of the fixtures of a task."""
    golden = next(each for each in fixtures if each.kind == "golden")
    scripts = Scripts(golden.answer, own_form)
    right = [call.model_dump(mode="json") for call in golden.calls]
    for each in fixtures:
        calls = [call.model_dump(mode="json") for call in each.calls]
        yield each.kind, scripts.script(calls, each.answer), float(each.score)
    if golden.answer.startswith("{"):
        for kind, tries in LATE.items():
            if kind == "corrected" or not own_form:  # with a form of its own a task takes the last one all the same
                yield kind, scripts.script(right, golden.answer, tries), float(kind == "corrected")


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Answer, bool, int], Played]:
    """What is played on tasks whose requests say all: by the way in which they are answered, whether the host knows the
    form of each task, and of how many solutions of a task one is played."""

    @cache
    def dataset(answer: Answer) -> Path:
        place, made = tmp_path_factory.mktemp("hosts"), list[Path]()
        for name, tasks in DOMAINS[answer]:
            synthesize(name, place / name, tasks=tasks, seed=0, turns="single", answer=answer, fixtures=None)
            made.append(place / name)
        combine(made, place / "dataset")
        return place / "dataset"

    @cache
    def make(answer: Answer, own_form: bool, every: int) -> Played:
        folder, scripts = dataset(answer), list[Json]()
        scores: dict[str, dict[str, list[float]]] = {kind: {} for kind in (*KINDS, *LATE)}
        changes = {row["id"]: row["row_changes"] != "[]" for row in read_dataset(folder).rows.tasks}
        fixtures = [each for domain, _ in DOMAINS[answer] for each in read_fixtures(folder, domain)]
        for place, (task, group) in enumerate(groupby(fixtures, lambda each: each.task)):
            scripts.append({"task": task, "changes": changes[task]} | {kind: [] for kind in scores})
            for number, (kind, script, score) in enumerate(_plays(list(group), own_form)):
                if kind in ALWAYS or (place + number) % every == 0:
                    scripts[-1][kind].append(script)
                    scores[kind].setdefault(task, []).append(score)
        file = tmp_path_factory.mktemp("scripts") / "scripts.json"
        file.write_text(json.dumps(scripts))
        return Played(folder, scripts, scores, file)

    return make
