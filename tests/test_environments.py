"""Every folder in environments/: its admission record is true, its verifier cases hold, its intents yield tasks.

A change of a folder is found by the hash in its record, which every command asks for. What a change of the package does
to the larger domains is found by `make test SLOW=1`, and to the mock domain, the gym and finance by `make test`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from toolscale.environment.admission import admit
from toolscale.environment.admission_file import read_admission
from toolscale.environment.environment import load_environment
from toolscale.environment.population import populate
from toolscale.environment.registry import discover
from toolscale.environment.world import World
from toolscale.records import Turns
from toolscale.tasks.binding import CandidateSource
from toolscale.tasks.check import check_intents
from toolscale.verify.cases import check_cases
from toolscale.verify.judge import Judge

TURNS = 12
OTHERS = pytest.mark.slow("tests/test_environments.py")


def domains(*often: str) -> list[Any]:
    return [pytest.param(name, marks=() if name in often else OTHERS) for name in sorted(discover())]


DOMAINS = domains("mock", "finance")
ADMITTED = domains("mock", "gym")
"""All tools of finance are called in twenty seconds, those of the gym in four."""

Court = tuple[CandidateSource, Judge]


@pytest.fixture(scope="module", params=DOMAINS)
def court(request: pytest.FixtureRequest) -> Iterator[Court]:
    environment = load_environment(request.param)
    rows = populate(environment)
    judge = Judge(environment, rows, audit_share=0, replica=False)
    yield CandidateSource(environment, World(environment, rows)), judge
    judge.close()


@pytest.mark.parametrize("domain", sorted(discover()))
def test_the_admission_record_is_of_the_folder_as_it_is(domain: str) -> None:
    environment = load_environment(domain)
    recorded = read_admission(environment.folder)
    assert recorded is not None
    assert recorded.environment_hash == environment.hash


@pytest.mark.parametrize("domain", ADMITTED)
def test_the_admission_record_is_what_admission_finds(domain: str) -> None:
    environment = load_environment(domain)
    recorded = read_admission(environment.folder)
    assert recorded is not None
    assert recorded == admit(environment)


# For the other domains the record of admission says so, and the test of its hash that it is of this folder.
@pytest.mark.parametrize("domain", DOMAINS)
def test_intents_and_verifier_cases_hold(domain: str) -> None:
    environment = load_environment(domain)
    assert check_intents(environment) == []
    assert check_cases(environment) == []


TURNED: tuple[Turns, ...] = ("single", "dialogue")


def test_every_stream_yields_accepted_tasks(court: Court) -> None:
    """But harder ones of refusals: they only call rows otherwise, for which a frame must call them whole."""
    source, judge = court
    barren = []
    for stream in source.streams:
        if stream.kind == "evolved" and stream.intent.outcome != "fulfil":
            continue
        numbers = [source.number(stream.name, turn) for turn in range(TURNS)]
        candidates = (source.draw(0, number, turns) for number in numbers for turns in TURNED)
        if not any(candidate is not None and judge.judge(candidate).verdict.accepted for candidate in candidates):
            barren.append(stream.name)
    assert barren == []
