"""Judges of the mock domain, and of copies of it with one fault planted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from toolscale.environment.environment import Environment, load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.records import Candidate, FramesSpec
from toolscale.sandbox.base import Rows
from toolscale.tasks.binding import CandidateSource
from toolscale.verify.judge import Judge

Court = tuple[CandidateSource, Judge]
OpenCourt = Callable[..., Court]


def first(court: Court, intent_id: str, turn: int = 0) -> Candidate:
    """The turn-th candidate of an intent under seed 0. `pay_bill+evolved` is its stream of evolved ones."""
    source, _ = court
    candidate = source.draw(0, source.number(intent_id, turn))
    assert candidate is not None
    return candidate


def failures(court: Court, candidate: Candidate) -> dict[str, str]:
    """Gate -> finding of the gates that fail."""
    return {gate.gate: gate.finding for gate in court[1].judge(candidate).verdict.failed}


def composed(environment: Environment) -> Environment:
    """An environment without frames, in which nobody is signed in: all is said in its author's phrasings."""
    world = environment.spec.world.model_copy(update={"signed_in": 0})
    return replace(environment, spec=environment.spec.model_copy(update={"frames": FramesSpec(), "world": world}))


@pytest.fixture(scope="session")
def bank() -> Iterator[Court]:
    """Finance in its author's phrasings, without the second process."""
    environment = composed(load_environment("finance"))
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


@pytest.fixture(scope="session")
def court() -> Iterator[Court]:
    """The mock domain as it is, without the second process."""
    environment = load_environment("mock")
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[OpenCourt]:
    """Copy the mock domain, replace text in its files, and open a court on it: `plant((file, old, new), ...)`."""
    opened: list[Judge] = []

    def open_court(
        *edits: tuple[str, str, str], rows: Callable[[Environment], Rows] = populate, **options: object
    ) -> Court:
        folder = tmp_path / "mock"
        shutil.copytree(discover()["mock"], folder)
        for file, old, new in edits:
            text = (folder / file).read_text(encoding="utf-8")
            assert old in text, f"{old!r} does not stand in {file}"
            (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        environment = load_environment(folder)
        made = rows(environment)
        judge = Judge(environment, made, **{"audit_share": 0, "replica": False, **options})  # type: ignore[arg-type]
        opened.append(judge)
        return CandidateSource(environment, World(environment, made)), judge

    yield open_court
    for judge in opened:
        judge.close()
