"""A scripted model that solves tasks whose golden calls it knows, and is wrong where a test wants it to be."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chat_server import Answer, said

from toolscale.config import POPULATION_SEED
from toolscale.dataset.columns import task_of
from toolscale.dataset.describing.reading import read_dataset
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.records import Task
from toolscale.verify.judge import Judge
from toolscale.verify.verifier import Verifier

Known = dict[str, tuple[list[dict[str, Any]], str]]
"""Request -> calls in OpenAI form, and the final message."""

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}


@dataclass
class Solver:
    """Solves tasks that it knows by their requests. Some it never solves, and of one it thinks as of another."""

    tasks: Known
    lost: set[str] = field(default_factory=set)
    moody: set[str] = field(default_factory=set)
    """Requests that only the first attempt solves."""

    def __call__(self, body: dict[str, Any]) -> Answer:
        request, sample = body["messages"][1]["content"], body.get("seed", 0)
        if request not in self.tasks or request in self.lost or (request in self.moody and sample):
            return said("I do not know.", usage=USAGE)
        calls, answer = self.tasks[request]
        if body["messages"][-1]["role"] == "user" and calls:
            return said(None, calls, usage=USAGE)
        return said(answer, usage=USAGE)


def in_openai_form(task: Task) -> list[dict[str, Any]]:
    return [
        {"id": f"c{n}", "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for n, call in enumerate(task.golden_calls)
    ]


def tasks_of(dataset: Path) -> list[Task]:
    found = [task_of(row) for row in read_dataset(dataset).rows.tasks]
    return sorted(found, key=lambda task: task.candidate.number)


def known_of(dataset: Path, tasks: list[Task]) -> Known:
    (folder,) = (dataset / "environments").iterdir()
    environment = load_environment(folder)
    judge = Judge(environment, populate(environment, seed=POPULATION_SEED), replica=False)
    try:
        return {task.request: (in_openai_form(task), Verifier(judge).golden(task.candidate)[1]) for task in tasks}
    finally:
        judge.close()
