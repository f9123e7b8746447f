"""Fixtures of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.world import World
from toolscale.records import Answer, FramesSpec, Task, Turns
from toolscale.rollout.domain import Domain
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge


@pytest.fixture(scope="session")
def domain() -> Iterator[Domain]:
    """The mock domain, with its pool of worlds."""
    environment = load_environment("mock")
    opened = Domain(environment, populate(environment))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def mock_tasks() -> list[Task]:
    """Eight accepted tasks of the mock domain, the first ones of seed 0."""
    return first_tasks("single", "message")


@pytest.fixture(scope="session")
def form_tasks() -> list[Task]:
    """The same, answered by a form."""
    return first_tasks("single", "form")


@pytest.fixture(scope="session")
def dialogue_tasks() -> list[Task]:
    """Eight accepted dialogues of finance, the first ones of seed 0."""
    return first_tasks("dialogue", "message", "finance")


@pytest.fixture(scope="session")
def form_dialogues() -> list[Task]:
    """Four accepted dialogues of finance that a form answers."""
    return first_tasks("dialogue", "form", "finance", 4)


@pytest.fixture(scope="session")
def returning_tasks() -> list[Task]:
    """Four accepted dialogues of finance in which the person comes back with another matter."""
    return first_tasks("dialogue", "form", "finance", 4, returning=True)


@cache
def as_written(domain: str) -> tuple[Environment, Rows]:
    """A domain without frames, in which nobody is signed in, and its rows."""
    environment = load_environment(domain)
    world = environment.spec.world.model_copy(update={"signed_in": 0})
    spec = environment.spec.model_copy(update={"frames": FramesSpec(), "world": world})
    return replace(environment, spec=spec), populate(environment)


def first_tasks(
    turns: Turns, answer: Answer, domain: str = "mock", count: int = 8, *, returning: bool = False
) -> list[Task]:
    """The first accepted tasks; `returning`: those whose person comes back with another matter, and no others."""
    environment, rows = as_written(domain)
    judge, source = (
        Judge(environment, rows, audit_share=0, replica=False),
        CandidateSource(environment, World(environment, rows)),
    )
    found = list[Task]()
    number = 0
    while len(found) < count:
        candidate = source.draw(0, number, turns, answer)
        if candidate is not None and bool(candidate.agenda) != returning:
            candidate = None
        judged = judge.judge(candidate) if candidate is not None else None
        if judged is not None and judged.verdict.accepted and judged.task is not None:
            found.append(judged.task)
        number += 1
    judge.close()
    return found
