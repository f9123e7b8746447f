"""`fixtures/<domain>.jsonl`: of some tasks, solutions with the score that each must get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from toolscale.canonical import canonical_json, stable_int
from toolscale.dataset.storage import read_file
from toolscale.errors import DatasetError
from toolscale.records import Fixture, FixtureKind
from toolscale.strict_json import read_record
from toolscale.text_files import printable

MOST_BYTES = 256 << 20

KINDS: dict[FixtureKind, str] = {
    "golden": "the right solution",
    "reseeded": "the same, in a world that is populated anew from its seed",
    "equivalent": "another right way",
    "idle": "nothing is done",
    "recital": "nothing is done, and everything seen is told",
    "transfer": "handed over at once",
    "sprayed": "the right writes among many others",
    "without_tools": "the right answer and no call",
    "forged_verdict": "nothing is done, and the answer brings its own score",
    "edited_judge": "a file of the grader is to be overwritten, by a tool that there is not",
    "malformed": "the right calls, and an answer that is none",
    "mutant": "one operator made the right solution wrong",
}
"""Kind -> what it is, in the order in which they are told."""


def fixtures_file(domain: str) -> str:
    """Return where the fixtures of a domain lie in a dataset."""
    return f"fixtures/{domain}.jsonl"


def read_fixtures(folder: Path, domain: str) -> tuple[Fixture, ...]:
    """Return the fixtures of a domain of a dataset; none if it has none. DatasetError names the first line that is
    none."""
    path = folder / fixtures_file(domain)
    if not path.is_file():
        return ()
    if path.stat().st_size > MOST_BYTES:
        raise DatasetError(f"{path} has more than {MOST_BYTES:,} bytes; make the dataset again with fewer --fixtures")
    found = []
    for number, line in enumerate(read_file(path).splitlines(), 1):
        try:
            found.append(read_record(Fixture, line))
        except ValueError as error:
            told = printable(str(error))
            raise DatasetError(f"{path}: line {number}: {told}; make the dataset, or pull it, again") from error
    return tuple(found)


def render_fixtures(fixtures: Iterable[Fixture]) -> bytes:
    """Return the content of a file of fixtures."""
    return "".join(f"{canonical_json(each.model_dump(mode='json'))}\n" for each in fixtures).encode()


def sample(tasks: Iterable[str], count: int | None) -> list[str]:
    """Return the ids of the tasks of a sample, in its order: the same for the same tasks, and one of `count` begins
    with one of fewer. None: all."""
    return sorted(tasks, key=lambda task: (stable_int("fixtures", task), task))[:count]


def sampled(fixtures: Sequence[Fixture]) -> list[str]:
    """Return the ids of the tasks that fixtures are of, in their order."""
    return list(dict.fromkeys(fixture.task for fixture in fixtures))
